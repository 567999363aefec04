import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { warmPool } from '../../infra/manifests/warm-pool.ts';
import type { FunctionRuntime } from './function-runtime.ts';
import { eventually } from './platform.ts';
import { freePort } from './servers.ts';

/** The uid of the pod that {@link startWaiting} is. */
export const waitingUid = '0190a0a0-0000-7000-8000-00000000000a';
/** The token that starts a function in it. */
export const waitingToken = 'token-of-the-environment';

/** The program of a generic pod, as a program of this machine. */
export interface WaitingPod {
  child: ChildProcess;
  port: number;
  folder: string;
  /** What it has printed. */
  lines: string[];
  /** The variables that the image and the cluster would give it. */
  environment: Record<string, string>;
  /** The same program again, as after a restart of the container. */
  again(): ChildProcess;
  /** Resolves when the runtime serves requests. */
  serving(): Promise<unknown>;
}

/** Starts the program with the variables of a pool's template. It ends with the test. */
export async function startWaiting(
  t: { teardown(end: () => unknown): void },
  runtime: FunctionRuntime,
): Promise<WaitingPod> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-warm-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const port = await freePort();
  const environment = { PATH: process.env['PATH'] ?? '', NODE_ENV: 'production', LISTEN_ADDRESS: '127.0.0.1' };
  const own = { SVC_WARM_POD: waitingUid, SVC_WARM_PORT: String(port), SVC_WARM_FOLDER: folder };
  const [program, ...args] = runtime.command;
  const isNode = runtime.name === 'node';
  const warm = join(dirname(args.pop() ?? ''), isNode ? 'warm.mjs' : 'warm.py');
  const flags = isNode ? ['--disable-warning=ExperimentalWarning'] : [];
  const start = () =>
    spawn(program, [...flags, ...args, warm], {
      env: { ...templateVariables(waitingToken), ...environment, ...own },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const child = start();
  t.teardown(() => child.kill('SIGKILL'));
  const lines: string[] = [];
  for (const output of [child.stdout, child.stderr]) {
    createInterface({ input: output }).on('line', (line) => lines.push(line));
  }
  await eventually(
    () => askPod(port, 'GET', '/pod').catch(() => undefined),
    (answer) => answer?.status === 200,
  );
  const serving = () =>
    eventually(
      () => Promise.resolve(lines),
      (printed) => printed.some((line) => line.includes('"function ready"')),
    );
  return { child, port, folder, lines, environment, again: start, serving };
}

/** The variables of a generic pod that have a value in the template. */
function templateVariables(token: string): Record<string, string> {
  const tokenDigest = createHash('sha256').update(token).digest('hex');
  const template = { digest: '0123456789ab', spec: { containers: [{ name: 'function' }] } };
  const { spec } = warmPool('shop-prod', template, { replicas: 1, tokenDigest }).spec.template;
  const [container] = (spec as { containers: { env: { name: string; value?: string }[] }[] }).containers;
  return Object.fromEntries((container?.env ?? []).map(({ name, value = '' }) => [name, value]));
}

/** A request to a generic pod. `closes`: the answer says that it is the last one on its connection. */
export async function askPod(
  port: number,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<{ status: number; text: string; closes: boolean }> {
  const init = { method, headers, ...(body !== undefined && { body }), signal: AbortSignal.timeout(5_000) };
  const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
  const closes = response.headers.get('connection') === 'close';
  return { status: response.status, text: await response.text(), closes };
}
