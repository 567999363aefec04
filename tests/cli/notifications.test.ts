import t from 'tap';
import { createdAt, id, sequence, world } from './world.ts';

const path = '/api/v1/projects/shop/notifications';
const target = {
  id,
  name: 'ops',
  url: 'https://hooks.example.com/x',
  events: ['deployment.failed'],
  enabled: true,
  createdAt,
  updatedAt: createdAt,
};
const delivery = {
  id,
  webhookId: `msg_${id}`,
  type: 'deployment.failed',
  status: 'pending',
  app: 'api',
  environment: 'prod',
  revision: 3,
  createdAt,
  attempts: 0,
  history: [],
};

t.test('create sends the given fields, and prints the secret on stdout', async (t) => {
  const { run, seen } = await world(t, { [`POST ${path}`]: { status: 201, body: { ...target, secret: 'whsec_x' } } });
  const ran = await run([
    'notification',
    'create',
    'ops',
    '--url',
    target.url,
    '--event',
    'failed',
    '--event',
    'deployment.cancelled',
    '--app',
    'api',
    '--environment',
    'prod',
  ]);
  t.equal(ran.code, 0, ran.stderr);
  t.same(seen[0]?.body, {
    name: 'ops',
    url: target.url,
    events: ['deployment.failed', 'deployment.cancelled'],
    apps: ['api'],
    environments: ['prod'],
  });
  t.match(ran.stdout, /Events: +failed\n(.*\n)+Secret: +whsec_x\n/);
  t.match(ran.stderr, /not shown again/);
  t.match(await run(['notification', 'create', 'ops', '--url', target.url, '--event', 'started']), {
    code: 2,
    stderr: /--event must be one of succeeded, failed, superseded, cancelled/,
  });
  t.match(await run(['notification', 'create', 'ops']), { code: 2, stderr: /--url <address> is required/ });
});

t.test('list, show, update and delete', async (t) => {
  const { run, seen } = await world(t, {
    [`GET ${path}`]: { body: { items: [target] } },
    [`GET ${path}/ops`]: { body: { ...target, enabled: false, disabledReason: 'The receiver answered 410.' } },
    [`PATCH ${path}/ops`]: { body: target },
    [`DELETE ${path}/ops`]: { status: 204 },
  });
  t.match(await run(['notification', 'list']), {
    stdout: /NOTIFICATION +STATUS +EVENTS +APPS +ENVIRONMENTS +URL.*\nops +enabled +failed +all +all +https:/,
  });
  t.equal((await run(['notification', 'list', '-o', 'name'])).stdout, 'ops\n');
  t.match((await run(['notification', 'list', '-o', 'yaml'])).stdout, /^- id: /);
  t.match((await run(['notification', 'show', 'ops'])).stdout, /Status: +disabled\nReason: +The receiver answered 410/);
  const sent = async (...words: string[]) => {
    t.match(await run(['notification', ...words]), { code: 0 });
    return seen.at(-1)?.body;
  };
  t.same(await sent('update', 'ops', '--all-apps', '--environment', 'dev'), { apps: null, environments: ['dev'] });
  t.same(await sent('enable', 'ops'), { enabled: true });
  t.same(await sent('disable', 'ops'), { enabled: false });
  t.match(await run(['notification', 'update', 'ops']), { code: 2 });
  t.match(await run(['notification', 'delete', 'ops', '--yes']), { code: 0, stderr: /is deleted/ });
});

t.test('a test prints the receiver’s answer; an undelivered one is a failure', async (t) => {
  const accepted = { status: 202, body: { id, status: 'pending', statusUrl: 'http://x' } };
  const attempted = { ...delivery, attempts: 1, lastAttempt: { at: createdAt, durationMs: 9, status: 204 } };
  const refused = { at: createdAt, durationMs: 9, error: 'the connection was refused' };
  const { run, routes } = await world(t, {
    [`POST ${path}/ops/test`]: accepted,
    [`POST ${path}/ops/deliveries/${id}/redeliver`]: accepted,
    [`GET ${path}/ops/deliveries/${id}`]: sequence({ body: delivery }, { body: { ...attempted, status: 'delivered' } }),
  });
  t.match(await run(['notification', 'test', 'ops']), { code: 0, stdout: /Status: +delivered\n(.*\n)*Answer: +204/ });
  routes[`GET ${path}/ops/deliveries/${id}`] = sequence(
    { body: attempted },
    { body: attempted },
    { body: { ...attempted, attempts: 2, lastAttempt: refused, nextAttemptAt: '2026-11-21T12:01:05Z' } },
  );
  t.match(await run(['notification', 'redeliver', 'ops', id]), {
    code: 1,
    stderr: /not delivered: the connection was refused \(not_delivered\)\nhint: it is retried in 1 minute/,
  });
});

t.test('deliveries with the receiver’s answer, and one with its attempts', async (t) => {
  const last = { at: createdAt, durationMs: 12, status: 500, error: 'it answered 500' };
  const attempted = {
    ...delivery,
    attempts: 1,
    lastAttempt: last,
    nextAttemptAt: '2026-11-21T12:00:30Z',
    history: [last],
  };
  const { run, seen } = await world(t, {
    [`GET ${path}/ops/deliveries`]: { body: { items: [attempted] } },
    [`GET ${path}/ops/deliveries/${id}`]: { body: attempted },
  });
  const list = await run(['notification', 'deliveries', 'ops', '--limit', '5']);
  t.match(list.stdout, /api 3 \(prod\) +pending +1 +it answered 500 +in 30 seconds +1 hour ago/);
  t.match(seen[0]?.query, { limit: '5' });
  const one = await run(['notification', 'deliveries', 'ops', id]);
  t.match(one.stdout, /WHEN +TOOK +ANSWER +ERROR\n1 hour ago +12 ms +500 +it answered 500/);
});
