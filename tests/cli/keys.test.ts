import { stripVTControlCharacters } from 'node:util';
import t from 'tap';
import { createdAt, id, sequence, world, type Reply } from './world.ts';

const keys = '/api/v1/projects/shop/api-keys';
const plans = '/api/v1/projects/shop/plans';
const unused = { allowed: 0, rateDenied: 0, quotaDenied: 0 };
const key = {
  id,
  handle: 'k3x9q2ab',
  name: 'Ä',
  environment: 'prod',
  plan: 'small',
  enabled: true,
  usage: unused,
  createdAt,
  createdBy: 'a@b.c',
};
const full = `svc_k3x9q2ab_${'s'.repeat(46)}`;

/** The answer of `GET /gate/changes/7` when this number of replicas has applied the change. */
function gate(applied: boolean[], change: object = {}): Reply {
  return {
    body: {
      version: 7,
      at: createdAt,
      total: applied.length,
      applied: applied.filter(Boolean).length,
      replicas: applied.map((has, index) => ({
        name: `svc-authz-${index}`,
        applied: has,
        live: true,
        seenAt: createdAt,
        ...(has && { appliedAt: createdAt, afterMs: 100 + 300 * index }),
        ...change,
      })),
    },
  };
}

t.test('key create prints only the key; -o json the whole record; it is shown once', async (t) => {
  const { run, seen, routes } = await world(t, {
    [`POST ${keys}`]: { status: 201, body: { ...key, key: full, change: { version: 7 } } },
    'GET /api/v1/gate/changes/7': gate([true]),
  });
  const create = ['key', 'create', '--plan', 'small', '--name', 'Ä', '--app', 'api', '--app', 'web'];
  const created = await run([...create, '--expires', '2027-01-31', '--allow', '10.0.0.0/8']);
  t.equal(created.stdout, `${full}\n`);
  t.match(created.stderr, /store the key k3x9q2ab now.*\napplied on 1 of 1 replica/, 'the gate takes it from here on');
  t.notMatch(created.stderr, 'sss');
  t.same(seen[0]?.body, {
    plan: 'small',
    name: 'Ä',
    apps: ['api', 'web'],
    allowedCidrs: ['10.0.0.0/8'],
    expiresAt: '2027-01-31T23:59:59.999Z',
  });
  await run([...create, '--expires', '30d', '--no-wait']);
  t.match(seen.at(-1)?.body, { expiresAt: '2026-12-21T12:00:00.000Z' });
  await run([...create, '--expires', '2027-01-31T10:00:00+02:00', '--no-wait']);
  t.match(seen.at(-1)?.body, { expiresAt: '2027-01-31T10:00:00+02:00' });
  t.match(await run([...create, '--expires', 'tomorrow']), { code: 2, stderr: /--expires takes a date/ });
  t.match(JSON.parse((await run([...create, '-o', 'json'])).stdout), { handle: 'k3x9q2ab', key: full });
  t.equal((await run([...create, '-o', 'name'])).stdout, 'k3x9q2ab\n');
  routes[`POST ${keys}`] = { status: 422, body: { code: 'invalid_value', message: 'In the past.' } };
  t.match(await run(create), { code: 2, stdout: /^$/, stderr: 'error: In the past. (invalid_value)\n' });
});

