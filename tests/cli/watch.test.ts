import t from 'tap';
import { sequence, world } from './world.ts';

const path = '/api/v1/projects/shop/watch';
const text = (...messages: (object | string)[]) => ({
  body: messages.map((one) => `${typeof one === 'string' ? one : JSON.stringify(one)}\n`).join(''),
});
const app = { type: 'modified', kind: 'App', environment: 'prod', name: 'api', cursor: 'e.1' };
const refused = { status: 401, body: { code: 'unauthenticated', message: 'Log in.' } };

t.test('watch prints changes, continues after the last one, and ends when the API refuses', async (t) => {
  const { run, seen } = await world(t, {
    [`GET ${path}`]: sequence(
      text({ type: 'ready', cursor: 'e.0' }, '', app, { ...app, kind: 'Later', cursor: 'e.2' }),
      { status: 502, body: 'Bad Gateway' },
      { status: 429, body: { code: 'too_many_requests', message: 'Wait.' } },
      text({ type: 'ready', cursor: 'e.1' }, { type: 'modified', kind: 'Member', cursor: 'e.3' }),
      text({ type: 'reset', cursor: 'f.7' }),
      refused,
    ),
  });
  const ran = await run(['watch']);
  t.match(ran.stdout, /^12:00:0\d modified App prod\/api\n12:00:0\d modified Member\n$/);
  t.equal(
    ran.stderr.replace(/error: [^]*/, ''),
    'watching; stop with Ctrl-C\nthe event stream was interrupted; reconnecting\nsome changes may be missing\n',
  );
  t.equal(ran.code, 4);
  t.same(
    seen.map(({ query }) => query['cursor']),
    [undefined, 'e.1', 'e.1', 'e.1', 'e.3', 'f.7'],
  );
});

t.test('watch prints messages as JSON, and names', async (t) => {
  const stream = text({ type: 'ready', cursor: 'e.0' }, app);
  const { run, routes, seen } = await world(t);
  const watch = (...flags: string[]) => {
    routes[`GET ${path}`] = sequence(stream, refused);
    return run(['watch', ...flags]);
  };
  t.same(JSON.parse((await watch('-o', 'json', '-e', 'prod')).stdout), app);
  t.equal(seen[0]?.query['environment'], 'prod');
  t.equal((await watch('-o', 'name')).stdout, 'api\n');
  t.match(await watch('-o', 'yaml'), { code: 2 });
});
