import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import t from 'tap';
import { WebSocket } from 'ws';
import { expand } from '../../infra/local/node/environment.ts';
import { checkTimeZone, parseSchedule } from '../../runtime/domain/schedule.ts';
import { unescapeXml } from '../../runtime/services/xml.ts';
import { declaredRoutes } from '../functions/all-routes.ts';
import { testApi } from '../support/api.ts';

/** What every object inherits: a look-up in an object by one of these names finds a function. */
const inherited = Object.getOwnPropertyNames(Object.prototype);

/** The answer to a request for a WebSocket that is refused. */
async function refusedSocket(url: string, protocol: string): Promise<{ status: number | undefined; body: unknown }> {
  const socket = new WebSocket(url.replace('http', 'ws'), [protocol], { headers: { authorization: 'Bearer good' } });
  socket.on('error', () => undefined);
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  const body = await json(response);
  socket.terminate();
  return { status: response.statusCode, body };
}

t.test('a NUL character in any parameter of any route is refused before the handler gets the request', async (t) => {
  const { routes, root } = await declaredRoutes();
  const api = await testApi(t, { routes, rootRoutes: root, checkReplies: false });
  for (const { method, path, body, lateBody, webSocket } of [...routes, ...root]) {
    const prefix = routes.some((route) => route.path === path) ? '/api/v1' : '';
    const filled = path.replaceAll(/:\w+/g, 'a');
    const names = [...path.matchAll(/:\w+/g)].map(([name]) => name);
    const paths = names.map((name) => path.replace(name, 'a%00b').replaceAll(/:\w+/g, 'a'));
    for (const target of [...paths, `${filled}?environment=%00`, `${filled}?%00=1`]) {
      const options = (body ?? lateBody) ? { body: {} } : {};
      const answer =
        webSocket === undefined
          ? await api.call(method, `${prefix}${target}`, options)
          : await refusedSocket(`${api.url}${prefix}${target}`, webSocket);
      t.match(answer, { status: 400, body: { code: 'invalid_request' } }, `${method} ${target}`);
    }
    if (!body) continue;
    for (const text of ['{"a":"\\u0000"}', '{"\\u0000":1}', '["a\\u0000"]']) {
      const answer = await api.call(method, `${prefix}${filled}`, { body: text });
      t.match(answer, { status: 400, body: { code: 'invalid_request' } }, `${method} ${filled}: ${text}`);
    }
  }
});

t.test('names that every object inherits mean nothing', (t) => {
  for (const name of inherited) {
    t.throws(() => parseSchedule(name), { code: 'invalid_value' }, name);
    t.throws(() => checkTimeZone(name), { code: 'invalid_value' }, name);
    t.equal(unescapeXml(`&${name};`), `&${name};`);
    t.equal(expand(`$(${name})`, {}), `$(${name})`);
  }
  t.end();
});