t.test('lists warn of an expiry in words, and in colour on a terminal', async (t) => {
  const expiringKey = { handle: 'soonsoon', expiresAt: '2026-11-24T23:59:59.999Z', expiryWarning: 'soon' };
  const items = [
    key,
    { ...key, ...expiringKey },
    { ...key, ...expiringKey, handle: 'disabled', enabled: false, expiresAt: '2026-11-21T13:30:00.000Z' },
    {
      ...key,
      handle: 'expired1',
      apps: ['api', 'web'],
      expiresAt: '2026-11-20T23:59:59.999Z',
      expiryWarning: 'expired',
      usage: { allowed: 12, rateDenied: 3, quotaDenied: 4, lastSeen: '2026-11-19' },
    },
  ];
  const { run } = await world(t, { [`GET ${keys}`]: { body: { items } } });
  const { stdout } = await run(['key', 'list']);
  t.equal(
    stdout,
    `KEY        NAME   PLAN    APPS       STATUS                        EXPIRES                    ALLOWED   DENIED   LAST SEEN    CREATED
k3x9q2ab   Ä      small   all        enabled                       -                          0         0        -            1 hour ago
soonsoon   Ä      small   all        enabled, expires in 3 days    2026-11-24T23:59:59.999Z   0         0        -            1 hour ago
disabled   Ä      small   all        disabled, expires in 1 hour   2026-11-21T13:30:00.000Z   0         0        -            1 hour ago
expired1   Ä      small   api, web   expired                       2026-11-20T23:59:59.999Z   12        7        2026-11-19   1 hour ago
`,
  );
  t.notMatch(stdout, '\u001B');
  const coloured = (await run(['key', 'list'], { terminal: true })).stdout;
  t.match(coloured, '\u001B[33menabled, expires in 3 days\u001B[39m ');
  t.match(coloured, '\u001B[31mexpired\u001B[39m ');
  t.equal(stripVTControlCharacters(coloured), stdout, 'columns stay aligned');
  for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
    t.equal((await run(['key', 'list'], { terminal: true, env })).stdout, stdout);
  }
  t.same(JSON.parse((await run(['key', 'list', '-o', 'json'], { terminal: true })).stdout), items);
  t.equal((await run(['key', 'list', '-o', 'name'])).stdout, 'k3x9q2ab\nsoonsoon\ndisabled\nexpired1\n');
});

t.test('key show', async (t) => {
  const record = { ...key, allowedCidrs: ['10.0.0.0/8', '::1/128'], replacedBy: 'next1234' };
  const usage = { allowed: 12, rateDenied: 3, quotaDenied: 4, lastSeen: '2026-11-19' };
  const { run } = await world(t, { [`GET ${keys}/k3x9q2ab`]: { body: { ...record, usage } } });
  const { stdout } = await run(['key', 'show', 'k3x9q2ab']);
  t.match(stdout, /^Addresses: +10\.0\.0\.0\/8, ::1\/128$/m);
  t.match(stdout, /^Replaced by: +next1234$/m);
  t.match(stdout, /^Last 90 days: +12 allowed, 3 over the rate, 4 over the quota$/m);
  t.match(stdout, /^Last seen: +2026-11-19$/m);
  t.same(JSON.parse((await run(['key', 'show', 'k3x9q2ab', '-o', 'json'])).stdout), { ...record, usage });
});

t.test('a change is followed to the replicas of the gate', async (t) => {
  const { run, seen, routes } = await world(t, {
    [`PATCH ${keys}/k3x9q2ab`]: { body: { ...key, enabled: false, change: { version: 7 } } },
    [`GET ${keys}/k3x9q2ab`]: { body: key },
    [`DELETE ${keys}/k3x9q2ab`]: { body: { id, handle: 'k3x9q2ab', change: { version: 7 } } },
    'GET /api/v1/gate/changes/7': gate([true, true]),
  });
  t.match(await run(['key', 'disable', 'k3x9q2ab']), {
    code: 0,
    stdout: /Status: +disabled/,
    stderr: 'disabled on 2 of 2 replicas after 0.4 s\n',
  });
  t.match(seen, [
    { method: 'PATCH', body: { enabled: false } },
    { method: 'GET', path: '/api/v1/gate/changes/7', query: { wait: '10' } },
  ]);
  const noWaitRun = await run(['key', 'enable', 'k3x9q2ab', '--no-wait']);
  t.same([noWaitRun.code, noWaitRun.stderr], [0, '']);
  t.match(seen.at(-1), { method: 'PATCH', body: { enabled: true } });

  t.equal((await run(['key', 'revoke', 'k3x9q2ab'])).code, 2);
  t.notOk(seen.some(({ method }) => method === 'DELETE'));
  const revoke = ['key', 'revoke', 'k3x9q2ab', '--yes'];
  t.same(await run(revoke), {
    code: 0,
    stdout: '',
    stderr: 'key k3x9q2ab is revoked\nrevoked on 2 of 2 replicas after 0.4 s\n',
  });
  t.equal((await run([...revoke, '-o', 'name'])).stdout, 'k3x9q2ab\n');

  routes['GET /api/v1/gate/changes/7'] = gate([true, false]);
  const part = await run(revoke);
  t.equal(part.code, 0);
  t.match(part.stderr, /revoked on 1 of 2 replicas; not yet on svc-authz-1, which denies all requests after 90 s/);
  routes['GET /api/v1/gate/changes/7'] = gate([true], { appliedAt: undefined, afterMs: undefined });
  t.match((await run(revoke)).stderr, /revoked on 1 of 1 replica\n$/);
  routes['GET /api/v1/gate/changes/7'] = gate([]);
  t.match((await run(revoke)).stderr, /no replica of the gate is running/);
  routes['GET /api/v1/gate/changes/7'] = { status: 500, body: { code: 'internal', message: 'Sorry.' } };
  t.match(await run(revoke), { code: 0, stderr: /within 90 seconds; its progress is unknown: Sorry/ });
  routes[`PATCH ${keys}/k3x9q2ab`] = { body: key };
  t.match(await run(['key', 'enable', 'k3x9q2ab']), { code: 0, stderr: 'nothing changed\n' });
});

