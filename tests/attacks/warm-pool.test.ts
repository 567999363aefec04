import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { createWarmCall } from '../../workers/warm/call.ts';
import { callFunction, missing, nodeRuntime, pythonRuntime } from '../support/function-runtime.ts';
import { flood, huge } from '../support/raw-body.ts';
import { freePort } from '../support/servers.ts';
import { askPod, startWaiting, waitingToken as token, waitingUid as uid } from '../support/warm-pod.ts';

/*
 * Generic pods take code and variables over the network (decision 0098). Where network policies are not enforced, every pod
 * reaches them: none starts a function there, keeps the platform from doing so, or gets what is meant for another pod.
 */

const host = '127.0.0.1';
const start = { env: { SECRET: 'secret-of-the-function' }, files: {}, drainSeconds: 1 };

/** Code that answers what it finds in its pod: of its process, of its parent, and in its folder. */
const thief = `
import { readFileSync, readdirSync } from 'node:fs';
const read = (path) => { try { return readFileSync(path, 'latin1'); } catch { return ''; } };
const ofProcesses = ['self', String(process.ppid)].flatMap((pid) =>
  ['environ', 'cmdline', 'maps', 'status'].map((file) => read('/proc/' + pid + '/' + file)));
const ofCode = readdirSync(process.env.FOLDER).map((file) => read(process.env.FOLDER + '/' + file));
export const handler = () => ({ env: process.env, argv: process.argv, ofProcesses, ofCode });
`;

for (const runtime of [nodeRuntime, pythonRuntime]) {
  t.test(`a generic pod of ${runtime.name}`, { skip: missing(runtime) ?? false }, async (t) => {
    t.test('takes no code without the token, and reads no body', async (t) => {
      const { port } = await startWaiting(t, runtime);
      const digest = createHash('sha256').update(token).digest('hex');
      const wrong = ['', 'Bearer', 'Bearer ', `Bearer ${digest}`, `Bearer ${token}x`, `Basic ${token}`, token];
      for (const authorization of wrong) {
        // Without a body: its rest can fail to be sent once the pod has answered and closed the connection.
        const { status, closes } = await askPod(port, 'POST', '/start', { authorization });
        t.equal(status, 401, authorization);
        t.ok(closes, 'a client does not send its next request on the connection');
      }
      t.equal((await askPod(port, 'POST', '/start')).status, 401);
      for (const [method, path] of [
        ['GET', '/start'],
        ['GET', '/'],
        ['PUT', '/start'],
        ['POST', '/start/../start?'],
      ] as const) {
        const { status, closes } = await askPod(port, method, path);
        t.equal(status, 404, `${method} ${path}`);
        t.ok(closes, `${method} ${path}`);
      }
      const request = flood(port, '/start', { method: 'POST', size: huge });
      await request.closed;
      t.notOk(request.isTaken());
      await createWarmCall({ port })({ host, uid }, token, { ...start, env: { PORT: String(await freePort()) } });
    });

    t.test('is not kept from the platform by open connections', async (t) => {
      const { port } = await startWaiting(t, runtime);
      for (let count = 0; count < 50; count++) {
        const socket = connect({ port, host });
        socket.on('error', () => undefined);
        t.teardown(() => socket.destroy());
        await once(socket, 'connect');
        socket.write('POST /start HTTP/1.1\r\n');
      }
      await createWarmCall({ port })({ host, uid }, token, { ...start, env: { PORT: String(await freePort()) } });
    });
  });
}

t.test('code that reads its whole pod does not find the token, so it starts nothing in other pods', async (t) => {
  const [pod, other] = [await startWaiting(t, nodeRuntime), await startWaiting(t, nodeRuntime)];
  const port = await freePort();
  const env = { PORT: String(port), SVC_CODE_FILE: join(pod.folder, 'handler.mjs'), FOLDER: pod.folder };
  const files = { 'handler.mjs': thief };
  await createWarmCall({ port: pod.port })({ host, uid }, token, { env, files, drainSeconds: 1 });
  await pod.serving();
  const loot = (await callFunction({ port })).body.toString();
  t.match(loot, 'handler.mjs');
  t.notMatch(loot, token);
  const words = new Set(loot.match(/[\w-]{16,}/g));
  for (const word of words) {
    const { status } = await askPod(other.port, 'POST', '/start', { authorization: `Bearer ${word}` });
    if (status !== 401) t.fail(`${word} is accepted`);
  }
});

async function impostor(t: Test, answer: (server: Server) => void): Promise<number> {
  const server = createServer();
  answer(server);
  server.listen(0, host);
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

t.test('another pod at the address gets neither token nor variables', async (t) => {
  for (const answer of ['', 'another uid', `${uid} `, uid.toUpperCase()]) {
    const received: string[] = [];
    const port = await impostor(t, (server) => {
      server.on('request', (request, response) => {
        received.push(JSON.stringify([request.method, request.headers]));
        response.end(answer);
      });
    });
    await t.rejects(createWarmCall({ port })({ host, uid }, token, start), { message: /another pod answers/ }, answer);
    t.equal(received.length, 1);
    t.notMatch(received[0], token);
  }
});

t.test('a pod that answers slowly or without end costs little', async (t) => {
  const endless = await impostor(t, (server) => {
    server.on('request', (_, response) => {
      const more = () => {
        while (response.writable && response.write('x'.repeat(65_536)));
      };
      response.on('drain', more);
      more();
    });
  });
  await t.rejects(createWarmCall({ port: endless })({ host, uid }, token, start), { message: /too long/ });
  const silent = await impostor(t, (server) => server.on('request', () => undefined));
  const startedAt = performance.now();
  await t.rejects(createWarmCall({ port: silent })({ host, uid }, token, start));
  t.ok(performance.now() - startedAt < 10_000);
});
