import { join } from 'node:path';
import t from 'tap';
import { functionLimits } from '../../runtime/contracts/resources/function.ts';
import { createdAt, id, now, sequence, world } from './world.ts';

const functions = '/api/v1/projects/shop/functions';
const path = `${functions}/intake`;
const query = 'SELECT * FROM orders WHERE NOT done ORDER BY id';
const markDone = 'UPDATE orders SET done = true WHERE id = {{id}}';
const intake = {
  id,
  name: 'intake',
  project: 'shop',
  environment: 'prod',
  runtime: 'node',
  trigger: 'postgres',
  status: 'idle',
  replicas: 0,
  readyReplicas: 0,
  idleTimeoutSeconds: 300,
  ...functionLimits({}),
  env: {},
  volumes: [],
  createdAt,
  events: { type: 'postgres', source: 'orders', query, markDone, concurrency: 1 },
  bindings: [{ service: 'orders', status: 'ready' }],
};

t.test('create sends the data source; a trigger that does not exist is refused, naming the flags', async (t) => {
  const { run, seen } = await world(t, { [`POST ${functions}`]: { status: 201, body: intake } });
  const file = join(t.testdir({ 'intake.js': 'code' }), 'intake.js');
  const create = ['function', 'create', 'intake', '--no-wait', '--code-file', file];
  const common = { name: 'intake', runtime: 'node', code: 'code' };
  for (const [flags, sent] of [
    [
      ['--trigger', 'postgres', '--source', 'orders', '--query', query, '--mark-done', markDone, '--database', 'shop'],
      { trigger: 'postgres', events: { type: 'postgres', source: 'orders', database: 'shop', query, markDone } },
    ],
    [
      ['--trigger', 'redis', '--trigger', 'http', '--source', 'cache', '--list', 'jobs', '--hostname', 'a.test'],
      { trigger: 'http', hostname: 'a.test', events: { type: 'redis', source: 'cache', list: 'jobs' } },
    ],
    [
      ['--trigger', 'minio', '--source', 'files', '--bucket', 'up', '--event-concurrency', '4', '--port', '9000'],
      { trigger: 'minio', port: 9000, events: { type: 'minio', source: 'files', bucket: 'up', concurrency: 4 } },
    ],
  ] as const) {
    const ran = await run([...create, ...flags]);
    t.equal(ran.code, 0, ran.stderr);
    t.same(seen.at(-1)?.body, { ...common, ...sent });
  }
  const sent = seen.length;
  const postgres = ['--trigger', 'postgres', '--source', 'orders'];
  for (const [flags, message] of [
    [['--trigger', 'postgres', '--trigger', 'redis'], /one event source: --trigger postgres or --trigger redis/],
    [['--trigger', 'cron', '--trigger', 'redis', '--schedule', '* * * * *'], /--trigger cron cannot be combined/],
    [['--trigger', 'cron', '--trigger', 'http', '--schedule', '* * * * *'], /--trigger cron cannot be combined/],
    [['--trigger', 'postgres', '--query', query], /needs --source <service>/],
    [postgres, /--trigger postgres needs --query/],
    [['--trigger', 'redis', '--source', 'cache'], /--trigger redis needs --list/],
    [['--trigger', 'minio', '--source', 'files'], /--trigger minio needs --bucket/],
    [[...postgres, '--query', query, '--mark-done', 'DELETE FROM orders'], /--mark-done has no \{\{id\}\}/],
    [[...postgres, '--query', query, '--list', 'a'], /--list goes with --trigger redis/],
    [[...postgres, '--query', query, '--concurrency', '2'], /--concurrency requires --trigger http/],
    [['--query', query], /--query requires --trigger postgres or mysql/],
    [['--source', 'orders'], /--source requires --trigger postgres or mysql or redis or minio/],
    [['--trigger', 'kafka'], /--trigger must be one of http, cron, postgres, mysql, redis, minio/],
  ] as const) {
    t.match(await run([...create, ...flags]), { code: 2, stderr: message }, flags.join(' '));
  }
  t.equal(seen.length, sent, 'nothing is sent');
});