t.test('key rotate prints only the new key, and says when the old one expires', async (t) => {
  const rotated = { ...key, handle: 'next1234', key: full, change: { version: 7 } };
  const replaces = { handle: 'k3x9q2ab', expiresAt: '2026-11-22T12:00:00.000Z' };
  const { run, seen } = await world(t, {
    [`POST ${keys}/k3x9q2ab/rotate`]: { status: 201, body: { ...rotated, replaces } },
    'GET /api/v1/gate/changes/7': gate([true]),
  });
  const rotate = ['key', 'rotate', 'k3x9q2ab'];
  const ran = await run(rotate);
  t.equal(ran.stdout, `${full}\n`);
  t.match(
    ran.stderr,
    /next1234 now, it is not shown again.*k3x9q2ab expires at 2026-11-22T12:00:00\.000Z\napplied on 1 of 1 replica/,
  );
  t.notMatch(ran.stderr, 'sss');
  t.same(seen[0]?.body, {});
  await run([...rotate, '--grace', '0', '--expires', '2027-01-31', '--no-wait']);
  t.same(seen.at(-1)?.body, { graceSeconds: 0, expiresAt: '2027-01-31T23:59:59.999Z' });
  await run([...rotate, '--grace', '7d', '--no-wait']);
  t.same(seen.at(-1)?.body, { graceSeconds: 604_800 });
  t.match(await run([...rotate, '--grace', 'soon']), { code: 2, stderr: /--grace takes a duration/ });
  t.match(JSON.parse((await run([...rotate, '-o', 'json'])).stdout), { key: full, replaces });
});

t.test('key update sends the named fields, and null for a removed one', async (t) => {
  const { run, seen } = await world(t, {
    [`PATCH ${keys}/k3x9q2ab`]: { body: { ...key, change: { version: 7 } } },
    'GET /api/v1/gate/changes/7': gate([true]),
  });
  const update = ['key', 'update', 'k3x9q2ab'];
  const set = ['--plan', 'large', '--name', 'B', '--app', 'api', '--allow', '::1', '--expires', '2027-01-31'];
  t.match(await run([...update, ...set]), { code: 0, stderr: /applied on 1 of 1 replica/ });
  t.same(seen[0]?.body, {
    plan: 'large',
    name: 'B',
    apps: ['api'],
    allowedCidrs: ['::1'],
    expiresAt: '2027-01-31T23:59:59.999Z',
  });
  await run([...update, '--name', '', '--all-apps', '--allow-all', '--expires', 'never', '--no-wait']);
  t.same(seen.at(-1)?.body, { name: null, apps: null, allowedCidrs: null, expiresAt: null });
  const count = seen.length;
  t.match(await run(update), { code: 2, stderr: /Nothing to change/ });
  t.equal((await run([...update, '--all-apps', '--app', 'api'])).code, 2);
  t.equal((await run([...update, '--allow-all', '--allow', '::1'])).code, 2);
  t.equal(seen.length, count);
});

