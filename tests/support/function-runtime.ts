import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { request as httpRequest, type Agent, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buffer } from 'node:stream/consumers';
import { functionNode } from '../../infra/local/programs.ts';
import { codeFile } from './code-file.ts';

const images = join(import.meta.dirname, '../../infra/images');

/** A function runtime as a program of this machine. */
export interface FunctionRuntime {
  name: 'node' | 'python';
  command: readonly [string, ...string[]];
  codeFile: string;
}

export const nodeRuntime: FunctionRuntime = {
  name: 'node',
  command: [functionNode(), join(images, 'function-node/server.mjs')],
  codeFile: 'handler.js',
};

export const pythonRuntime: FunctionRuntime = {
  name: 'python',
  command: ['python3', '-B', join(images, 'function-python/main.py')],
  codeFile: 'handler.py',
};

/** Why a runtime cannot be tested on this machine; undefined when it can. */
export function missing({ command: [program] }: FunctionRuntime): string | undefined {
  return spawnSync(program, ['--version']).status === 0 ? undefined : `there is no ${program} on this machine`;
}

export type Entry = Record<string, unknown>;
interface TestScope {
  teardown(end: () => unknown): void;
}

export interface RunningFunction {
  port: number;
  child: ChildProcess;
  entries: Entry[];
  /** The first entry that matches, now or later. */
  entry(matches: (entry: Entry) => boolean): Promise<Entry>;
}

function environment(t: TestScope, runtime: FunctionRuntime, code: string, env: Record<string, string>) {
  // Outside of the checkout, whose package.json would determine the module type.
  const file = codeFile(t, runtime.codeFile, code);
  return { PATH: process.env['PATH'], LISTEN_ADDRESS: '127.0.0.1', SVC_CODE_FILE: file, ...env };
}

/** Starts the real runtime with this code; stopped at the end of the test. */
export async function startFunction(
  t: TestScope,
  runtime: FunctionRuntime,
  code: string,
  env: Record<string, string> = {},
): Promise<RunningFunction> {
  const [program, ...args] = runtime.command;
  const child = spawn(program, args, {
    env: environment(t, runtime, code, { PORT: '0', ...env }),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const entries: Entry[] = [];
  const waiting = new Set<() => void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    entries.push(JSON.parse(line) as Entry);
    for (const check of waiting) check();
  });
  const entry = (matches: (entry: Entry) => boolean) =>
    new Promise<Entry>((resolve) => {
      const check = () => {
        const entry = entries.find(matches);
        if (!entry) return;
        waiting.delete(check);
        resolve(entry);
      };
      waiting.add(check);
      check();
    });
  const ready = await Promise.race([entry(({ msg }) => msg === 'function ready'), once(child, 'exit')]);
  return { port: Number((ready as Entry)['port']), child, entries, entry };
}

/** Runs code to the end of the process, by default as a batch Job would. */
export async function runFunction(
  t: TestScope,
  runtime: FunctionRuntime,
  code: string,
  env: Record<string, string> = {
    SVC_MODE: 'batch',
    SVC_TRIGGER: 'cron',
    SVC_SCHEDULE: '*/5 * * * *',
    SVC_RUN: 'tick-29384750',
  },
): Promise<{ exit: number | null; entries: Entry[]; last: Entry | undefined }> {
  const [program, ...args] = runtime.command;
  const child = spawn(program, args, { env: environment(t, runtime, code, env), stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  const entries: Entry[] = [];
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => {
    const entry = JSON.parse(line) as Entry;
    entries.push(entry);
    if (entry['msg'] === 'end me') child.kill('SIGTERM');
  });
  const [[exit]] = await Promise.all([once(child, 'exit'), once(lines, 'close')]);
  return { exit: exit as number | null, entries, last: entries.at(-1) };
}

export interface FunctionAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export async function callFunction(
  { port }: Pick<RunningFunction, 'port'>,
  options: {
    method?: string;
    path?: string;
    headers?: Record<string, string | string[]>;
    body?: string | Buffer;
    agent?: Agent;
  } = {},
): Promise<FunctionAnswer> {
  const request = httpRequest({
    port,
    host: '127.0.0.1',
    path: options.path ?? '/',
    method: options.method ?? 'POST',
    headers: options.headers ?? {},
    agent: options.agent ?? false,
  });
  // After the answer has begun, writing the rest of the request body may fail; only the answer counts.
  const failed = new Promise<never>((_, reject) => request.on('error', reject));
  failed.catch(() => undefined);
  request.end(options.body);
  const [response] = (await Promise.race([once(request, 'response'), failed])) as [IncomingMessage];
  return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) };
}

export const json = (answer: FunctionAnswer) => JSON.parse(answer.body.toString()) as Record<string, unknown>;