t.test('create and update follow the creation of credentials, and print why it fails', async (t) => {
  const binding = { service: 'orders', type: 'postgres', status: 'pending', prefix: 'DB_', variables: [] };
  const steps = [
    { ...binding, message: 'The service is starting.' },
    { ...binding, status: 'ready' },
  ];
  const { run, routes } = await world(t, {
    [`POST ${functions}`]: { status: 201, body: { ...intake, status: 'pending' } },
    [`PATCH ${path}`]: { body: intake },
    [`GET ${path}`]: sequence(
      { body: { ...intake, bindings: [{ service: 'orders', status: 'pending' }] } },
      { body: intake },
    ),
    [`GET ${path}/bindings/orders`]: sequence(...steps.map((body) => ({ body }))),
  });
  const file = join(t.testdir({ 'intake.js': 'code' }), 'intake.js');
  const flags = ['--code-file', file, '--trigger', 'postgres', '--source', 'orders', '--query', query];
  const creation = await run(['function', 'create', 'intake', ...flags]);
  t.match(creation, { code: 0, stdout: /Status: +idle/, stderr: /orders: The service is starting\./ });
  routes[`GET ${path}/bindings/orders`] = { body: { ...binding, status: 'failed', message: 'the server refuses' } };
  // The function waits for its environment, which never ends here.
  const failed = { ...intake, status: 'pending', bindings: [{ service: 'orders', status: 'failed' }] };
  routes[`GET ${path}`] = { body: failed };
  const refused = { code: 1, stderr: /The binding to "orders" failed: the server refuses/ };
  t.match(await run(['function', 'update', 'intake', '--query', query]), refused);
});

t.test('update sends only the given fields', async (t) => {
  const { run, seen } = await world(t, { [`PATCH ${path}`]: { body: intake } });
  for (const [flags, sent] of [
    [['--query', 'SELECT 1 AS id'], { events: { query: 'SELECT 1 AS id' } }],
    [['--without-mark-done'], { events: { markDone: null } }],
    [['--trigger', 'http'], { trigger: 'http' }],
    [['--trigger', 'http', '--trigger', 'postgres'], { trigger: 'http', events: { type: 'postgres' } }],
  ] as const) {
    const ran = await run(['function', 'update', 'intake', '--no-wait', ...flags]);
    t.equal(ran.code, 0, ran.stderr);
    t.same(seen.at(-1)?.body, sent);
  }
  const both = ['--mark-done', markDone, '--without-mark-done'];
  t.match(await run(['function', 'update', 'intake', ...both]), { code: 2, stderr: /either|cannot set and remove/ });
});

t.test('an update or a deletion that would lose events requires a flag', async (t) => {
  const { run, seen } = await world(t, {
    [`PATCH ${path}`]: { body: intake },
    [`GET ${path}`]: { body: intake },
    [`DELETE ${path}`]: { status: 202, body: intake },
  });
  const update = ['function', 'update', 'intake', '--no-wait', '--trigger', 'http'];
  t.match(await run(update), { code: 0 });
  t.same(seen.at(-1)?.query, {});
  t.match(await run([...update, '--discard-events']), { code: 0 });
  t.same(seen.at(-1), { ...seen.at(-1), query: { discardEvents: 'true' }, body: { trigger: 'http' } });
  const remove = ['function', 'delete', 'intake', '--no-wait', '--project', 'shop'];
  t.match(await run([...remove, '--yes']), { code: 0 });
  t.same(seen.at(-1)?.query, {});
  const question = /Delete function intake in shop\/prod, with all undelivered events\?/;
  t.match(await run([...remove, '--discard-events'], { typed: ['y\n'] }), { code: 0, stderr: question });
  t.same(seen.at(-1)?.query, { discardEvents: 'true' });
});

t.test('show and list print the event source and its progress', async (t) => {
  const counts = { waiting: 1000, delivering: 2, marking: 3, dead: 4 };
  const error = 'relation "orders" does not exist';
  const events = { ...intake.events, counts, more: true, readAt: createdAt, error };
  const { run } = await world(t, {
    [`GET ${path}`]: { body: { ...intake, trigger: 'http', events } },
    [`GET ${functions}`]: { body: { items: [intake] } },
  });
  t.match(
    (await run(['function', 'show', 'intake'])).stdout,
    new RegExp(
      [
        'Trigger: +http, postgres\nSource: +orders\nQuery: +SELECT .* id\nMark done: +UPDATE .*\n',
        'Events: +1000 .more in the source. waiting, 2 being delivered, 3 to be marked as done\n',
        'Dead letters: +4; see svc function dead-letters list intake\nLast read: +.*\nSource error: +relation',
      ].join(''),
    ),
  );
  t.match((await run(['function', 'list'])).stdout, /EVENTS.*\n.*postgres orders/);
});

const later = new Date(now.getTime() + 90_000).toISOString();
const event = { id: '17', event: 'order-1', state: 'waiting', foundAt: createdAt, dueAt: later, failures: 2 };