t.test('key usage', async (t) => {
  const days = [
    { day: '2026-11-19', allowed: 1000, rateDenied: 2, quotaDenied: 3 },
    { day: '2026-11-21', allowed: 1, rateDenied: 0, quotaDenied: 0 },
  ];
  const totals = { allowed: 1001, rateDenied: 2, quotaDenied: 3 };
  const usage = { from: '2026-08-22', to: '2026-11-21', totals, days };
  const { run, seen } = await world(t, { [`GET ${keys}/k3x9q2ab/usage`]: { body: usage } });
  const ran = await run(['key', 'usage', 'k3x9q2ab', '--from', '2026-01-01', '--to', '2026-11-21', '-e', 'prod']);
  t.same(seen[0]?.query, { environment: 'prod', from: '2026-01-01', to: '2026-11-21' });
  t.equal(
    ran.stdout,
    `DAY          ALLOWED   OVER RATE   OVER QUOTA
2026-11-19   1000      2           3
2026-11-21   1         0           0
total        1001      2           3
`,
  );
  t.equal(ran.stderr, 'from 2026-08-22 to 2026-11-21; older usage is not stored\n');
  const plain = await run(['key', 'usage', 'k3x9q2ab', '-o', 'json']);
  t.same(JSON.parse(plain.stdout), usage);
  t.equal(plain.stderr, 'from 2026-08-22 to 2026-11-21\n');
  t.same(seen.at(-1)?.query, {});
});

t.test('plans', async (t) => {
  const plan = { id, name: 'small', environment: 'prod', requestsPerSecond: 2.5, burst: 3, keys: 4, createdAt };
  const quota = { limit: 10_000, period: 'day' };
  const { run, seen } = await world(t, {
    [`POST ${plans}`]: { status: 201, body: { ...plan, quota, change: { version: 6 } } },
    [`GET ${plans}`]: { body: { items: [plan, { ...plan, quota }] } },
    [`GET ${plans}/small`]: { body: plan },
    [`PATCH ${plans}/small`]: sequence({ body: { ...plan, change: { version: 7 } } }, { body: plan }),
    [`GET ${plans}/a%20plan`]: { body: { ...plan, name: 'a plan' } },
    [`DELETE ${plans}/a%20plan`]: { body: { id, name: 'a plan', change: { version: 8 } } },
    'GET /api/v1/gate/changes/7': gate([true]),
  });
  const create = ['plan', 'create', 'small', '--rate', '2.5', '--burst', '3', '--quota', '10000/day'];
  t.match(await run(create), { code: 0, stdout: /small +2\.5 +3 +10000\/day +4/ });
  t.same(seen[0]?.body, { name: 'small', requestsPerSecond: 2.5, burst: 3, quota });
  for (const wrong of ['10000', '10/year', '-1/day', '1.5/day', '/day']) {
    const ran = await run([...create.slice(0, -1), wrong]);
    t.match(ran, { code: 2, stderr: /--quota takes/ }, wrong);
  }
  t.match((await run(['plan', 'list', '-o', 'yaml'])).stdout, /^- id: .*\n +name: small\n/);
  t.match((await run(['plan', 'list'])).stdout, /small +2\.5 +3 +- +4/);
  t.same(JSON.parse((await run(['plan', 'show', 'small', '-o', 'json'])).stdout), plan);

  const updated = await run(['plan', 'update', 'small', '--rate', '5', '--quota', 'none']);
  t.match(updated, { code: 0, stderr: 'applied on 1 of 1 replica after 0.1 s\n' });
  t.same(seen.find(({ method }) => method === 'PATCH')?.body, { requestsPerSecond: 5, quota: null });
  t.match(await run(['plan', 'update', 'small', '--burst', '3', '--name', 'small']), { stderr: 'nothing changed\n' });
  t.match(await run(['plan', 'update', 'small']), { code: 2, stderr: /Nothing to change/ });

  const removed = await run(['plan', 'delete', 'a plan', '--yes', '-o', 'name']);
  t.match(removed, { code: 0, stdout: 'a plan\n', stderr: 'plan a plan is deleted\n' });
  t.equal(seen.at(-1)?.path, `${plans}/a%20plan`);
});
