import t from 'tap';
import { sequence, world } from './world.ts';

const path = '/api/v1/projects/shop/apps/api/logs';
const line = (pod: string, second: number, text: string) => ({
  pod,
  time: `2026-11-21T12:00:0${second}.000000000Z`,
  line: text,
});

t.test('logs of one pod are plain lines, those of several pods have the pod names as prefix', async (t) => {
  const { run, routes, seen } = await world(t, { [`GET ${path}`]: { body: { items: [line('api-1', 1, 'one')] } } });
  t.equal((await run(['app', 'logs', 'api', '--since', '1h', '--tail', '5', '--previous'])).stdout, 'one\n');
  t.match(seen[0]?.query, { sinceSeconds: '3600', tail: '5', previous: 'true' });
  routes[`GET ${path}`] = { body: { items: [line('api-1', 1, 'one'), line('api-2', 2, 'two')] } };
  t.equal((await run(['app', 'logs', 'api'])).stdout, 'api-1 | one\napi-2 | two\n');
  t.equal((await run(['app', 'logs', 'api', '-o', 'name'])).stdout, 'api-1\napi-2\n');
  t.match(await run(['app', 'logs', 'api', '-f', '--previous']), { code: 2 });
  routes[`GET ${path}`] = { body: { items: [line('api-1', 1, 'one')], truncated: true } };
  t.match(await run(['app', 'logs', 'api']), { stdout: 'one\n', stderr: /^the log is truncated: / });
});

t.test('logs without lines say why', async (t) => {
  const { run, seen } = await world(t, { [`GET ${path}`]: { body: { items: [], store: 'ok' } } });
  const messageOf = async (...flags: string[]) => (await run(['app', 'logs', 'api', ...flags])).stderr;
  t.match(await messageOf(), /^api has no logs in the last hour; see --since/);
  t.match(await messageOf('--since', '2h'), /^api has no logs in that time/);
  for (const flags of [
    ['--search', 'x'],
    ['--level', 'warn'],
    ['--pod', 'api-1'],
  ]) {
    t.match(await messageOf(...flags), /^no lines of api match --search, --level and --pod in the last hour/);
  }
  const requests = seen.length;
  for (const flags of [
    ['--until', '1h'],
    ['--since', '5m', '--until', '10m', '--download'],
  ]) {
    t.match(await run(['app', 'logs', 'api', ...flags]), { code: 2, stderr: /--until must be less than --since/ });
  }
  t.equal(seen.length, requests, 'nothing is asked');
  t.match(await messageOf('--since', '2h', '--until', '1h'), /^api has no logs/);
  t.ok(seen.at(-1)?.query['until']);
});

t.test('without a log store, a range says that it has only lines of pods that exist', async (t) => {
  const reason = /without the log store, only pods that exist have logs\n$/;
  const items = [line('api-1', 1, 'one')];
  const { run, routes } = await world(t, { [`GET ${path}`]: { body: { items, store: 'disabled' } } });
  for (const flags of [
    ['--since', '24h'],
    ['--until', '5m'],
  ])
    t.match(await run(['app', 'logs', 'api', ...flags]), { code: 0, stdout: 'one\n', stderr: reason });
  for (const flags of [[], ['--since', '1h']])
    t.equal((await run(['app', 'logs', 'api', ...flags])).stderr, '', 'nobody has asked for older lines');
  routes[`GET ${path}`] = { body: { items: [], store: 'disabled' } };
  t.match(await run(['app', 'logs', 'api', '--pod', 'api-0']), { code: 0, stderr: reason });
  const end = { end: true, store: 'disabled' };
  routes[`GET ${path}`] = { body: [...items, end].map((one) => `${JSON.stringify(one)}\n`).join('') };
  t.match(await run(['app', 'logs', 'api', '--download']), { code: 0, stdout: 'one\n', stderr: reason });
});

