import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { connect } from 'node:net';
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { createAuthzServer } from '../../../gate/authz/server.ts';
import { fakeClock } from '../../support/clock.ts';

/**
 * The server with a given handler, and a function that sends it bytes and returns all answers until the connection
 * ends.
 */
async function rig(t: Test, authorize: RequestListener) {
  const clock = fakeClock();
  const server = createAuthzServer({
    port: 0,
    host: '127.0.0.1',
    registry: new Registry(),
    ready: () => true,
    clock,
    drainMs: 0,
    authorize,
  });
  const port = await server.start();
  t.teardown(() => Promise.all([server.stop(), clock.advance(0)]));
  return {
    exchange: async (requests: string[]): Promise<string> => {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      for (const request of requests) socket.write(request);
      socket.end();
      let answers = '';
      for await (const chunk of socket) answers += String(chunk);
      return answers;
    },
  };
}

const head = (method: string, app: number, more = '') =>
  `${method} /authorize?app=${app} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;

t.test('one connection serves several requests with any bodies', async (t) => {
  const requests: string[] = [];
  const { exchange } = await rig(t, (request, response) => {
    requests.push(`${request.method} ${request.url}`);
    response.writeHead(200, ['Content-Length', '0']).end();
  });
  // All at once, so that no part of one request can be mistaken for the next.
  const answers = await exchange([
    [
      head('GET', 1),
      `${head('POST', 2, 'Content-Length: 5\r\n')}GET /`,
      `${head('POST', 3, 'Transfer-Encoding: chunked\r\n')}3\r\nabc\r\n0\r\n\r\n`,
      head('GET', 4),
    ].join(''),
    head('HEAD', 5),
  ]);
  t.same(
    requests,
    ['GET', 'POST', 'POST', 'GET', 'HEAD'].map((method, index) => `${method} /authorize?app=${index + 1}`),
  );
  t.equal(answers.split('HTTP/1.1 200 OK').length, 6);
  t.notMatch(answers, /^HTTP\/1.1 [^2]/m);
});

t.test('the handler gets the headers that it uses, with the values that node:http would give', async (t) => {
  const seen: Record<string, unknown>[] = [];
  const { exchange } = await rig(t, (request, response) => {
    seen.push({ ...request.headers });
    response.writeHead(200, ['Content-Length', '0']).end();
  });
  const lines = [
    'x-api-key: one',
    'X-API-KEY: two',
    'X_Api_Key: three',
    'X-Api-Keys: four',
    'X-Forwarded-For: 10.0.0.1',
    'X-Forwarded-for: 10.0.0.2, 10.0.0.3',
    'x-forwarded-method: GET',
    'X-Forwarded-Method: OPTIONS',
    'Access-Control-Request-Method: PUT',
    'Accept-Charset: x',
    'X-Forwarded-Uri: /?x-api-key=five',
    '',
  ];
  await exchange([head('GET', 1, lines.join('\r\n')), head('GET', 2)]);
  t.match(seen[0], {
    host: 'x',
    'x-api-key': 'one, two',
    'x-forwarded-for': '10.0.0.1, 10.0.0.2, 10.0.0.3',
    'x-forwarded-method': 'GET, OPTIONS',
    'access-control-request-method': 'PUT',
  });
  t.same(
    Object.entries(seen[1] ?? {}).filter(([, value]) => value !== undefined),
    [['host', 'x']],
    'no header of one request appears in the next',
  );
});

t.test('the server follows the rules of HTTP/1.1', async (t) => {
  const { exchange } = await rig(t, (_request, response) => {
    response.writeHead(200, ['Content-Length', '0']).end();
  });
  t.match(await exchange(['GET /authorize?app=1 HTTP/1.1\r\n\r\n']), /^HTTP\/1.1 400 /, 'no Host');
  t.match(
    await exchange([head('POST', 1, 'Expect: 100-continue\r\nContent-Length: 1\r\n'), 'x']),
    /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK/,
  );
  t.match(await exchange([head('POST', 1, 'Content-Length: 1\r\nTransfer-Encoding: chunked\r\n')]), /^HTTP\/1.1 400 /);
});