t.test('events: the undelivered ones, a page at a time', async (t) => {
  const items = [
    { ...event, lastError: 'The function answered 500.' },
    { ...event, id: '18', state: 'delivering' },
  ];
  const error = 'Nothing more is read.';
  const { run, seen } = await world(t, {
    [`GET ${path}/events`]: { body: { items, nextCursor: '18' } },
    [`GET ${path}`]: { body: { ...intake, events: { ...intake.events, error } } },
  });
  const ran = await run(['function', 'events', 'intake', '--limit', '2', '--cursor', '16']);
  t.match(seen[0], { query: { limit: '2', cursor: '16' } });
  t.match(ran.stdout, /17 +order-1 +waiting +1 hour ago +2 +in 1 minute +The function answered 500\.\n18 .* - +-\n/);
  t.match(ran.stderr, /--cursor 18\nthe data source orders: Nothing more is read\.\n/);
});

t.test('dead letters: listed, redriven, purged after a confirmation', async (t) => {
  const { state: _, dueAt: __, ...rest } = event;
  const letter = { ...rest, deadAt: createdAt, lastError: 'The function answered 422.', payload: '{"id":1}' };
  const { run, seen } = await world(t, {
    [`GET ${path}/dead-letters`]: { body: { items: [letter] } },
    [`POST ${path}/dead-letters/redrive`]: { body: { count: 1 } },
    [`POST ${path}/dead-letters/purge`]: { body: { count: 3 } },
  });
  t.match((await run(['function', 'dead-letters', 'list', 'intake'])).stdout, /17 +order-1 +1 hour ago +2 +The fun/);
  const redrive = ['function', 'dead-letters', 'redrive', 'intake'];
  t.match(await run([...redrive, '--id', '17', '--id', '18']), {
    code: 0,
    stderr: /1 dead letter queued for delivery; 1 of the IDs/,
  });
  t.same(seen.at(-1)?.body, { ids: ['17', '18'] });
  const none = await world(t, { [`POST ${path}/dead-letters/redrive`]: { body: { count: 0 } } });
  t.match(await none.run([...redrive, '--id', '17']), { code: 1, stderr: /not dead letters.*\(not_found\)/ });
  t.match(await none.run([...redrive, '--all']), { code: 0, stderr: '0 dead letters queued for delivery\n' });
  const sent = seen.length;
  for (const flags of [[], ['--all', '--id', '17'], ['--id', 'order-1']]) {
    t.match(await run([...redrive, ...flags]), { code: 2, stderr: /--id/ });
  }
  const purge = ['function', 'dead-letters', 'purge', 'intake', '--all'];
  t.match(await run(purge, { typed: ['n\n'] }), { code: 1, stderr: /Delete all dead letters of intake\?/ });
  t.equal(seen.length, sent);
  t.match(await run([...purge, '--yes']), { code: 0, stderr: '3 dead letters deleted\n' });
  t.same(seen.at(-1)?.body, { all: true });
});

t.test('bind says how a new password affects running pods, and restarts them with a flag', async (t) => {
  const binding = { service: 'orders', status: 'pending', variables: ['DB_HOST'] };
  const { events: _, ...hello } = intake;
  const { run, seen } = await world(t, {
    [`PUT ${path}/bindings/orders`]: { status: 202, body: { ...binding, statusUrl: 'http://x/y', renewed: true } },
    [`GET ${path}/bindings/orders`]: sequence({ body: binding }, { body: { ...binding, status: 'ready' } }),
    [`POST ${path}/restart`]: { body: { ...hello, pendingRestart: true } },
    [`GET ${path}`]: { body: { ...hello, pendingRestart: false } },
  });
  const bind = ['function', 'bind', 'intake', 'orders'];
  t.match(await run(bind), { code: 0, stderr: /old password is invalid.*\n.*svc function restart intake/ });
  t.notMatch(seen.at(-1), { method: 'POST' });
  t.match(await run([...bind, '--restart']), { code: 0, stdout: /^Function: +intake/ });
  t.ok(seen.some(({ method, path: at }) => method === 'POST' && at === `${path}/restart`));
  const first = await world(t, {
    [`PUT ${path}/bindings/orders`]: { status: 202, body: { ...binding, statusUrl: 'http://x/y', renewed: false } },
    [`GET ${path}`]: { body: { ...hello, pendingRestart: false } },
  });
  t.notMatch((await first.run([...bind, '--no-wait'])).stderr, /password/, 'a first binding replaces no password');
  t.match(await run([...bind, '--restart', '--no-wait']), { code: 2, stderr: /--no-wait/ });
});
