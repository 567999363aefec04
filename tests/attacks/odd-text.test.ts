import t from 'tap';
import { expand } from '../../infra/local/node/environment.ts';
import { checkTimeZone, parseSchedule } from '../../runtime/domain/schedule.ts';
import { unescapeXml } from '../../runtime/services/xml.ts';
import { declaredRoutes } from '../functions/all-routes.ts';
import { testApi } from '../support/api.ts';

/** What every object inherits: a look-up in an object by one of these names finds a function. */
const inherited = Object.getOwnPropertyNames(Object.prototype);

t.test('a NUL character in any parameter of any route is refused before the handler gets the request', async (t) => {
  const { routes, root } = await declaredRoutes();
  const api = await testApi(t, { routes, rootRoutes: root, checkReplies: false });
  for (const { method, path, body, lateBody } of [...routes, ...root]) {
    const prefix = routes.some((route) => route.path === path) ? '/api/v1' : '';
    const filled = path.replaceAll(/:\w+/g, 'a');
    const names = [...path.matchAll(/:\w+/g)].map(([name]) => name);
    const paths = names.map((name) => path.replace(name, 'a%00b').replaceAll(/:\w+/g, 'a'));
    for (const target of [...paths, `${filled}?environment=%00`, `${filled}?%00=1`]) {
      const options = (body ?? lateBody) ? { body: {} } : {};
      const answer = await api.call(method, `${prefix}${target}`, options);
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
