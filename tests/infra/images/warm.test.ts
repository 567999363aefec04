import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import t from 'tap';
import { freePort } from '../../support/servers.ts';
import { createWarmCall } from '../../../workers/warm/call.ts';
import {
  callFunction,
  startFunction,
  missing,
  nodeRuntime,
  pythonRuntime,
  type FunctionRuntime,
} from '../../support/function-runtime.ts';

const uid = '0190a0a0-0000-7000-8000-00000000000a';
const token = 'token-of-the-environment';

/** Code that answers its variables, those that the kernel shows of its process, and its user. */
const codes = {
  node: `import { readFileSync } from 'node:fs';
    const env = readFileSync('/proc/self/environ', 'utf8').split('\\0').filter(Boolean).sort();
    export const handler = () => ({ variables: process.env, env, user: process.getuid() });`,
  python: `import os
def handler(event, context):
    env = sorted(filter(None, open('/proc/self/environ').read().split(chr(0))))
    return {'variables': dict(os.environ), 'env': env, 'user': os.getuid()}
`,
};

interface Waiting {
  child: ChildProcess;
  port: number;
  folder: string;
  lines: string[];
  environment: Record<string, string>;
}

async function startWaiting(
  t: Parameters<typeof import('../../support/function-runtime.ts').startFunction>[0] & {
    testdir(content: object): string;
  },
  runtime: FunctionRuntime,
): Promise<Waiting> {
  const folder = t.testdir({});
  const port = await freePort();
  const environment = { PATH: process.env['PATH'] ?? '', NODE_ENV: 'production', LISTEN_ADDRESS: '127.0.0.1' };
  const [program, ...args] = runtime.command;
  const warm = join(dirname(args.pop() ?? ''), runtime.name === 'node' ? 'warm.mjs' : 'warm.py');
  const flags = runtime.name === 'node' ? ['--disable-warning=ExperimentalWarning'] : [];
  const child = spawn(program, [...flags, ...args, warm], {
    env: {
      ...environment,
      SVC_WARM_POD: uid,
      SVC_WARM_PORT: String(port),
      SVC_WARM_FOLDER: folder,
      SVC_WARM_TOKEN_DIGEST: createHash('sha256').update(token).digest('hex'),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const lines: string[] = [];
  for (const output of [child.stdout, child.stderr])
    createInterface({ input: output }).on('line', (line) => lines.push(line));
  const waiting = { child, port, folder, lines, environment };
  for (let tries = 0; tries < 200; tries++) {
    if (
      await ask(waiting, 'GET', '/pod').then(
        ({ status }) => status === 200,
        () => false,
      )
    )
      return waiting;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error('the program does not listen');
}

async function ask({ port }: { port: number }, method: string, path: string, headers = {}, body?: string) {
  const init = { method, headers, ...(body !== undefined && { body }), signal: AbortSignal.timeout(5_000) };
  const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
  return { status: response.status, text: await response.text() };
}

const startOf = (runtime: FunctionRuntime, port: number, folder: string) => ({
  env: { PORT: String(port), SVC_CODE_FILE: join(folder, runtime.codeFile), GREETING: 'a "b"\nü', NODE_ENV: 'test' },
  files: { [runtime.codeFile]: codes[runtime.name] },
  drainSeconds: 3_600,
});

const serving = async ({ lines }: Waiting) => {
  for (;;) {
    const entry = lines.find((line) => line.includes('"function ready"'));
    if (entry) return JSON.parse(entry) as Record<string, unknown>;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};

for (const runtime of [nodeRuntime, pythonRuntime]) {
  const skip = missing(runtime);
  t.test(`a generic pod of ${runtime.name}`, { skip: skip ?? false }, async (t) => {
    t.test('becomes the runtime, with the variables of a cold start and nothing else', async (t) => {
      const waiting = await startWaiting(t, runtime);
      t.same(waiting.lines, [], 'it prints nothing while it waits');
      const port = await freePort();
      const start = startOf(runtime, port, waiting.folder);
      await createWarmCall({ port: waiting.port })({ host: '127.0.0.1', uid }, token, start);
      await serving(waiting);
      const warm = JSON.parse((await callFunction({ port } as never)).body.toString()) as object;
      t.match(warm, { variables: start.env });
      t.notMatch(JSON.stringify(warm), token);
      t.equal(readFileSync(join(waiting.folder, runtime.codeFile), 'utf8'), codes[runtime.name]);
      t.rejects(ask(waiting, 'GET', '/pod'), 'nothing waits any more');
      waiting.child.kill('SIGTERM');
      t.same(await once(waiting.child, 'exit'), [0, null], 'it drains as the runtime does');
      const cold = await startFunction(t, runtime, codes[runtime.name], { ...waiting.environment, ...start.env });
      t.same(warm, JSON.parse((await callFunction(cold)).body.toString()), 'a cold start has the same');
    });

    t.test('takes no other token, no second start, and nothing else', async (t) => {
      const waiting = await startWaiting(t, runtime);
      const body = JSON.stringify(startOf(runtime, await freePort(), waiting.folder));
      const digest = createHash('sha256').update(token).digest('hex');
      const refused = ['', 'Bearer', 'Bearer ', `Bearer ${digest}`, `Bearer ${token}x`, `Basic ${token}`, token];
      for (const authorization of refused) {
        t.equal((await ask(waiting, 'POST', '/start', { authorization }, body)).status, 401, authorization);
      }
      t.equal((await ask(waiting, 'POST', '/start', {}, body)).status, 401);
      t.equal((await ask(waiting, 'GET', '/start')).status, 404);
      t.equal((await ask(waiting, 'GET', '/')).status, 404);
      const authorization = `Bearer ${token}`;
      t.equal((await ask(waiting, 'POST', '/start', { authorization }, '{')).status, 400);
      t.equal((await ask(waiting, 'POST', '/start', { authorization }, body)).status, 409, 'one attempt only');
    });

    t.test('is not used again after its container has restarted', async (t) => {
      const waiting = await startWaiting(t, runtime);
      const start = startOf(runtime, await freePort(), waiting.folder);
      await createWarmCall({ port: waiting.port })({ host: '127.0.0.1', uid }, token, start);
      await serving(waiting);
      const [program, ...args] = runtime.command;
      const warm = join(dirname(args.pop() ?? ''), runtime.name === 'node' ? 'warm.mjs' : 'warm.py');
      const again = spawn(program, [...args, warm], {
        env: {
          ...waiting.environment,
          SVC_WARM_POD: uid,
          SVC_WARM_PORT: '0',
          SVC_WARM_FOLDER: waiting.folder,
          SVC_WARM_TOKEN_DIGEST: 'ab',
        },
      });
      t.same(await once(again, 'exit'), [1, null]);
    });
  });
}

t.test('a pod that is another one gets neither token nor variables', async (t) => {
  const waiting = await startWaiting(t, nodeRuntime);
  const call = createWarmCall({ port: waiting.port });
  const start = startOf(nodeRuntime, await freePort(), waiting.folder);
  await t.rejects(call({ host: '127.0.0.1', uid: 'another' }, token, start), { message: /another pod answers/ });
  await t.rejects(call({ host: '127.0.0.1', uid }, 'wrong', start), { message: 'the pod answered 401' });
  await call({ host: '127.0.0.1', uid }, token, start);
  await serving(waiting);
});