t.test('-f reconnects where it stopped, prints each line once, and ends when the API refuses', async (t) => {
  const text = (...lines: object[]) => ({ body: lines.map((one) => `${JSON.stringify(one)}\n\n`).join('') });
  const { run, seen } = await world(t, {
    [`GET ${path}`]: sequence(
      text(line('api-1', 1, 'Error: one'), line('api-1', 1, '  at two'), line('api-2', 2, 'two')),
      { status: 502, body: 'Bad Gateway' },
      text(
        line('api-1', 1, 'Error: one'),
        line('api-1', 1, '  at two'),
        line('api-2', 2, 'two'),
        line('api-1', 1, '  at three'),
        line('api-1', 3, 'three'),
      ),
      { status: 401, body: { code: 'unauthenticated', message: 'Log in.' } },
    ),
  });
  const ran = await run(['app', 'logs', 'api', '-f']);
  t.equal(ran.stdout, 'api-1 | Error: one\napi-1 |   at two\napi-2 | two\napi-1 |   at three\napi-1 | three\n');
  t.match(ran, { code: 4, stderr: /^the log stream was interrupted; reconnecting\nerror: Log in\./ });
  t.match(seen[0]?.query, { follow: 'true', tail: '100' });
  t.match(seen[1]?.query, { follow: 'true', sinceTime: '2026-11-21T11:59:57.000Z', tail: undefined });
});

t.test('-f says when the log store is away and when its lines are there, and prints each late line once', async (t) => {
  const text = (...lines: object[]) => ({ body: lines.map((one) => `${JSON.stringify(one)}\n\n`).join('') });
  const late = (pod: string, second: number, of: string) => ({ ...line(pod, second, of), late: true });
  const { run, seen } = await world(t, {
    [`GET ${path}`]: sequence(
      text(line('api-2', 8, 'eight')),
      // The lines of pods that are gone since then are missing, so the next stream begins there, too.
      text({ store: 'unavailable' }, line('api-2', 9, 'nine')),
      text(
        { store: 'unavailable' },
        line('api-2', 8, 'eight'),
        line('api-2', 9, 'nine'),
        late('api-1', 5, 'five'),
        late('api-1', 6, 'six'),
        { store: 'ok' },
      ),
      text(line('api-1', 6, 'six'), line('api-2', 9, 'nine')),
      { status: 401, body: { code: 'unauthenticated', message: 'Log in.' } },
    ),
  });
  const ran = await run(['app', 'logs', 'api', '-f']);
  t.equal(ran.stdout, 'api-2 | eight\napi-2 | nine\napi-1 | five\napi-1 | six\n');
  t.match(
    ran.stderr,
    /^(?:the log store does not answer: [^\n]+\n){2}the log store answers again[^\n]+\nerror: Log in\./,
  );
  t.same(
    seen.map(({ query }) => query.sinceTime),
    [
      undefined,
      '2026-11-21T12:00:03.000Z',
      '2026-11-21T12:00:03.000Z',
      '2026-11-21T12:00:04.000Z',
      '2026-11-21T12:00:04.000Z',
    ],
  );
});

t.test('--at shows the lines around a time, such as that of a line', async (t) => {
  const { run, seen } = await world(t, { [`GET ${path}`]: { body: { items: [line('api-1', 4, 'one')] } } });
  t.match(await run(['app', 'logs', 'api', '--at', '2026-11-21T11:00:04.123456789Z']), { code: 0, stdout: 'one\n' });
  t.same(seen[0]?.query, { sinceTime: '2026-11-21T10:59:59.123Z', until: '2026-11-21T11:00:09.123Z' });
  for (const other of [['-f'], ['--previous'], ['--since', '1h'], ['--until', '5m']]) {
    t.match(await run(['app', 'logs', 'api', '--at', '2026-11-21T11:00:04Z', ...other]), { code: 2 });
  }
  for (const typed of ['11:00', '2026-11-21', '2026-13-21T11:00:04Z', '5m']) {
    t.match(await run(['app', 'logs', 'api', '--at', typed]), { code: 2, stderr: /--at must be a time in UTC/ });
  }
  t.equal(seen.length, 1);
});
