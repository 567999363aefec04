import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn, type ChildProcess } from 'node:child_process';
import { authzRuntime } from '../../../infra/manifests/platform/processes.ts';
import { freePort, untilListening } from '../../support/servers.ts';
import { serverCore, startProgram } from './cores.ts';

const bareServer = join(import.meta.dirname, 'bare-server.ts');
const authz = join(import.meta.dirname, '../../../gate/authz/main.ts');
const host = '127.0.0.1';
const readyLimitMs = 60_000;

/** A server under measurement, alone on its core. */
export interface MeasuredServer {
  host: string;
  port: number;
  pid: number;
  /** From its start until it reported ready, in ms. */
  readyMs: number;
  stop(): Promise<void>;
}

async function measured(child: ChildProcess, port: number, ready: () => Promise<void>): Promise<MeasuredServer> {
  const startedAt = performance.now();
  try {
    await ready();
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  return {
    host,
    port,
    pid: child.pid ?? 0,
    readyMs: performance.now() - startedAt,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/**
 * The bare server, with the same runtime settings as the checker.
 * @param options `stock` for the options of node:http, `lean` for those of the checker
 */
export function startBareServer(options: 'stock' | 'lean' = 'stock'): Promise<MeasuredServer> {
  const env = { ...authzRuntime.env, ...(options === 'lean' && { LEAN: '1' }) };
  return startListening(bareServer, env, serverCore, authzRuntime.options);
}

/** A program that listens on `PORT` once it is ready. @param options of Node.js */
export async function startListening(
  program: string,
  env: NodeJS.ProcessEnv,
  core: number | undefined,
  options: readonly string[] = [],
): Promise<MeasuredServer> {
  const port = await freePort();
  const child = startProgram(program, {
    options,
    ...(core !== undefined && { core }),
    env: { ...env, PORT: String(port) },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return measured(child, port, () => untilListening(port, child));
}

/** Runs the checker's program once, as when the image is built, so that it need not remove types when it starts. */
async function compileGate(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-compiled-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const env = { PATH: process.env['PATH'], ...authzRuntime.env, NODE_COMPILE_CACHE: folder };
  const child = spawn(process.execPath, [...authzRuntime.options, authz, '--compile-only'], { env, stdio: 'inherit' });
  await once(child, 'exit');
  return folder;
}

let compiled: Promise<string> | undefined;

/**
 * The checker as deployed: its whole process, with a store, and its log read from a pipe and discarded.
 * @param core undefined for any
 */
export async function startGate(databaseUrl: string, core: number | undefined = serverCore): Promise<MeasuredServer> {
  compiled ??= compileGate();
  const [port, adminPort, folder] = [await freePort(), await freePort(), await compiled];
  const child = startProgram(authz, {
    options: authzRuntime.options,
    ...(core !== undefined && { core }),
    env: {
      ...authzRuntime.env,
      NODE_COMPILE_CACHE: folder,
      DATABASE_URL: databaseUrl,
      PORT: String(port),
      ADMIN_PORT: String(adminPort),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout?.resume();
  return measured(child, port, async () => {
    const limit = AbortSignal.timeout(readyLimitMs);
    for (;;) {
      if (child.exitCode !== null) throw new Error(`the checker ended with code ${child.exitCode}`);
      const answer = await fetch(`http://${host}:${adminPort}/ready`, { signal: limit }).catch(() => undefined);
      await answer?.arrayBuffer();
      if (answer?.status === 200) return;
      limit.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  });
}
