import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { createWarmCall } from '../../../workers/warm/call.ts';
import {
  callFunction,
  missing,
  nodeRuntime,
  pythonRuntime,
  startFunction,
  type FunctionRuntime,
} from '../../support/function-runtime.ts';
import { freePort } from '../../support/servers.ts';
import { askPod, startWaiting, waitingToken as token, waitingUid as uid } from '../../support/warm-pod.ts';

const host = '127.0.0.1';

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

const startOf = (runtime: FunctionRuntime, port: number, folder: string) => ({
  env: { PORT: String(port), SVC_CODE_FILE: join(folder, runtime.codeFile), GREETING: 'a "b"\nü', NODE_ENV: 'test' },
  files: { [runtime.codeFile]: codes[runtime.name] },
  drainSeconds: 3_600,
});

for (const runtime of [nodeRuntime, pythonRuntime]) {
  t.test(`a generic pod of ${runtime.name}`, { skip: missing(runtime) ?? false }, async (t) => {
    t.test('becomes the runtime, with the variables of a cold start and nothing else', async (t) => {
      const waiting = await startWaiting(t, runtime);
      t.same(waiting.lines, [], 'it prints nothing while it waits');
      const port = await freePort();
      const start = startOf(runtime, port, waiting.folder);
      await createWarmCall({ port: waiting.port })({ host, uid }, token, start);
      await waiting.serving();
      const warm = JSON.parse((await callFunction({ port })).body.toString()) as object;
      t.match(warm, { variables: start.env });
      t.notMatch(JSON.stringify(warm), token);
      t.equal(readFileSync(join(waiting.folder, runtime.codeFile), 'utf8'), codes[runtime.name]);
      await t.rejects(askPod(waiting.port, 'GET', '/pod'), 'nothing waits any more');
      waiting.child.kill('SIGTERM');
      t.same(await once(waiting.child, 'exit'), [0, null], 'it drains as the runtime does');
      const cold = await startFunction(t, runtime, codes[runtime.name], { ...waiting.environment, ...start.env });
      t.same(warm, JSON.parse((await callFunction(cold)).body.toString()), 'a cold start has the same');
    });

    t.test('is started once, whether or not that succeeds', async (t) => {
      const waiting = await startWaiting(t, runtime);
      const authorization = `Bearer ${token}`;
      t.equal((await askPod(waiting.port, 'POST', '/start', { authorization }, '{')).status, 400);
      t.equal((await askPod(waiting.port, 'POST', '/start', { authorization })).status, 409);
    });

    t.test('is not used again after its container has restarted', async (t) => {
      const waiting = await startWaiting(t, runtime);
      const start = startOf(runtime, await freePort(), waiting.folder);
      await createWarmCall({ port: waiting.port })({ host, uid }, token, start);
      await waiting.serving();
      t.same(await once(waiting.again(), 'exit'), [1, null]);
    });

    t.test('ends at once while it waits', async (t) => {
      const { child } = await startWaiting(t, runtime);
      child.kill('SIGTERM');
      t.same(await once(child, 'exit'), [0, null]);
    });
  });
}
