import t from 'tap';
import type { LogDrainView } from '../../runtime/contracts/api/log-drain.ts';
import { world } from './world.ts';

const path = '/api/v1/platform/log-drain';
const url = 'https://loki.example.com/loki/api/v1/push';
const view: LogDrainView = {
  url,
  format: 'loki',
  headers: ['Authorization'],
  networks: [],
  status: 'on',
  sentLines: 12,
  refusedLines: 0,
  deletedLines: 0,
  pendingLines: 3,
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
};
const set = ['platform', 'log-drain', 'set', '--url', url, '--format', 'loki'];

t.test('set reads a token or headers from the standard input, and prints no value', async (t) => {
  const { run, seen } = await world(t, { [`PUT ${path}`]: { body: view } });
  const token = await run([...set, '--token-stdin'], { stdin: 'very-secret\n' });
  t.match(token, { code: 0, stdout: /Headers: +Authorization\n/ });
  t.same(seen.at(-1)?.body, { url, format: 'loki', headers: { Authorization: 'Bearer very-secret' }, networks: [] });
  const stdin = 'X-Scope-OrgID: very-secret\r\n\nAuthorization:Basic a:b\n';
  const headers = await run([...set, '--headers-stdin', '--network', '10.20.7.0/24'], { stdin });
  t.equal(headers.code, 0, headers.stderr);
  t.match(seen.at(-1)?.body, {
    headers: { 'X-Scope-OrgID': 'very-secret', Authorization: 'Basic a:b' },
    networks: ['10.20.7.0/24'],
  });
  t.equal((await run(set)).code, 0);
  t.match(seen.at(-1)?.body, { headers: {} });
  const count = seen.length;
  for (const [flags, input, message] of [
    [['--token-stdin', '--headers-stdin'], 'very-secret', /Use either/],
    [['--token-stdin'], '\n', /token is empty/],
    [['--headers-stdin'], '\n', /no headers/],
    [['--headers-stdin'], 'A: b\nvery-secret\n', /Line 2 of standard input is not a header/],
  ] as const) {
    const refused = await run([...set, ...flags], { stdin: input });
    t.match(refused, { code: 2, stderr: message });
    t.notMatch(refused.stderr, /very-secret/);
  }
  t.match(await run(['platform', 'log-drain', 'set', '--url', url]), { code: 2, stderr: /--format/ });
  t.equal(seen.length, count, 'nothing was sent');
});

t.test('headers that are sent in plain text are warned about', async (t) => {
  const { run } = await world(t, { [`PUT ${path}`]: { body: { ...view, url: 'http://10.20.7.5/' } } });
  t.match(await run([...set, '--token-stdin'], { stdin: 'x' }), { code: 0, stderr: /not encrypted/ });
});

t.test('show says what was sent, what waits and what was lost', async (t) => {
  const failing = {
    status: 'failing',
    error: 'the connection was refused',
    failingSince: '2026-01-01T00:00:00.000Z',
    refusedLines: 2,
    deletedLines: 1,
  } as const;
  const { run } = await world(t, { [`GET ${path}`]: { body: { ...view, ...failing } } });
  const { code, stdout } = await run(['platform', 'log-drain', 'show']);
  t.equal(code, 0);
  t.match(stdout, /Status: +failing since 2026-01-01T00:00:00\.000Z\nError: +the connection was refused\n/);
  t.match(
    stdout,
    /Sent: +12 lines\nPending: +3 lines\nRefused: +2 lines, by the receiver\nDeleted: +1 lines, by the log store/,
  );
});

t.test('test waits for the result of its own line', async (t) => {
  const id = '019a0000-0000-7000-8000-000000000001';
  const tested = (status: 'pending' | 'delivered' | 'failed', error?: string) => ({
    id,
    status,
    at: view.createdAt,
    ...(error !== undefined && { error }),
  });
  const results = [tested('pending'), tested('delivered')];
  const { run, routes } = await world(t, {
    [`POST ${path}/test`]: { status: 202, body: tested('pending') },
    [`GET ${path}`]: () => ({ body: { ...view, test: results.length > 1 ? results.shift() : results[0] } }),
  });
  t.match(await run(['platform', 'log-drain', 'test']), { code: 0, stdout: /delivered/ });
  t.equal(results.length, 1, 'it polled until the result was there');
  results.push(tested('failed', 'the receiver responded with 401'));
  results.shift();
  t.match(await run(['platform', 'log-drain', 'test']), { code: 1, stderr: /responded with 401\./ });
  t.match(await run(['platform', 'log-drain', 'test', '--no-wait']), { code: 0, stdout: /pending/ });
  routes[`POST ${path}/test`] = { status: 404, body: { code: 'not_found', message: 'The platform has no log drain.' } };
  t.match(await run(['platform', 'log-drain', 'test']), { stderr: /no log drain/ });
});

t.test('remove', async (t) => {
  const { run, seen } = await world(t, { [`DELETE ${path}`]: { status: 204 } });
  t.match(await run(['platform', 'log-drain', 'remove', '--yes']), { code: 0, stderr: /removed/ });
  t.match(seen, [{ method: 'DELETE' }]);
});
