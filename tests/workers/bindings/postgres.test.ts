import pg from 'pg';
import t, { type Test } from 'tap';
import { credentialsName, type ServiceResource } from '../../../runtime/contracts/resources/service.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { BoundCredentials } from '../../../runtime/workloads/bindings.ts';
import { hasBoundUsers } from '../../../runtime/records/bindings.ts';
import { freePort } from '../../support/servers.ts';
import { storeServer } from '../../support/store-server.ts';
import { bindingWorld, runningAt } from './binding-world.ts';

const server = await storeServer(t, 'postgres');
const entry = { username: 'svc', password: server.password, database: 'svc' };
const orders = { service: 'orders', version: 1 };

type Way = Pick<BoundCredentials, 'username' | 'password' | 'database'>;

/** Runs one statement with these credentials. */
async function as({ username = '', password = '', database = '' }: Way, text: string): Promise<unknown[]> {
  const { host, port } = server;
  const client = new pg.Client({ host, port, user: username, password, database });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const answers = [await client.query<Record<string, unknown>>(text)].flat();
    return answers.at(-1)?.rows ?? [];
  } finally {
    await client.end();
  }
}
const admin = (text: string, database = 'svc') => as({ ...entry, database }, text);

async function boundWorld(t: Test) {
  const world = await bindingWorld(t);
  await world.addService('orders', { type: 'postgres' }, { status: runningAt(server), credentials: entry });
  t.teardown(async () => {
    const result = await admin(
      `SELECT datname FROM pg_database WHERE datname NOT IN ('svc', 'postgres') AND datallowconn`,
    );
    for (const { datname } of result as { datname: string }[]) {
      if (datname !== 'template1') await admin(`DROP DATABASE "${datname}" WITH (FORCE)`);
    }
  });
  return { ...world, api: await world.addFunction('api') };
}

t.test('a binding creates a database and a user that can access only that database', async (t) => {
  const { api, work, addFunction } = await boundWorld(t);
  await api.bind(orders);
  await work();
  t.same(await api.status('orders'), { ...orders, phase: 'ready', database: 'orders_api_prod' });
  const own = await api.credentials('orders');
  t.match(own, { type: 'postgres', host: server.host, port: server.port, database: 'orders_api_prod' });
  await as(own, `CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1); CREATE SCHEMA s`);
  t.same(await as(own, `SELECT tableowner FROM pg_tables WHERE tablename = 't'`), [
    { tableowner: 'orders_api_prod_owner' },
  ]);
  const other = await addFunction('other');
  await other.bind(orders);
  await work();
  const otherCredentials = await other.credentials('orders');
  t.not(otherCredentials.username, own.username);
  for (const database of [own.database ?? '', 'svc', 'postgres', 'template1']) {
    await t.rejects(as({ ...otherCredentials, database }, 'SELECT 1'), { code: '42501' }, database);
  }
  for (const text of ['CREATE DATABASE x', 'CREATE ROLE x', 'SELECT * FROM pg_authid', `ALTER ROLE svc PASSWORD 'x'`]) {
    await t.rejects(as(own, text), { code: '42501' }, text);
  }
  await t.rejects(as({ ...own, password: 'wrong' }, 'SELECT 1'), { code: '28P01' });
});

t.test('a service and a function may have names that the server reserves', async (t) => {
  const { addService, addFunction, work } = await boundWorld(t);
  await addService('pg', { type: 'postgres' }, { status: runningAt(server), credentials: entry });
  const pgFunction = await addFunction('pg');
  await pgFunction.bind({ ...orders, service: 'pg' });
  await work();
  t.match(await pgFunction.status('pg'), { phase: 'ready', database: 'pg_pg_prod' });
  await as(await pgFunction.credentials('pg'), 'CREATE TABLE t (id int)');
  await pgFunction.bind({ ...orders, service: 'pg', dropDatabase: true });
  await work();
  t.same(await admin(`SELECT rolname FROM pg_roles WHERE rolname LIKE '%pg_pg%'`), []);
});

t.test('binding again creates a new password; a repeated attempt changes nothing', async (t) => {
  const { api, work, workLater } = await boundWorld(t);
  await api.bind(orders);
  await work();
  const first = await api.credentials('orders');
  await api.apply();
  await as(first, 'CREATE TABLE kept (id int)');
  await admin(`ALTER ROLE "${first.username}" PASSWORD 'undone by hand'`);
  await workLater();
  t.same(await api.credentials('orders'), first);
  t.equal((await api.status('orders'))?.applied, true, 'what the controller says stays');
  t.same(await as(first, 'SELECT * FROM kept'), [], 'a manual change is reverted');
  await api.bind({ ...orders, version: 2 });
  await work();
  const second = await api.credentials('orders');
  t.not(second.password, first.password);
  await t.rejects(as(first, 'SELECT 1'), { code: '28P01' });
  t.same(await as(second, 'SELECT * FROM kept'), []);
  t.same(await api.status('orders'), { ...orders, version: 2, phase: 'ready', database: 'orders_api_prod' });
});

t.test('unbinding removes the user and keeps the data for the next binding', async (t) => {
  const { api, pool, work, workLater } = await boundWorld(t);
  await api.bind(orders);
  await work();
  const first = await api.credentials('orders');
  // Objects created without the owner's role are kept too.
  await as(first, `CREATE TABLE kept (id int); RESET ROLE; SET ROLE "${first.username}"; CREATE SCHEMA odd`).catch(
    () => undefined,
  );
  await as(first, 'INSERT INTO kept VALUES (7)');
  await api.bind();
  await work();
  t.same(await admin(`SELECT rolname FROM pg_roles WHERE rolname = '${first.username}'`), []);
  await workLater();
  t.same((await pool.query('SELECT * FROM bindings')).rows, []);
  t.match(await admin('SELECT * FROM kept', 'orders_api_prod'), [{ id: 7 }]);
  await api.bind({ ...orders, version: 2 });
  await work();
  t.same(await as(await api.credentials('orders'), 'SELECT * FROM kept'), [{ id: 7 }]);
  await api.bind({ ...orders, version: 2, dropDatabase: true });
  await work();
  t.same(await admin(`SELECT 1 FROM pg_database WHERE datname = 'orders_api_prod'`), []);
  t.same(await admin(`SELECT 1 FROM pg_roles WHERE rolname IN ('orders_api_prod_owner', '${first.username}')`), []);
  t.equal((await api.object()).spec.bindings, undefined, 'the binding is removed from the spec');
  t.same((await pool.query('SELECT * FROM service_databases')).rows, []);
});

t.test('another function’s database is refused while that function exists', async (t) => {
  const { api, addFunction, work, workLater } = await boundWorld(t);
  await api.bind(orders);
  await work();
  await as(await api.credentials('orders'), 'CREATE TABLE kept (id int)');
  const other = await addFunction('other');
  await other.bind({ ...orders, database: 'orders_api_prod' });
  const [outcome] = await work();
  t.match(await other.status('orders'), { phase: 'failed', message: /belongs to the function "api".*--database/ });
  t.match(outcome, { again: Date });
  const { username } = await api.credentials('orders');
  await api.remove();
  await work();
  t.same(await admin(`SELECT 1 FROM pg_roles WHERE rolname = '${username}'`), [], 'its user is deleted with it');
  const second = await addFunction('api');
  await second.bind(orders);
  await work();
  t.match(await second.status('orders'), {
    phase: 'failed',
    message: /deleted app or function.* bind with --database orders_api_prod/,
  });
  await second.bind({ ...orders, version: 2, database: 'orders_api_prod' });
  await work();
  t.same(await as(await second.credentials('orders'), 'SELECT * FROM kept'), []);
  await workLater();
  t.match(await other.status('orders'), { phase: 'failed', message: /the function "api"/ });
});

t.test('an app is bound as a function is, and neither gets the other’s database', async (t) => {
  const { api, addApp, work } = await boundWorld(t);
  const web = await addApp('web');
  await api.bind(orders);
  await web.bind(orders);
  await work();
  t.match(await web.status('orders'), { phase: 'ready', database: 'orders_web_prod' });
  const [own, foreign] = [await web.credentials('orders'), await api.credentials('orders')];
  t.match(await as(own, 'SELECT current_database() AS name'), [{ name: 'orders_web_prod' }]);
  await t.rejects(as({ ...own, database: foreign.database ?? '' }, 'SELECT 1'), { code: '42501' });
  await web.bind({ ...orders, version: 2, database: 'orders_api_prod' });
  await work();
  t.match(await web.status('orders'), { phase: 'failed', message: /belongs to the function "api"/ });
  await api.bind({ ...orders, version: 2, database: 'orders_web_prod' });
  await work();
  t.match(await api.status('orders'), { phase: 'failed', message: /belongs to the app "web"/ });
  await web.remove();
  await work();
  t.same(await admin(`SELECT 1 FROM pg_roles WHERE rolname = '${own.username}'`), [], 'its user is deleted with it');
});

t.test('a job is bound as an app is; its user goes with it, and its database is kept', async (t) => {
  const { addApp, addJob, work } = await boundWorld(t);
  const [web, report] = [await addApp('web'), await addJob('report')];
  await web.bind(orders);
  await report.bind(orders);
  await work();
  t.match(await report.status('orders'), { phase: 'ready', database: 'orders_report_prod' });
  const own = await report.credentials('orders');
  await as(own, 'CREATE TABLE t (id int); INSERT INTO t VALUES (1)');
  await t.rejects(as({ ...own, database: 'orders_web_prod' }, 'SELECT 1'), { code: '42501' });
  await web.bind({ ...orders, version: 2, database: 'orders_report_prod' });
  await work();
  t.match(await web.status('orders'), { phase: 'failed', message: /belongs to the job "report"/ });
  await report.bind();
  await work();
  await t.rejects(as(own, 'SELECT 1'), { code: '28P01' });
  await report.bind({ ...orders, version: 3 });
  await work();
  t.same(await as(await report.credentials('orders'), 'SELECT id FROM t'), [{ id: 1 }]);
  await report.remove();
  await work();
  t.same(await admin(`SELECT 1 FROM pg_roles WHERE rolname = '${own.username}'`), [], 'its user is deleted with it');
  t.match(await admin('SELECT id FROM t', 'orders_report_prod'), [{ id: 1 }]);
});

t.test(
  'a database that the platform did not create is used when the binding names it, with access to its rows only',
  async (t) => {
    const { api, work } = await boundWorld(t);
    await admin('CREATE DATABASE shop');
    await admin('CREATE TABLE sales (id serial PRIMARY KEY, done bool)', 'shop');
    await admin('INSERT INTO sales (done) VALUES (false)', 'shop');
    await api.bind({ ...orders, database: 'shop' });
    await work();
    t.match(await api.status('orders'), { phase: 'ready', database: 'shop' });
    const own = await api.credentials('orders');
    await as(own, 'UPDATE sales SET done = true; INSERT INTO sales (done) VALUES (true)');
    await admin('CREATE TABLE later (id serial PRIMARY KEY, done bool)', 'shop');
    await admin('CREATE SCHEMA beside CREATE TABLE later (id serial PRIMARY KEY, done bool)', 'shop');
    for (const table of ['later', 'beside.later']) {
      t.same(await as(own, `INSERT INTO ${table} (done) VALUES (true) RETURNING id`), [{ id: 1 }], table);
    }
    await t.rejects(as(own, 'DROP TABLE sales'), { code: '42501' });
    await t.rejects(as(own, 'CREATE TABLE mine (id int)'), { code: '42501' });
    await api.bind({ ...orders, database: 'shop', version: 1, dropDatabase: true });
    await work();
    t.match(await admin('SELECT count(*)::int AS n FROM sales', 'shop'), [{ n: 2 }], 'never dropped');
    t.same(await admin(`SELECT 1 FROM pg_roles WHERE rolname = '${own.username}'`), []);
    await admin('CREATE DATABASE orders_api_prod');
    await api.bind({ ...orders, version: 2 });
    await work();
    t.match(await api.status('orders'), {
      phase: 'failed',
      message: /no binding created\. To use it, bind with --database/,
    });
  },
);

t.test('changing the database keeps the previous one, and its user can no longer connect to it', async (t) => {
  const { api, work } = await boundWorld(t);
  await api.bind(orders);
  await work();
  const first = await api.credentials('orders');
  await api.bind({ ...orders, version: 2, database: 'second' });
  await work();
  const second = await api.credentials('orders');
  t.equal(second.database, 'second');
  await as(second, 'CREATE TABLE t (id int)');
  await t.rejects(as({ ...second, database: first.database ?? '' }, 'SELECT 1'), { code: '42501' });
});

t.test(
  'an error of the service is reported and retried; a ready binding stays ready while the service is down',
  async (t) => {
    const { api, kube, work, workLater, addService } = await boundWorld(t);
    await api.bind({ service: 'nowhere', version: 1 });
    await work();
    t.match(await api.status('nowhere'), { phase: 'failed', message: /The service "nowhere" does not exist/ });
    await addService('nowhere', { type: 'postgres' }, { status: { phase: 'pending' }, credentials: entry });
    await workLater();
    t.match(await api.status('nowhere'), { phase: 'pending', message: /starting/ });

    const unreachableServer = { host: '127.0.0.1', port: 1 };
    await addService('away', { type: 'postgres' }, { status: runningAt(unreachableServer), credentials: entry });
    await api.bind({ service: 'away', version: 1 });
    const [outcome] = await work();
    t.match(await api.status('away'), { phase: 'failed', message: /is unreachable: .*ECONNREFUSED/ });
    t.match(outcome, { again: Date });
    const service = await kube.get(kinds.ServiceResource, 'away', 'shop-prod');
    if (!service) throw new Error('no service');
    await kube.replaceStatus({ ...service, status: runningAt(server) });
    await workLater();
    t.match(await api.status('away'), { phase: 'ready' });
    const before = await api.credentials('away');
    await server.stop();
    await workLater();
    t.match(await api.status('away'), { phase: 'ready' });
    await server.start();
    await workLater();
    t.same(await as(before, 'SELECT 1 AS one'), [{ one: 1 }]);
  },
);

t.test('an external service gets a new database if allowed, or the one the binding names', async (t) => {
  const { api, work, addService } = await boundWorld(t);
  await admin(`CREATE ROLE maker LOGIN CREATEDB CREATEROLE PASSWORD 'm'; CREATE ROLE guest LOGIN PASSWORD 'g'`);
  await admin('CREATE DATABASE guests OWNER guest');
  t.teardown(() => admin('DROP ROLE maker, guest').catch(() => undefined));
  const external = { type: 'postgres', external: { host: server.host, port: server.port, tls: false } } as const;
  const at = (username: string, password: string, database: string) => ({
    status: runningAt(server),
    credentials: { username, password, database },
  });
  await addService('theirs', external, at('maker', 'm', 'postgres'));
  await admin('GRANT CONNECT ON DATABASE postgres TO maker');
  await api.bind({ service: 'theirs', version: 1 });
  await work();
  t.match(await api.status('theirs'), { phase: 'ready', database: 'theirs_api_prod' });
  await as(await api.credentials('theirs'), 'CREATE TABLE t (id int)');
  await api.bind({ service: 'theirs', version: 1, dropDatabase: true });
  await work();
  t.same(await admin(`SELECT 1 FROM pg_database WHERE datname = 'theirs_api_prod'`), []);

  await addService('small', external, at('guest', 'g', 'guests'));
  await api.bind({ service: 'small', version: 1 });
  await work();
  t.match(await api.status('small'), { phase: 'failed', message: /permission denied.*--database/ });
  await api.bind({ service: 'small', version: 2, database: 'guests' });
  await work();
  t.match(await api.status('small'), { phase: 'ready', database: 'guests' });
  t.match(await api.credentials('small'), { username: 'guest', password: 'g', database: 'guests' });
  const inside = { type: 'postgres', external: { host: '10.0.0.1', tls: false } } as const;
  await addService('inside', inside, {
    ...at('a', 'b', 'c'),
    status: { phase: 'ready', host: '10.0.0.1', port: 5432 },
  });
  await api.bind({ service: 'inside', version: 1 });
  await work();
  t.match(await api.status('inside'), { phase: 'failed', message: /in a private network that workloads may not use/ });
});

t.test(
  'a deleted function’s users in an external service are tracked until they are removed or the service refused too often',
  async (t) => {
    const { kube, pool, api, work, workLater, addService, addFunction } = await boundWorld(t);
    const external = { type: 'postgres', external: { host: server.host, port: server.port, tls: false } } as const;
    const externalService = { status: runningAt(server), credentials: entry };
    await addService('theirs', external, externalService);
    await addService('lost', external, externalService);
    await api.bind({ service: 'theirs', version: 1 });
    const hasUsers = (...services: string[]) => hasBoundUsers(pool, 'shop-prod', services);
    t.equal(await hasUsers('theirs'), false, 'nothing is created yet');
    await work();
    const { username = '' } = await api.credentials('theirs');
    const users = () => admin(`SELECT 1 FROM pg_roles WHERE rolname = '${username}'`);
    t.same([await hasUsers('theirs'), await hasUsers('lost'), (await users()).length], [true, false, 1]);
    await api.remove();
    t.equal(await hasUsers('theirs', 'lost'), true);
    await work();
    t.same([await hasUsers('theirs', 'lost'), (await users()).length], [false, 0]);

    const other = await addFunction('other');
    await other.bind({ service: 'lost', version: 1 });
    await work();
    const lost = await kube.get<ServiceResource>(kinds.ServiceResource, 'lost', 'shop-prod');
    const unreachableHost = { ...server, port: await freePort() };
    if (lost) await kube.replaceStatus({ ...lost, status: runningAt(unreachableHost) });
    await other.remove();
    for (let attempt = 0; attempt < 3; attempt++) {
      t.equal(await hasUsers('lost'), true, `${attempt} refusals`);
      await workLater();
    }
    t.equal(await hasUsers('lost'), false, 'an error of the server does not block the environment permanently');
  },
);

t.test('no password appears in records, in the status or in the server’s activity', async (t) => {
  const { api, pool, kube, work } = await boundWorld(t);
  await api.bind(orders);
  await work();
  const { password = '' } = await api.credentials('orders');
  const rows = [
    ...(await pool.query('SELECT * FROM bindings')).rows,
    ...(await pool.query('SELECT * FROM work')).rows,
    ...(await admin('SELECT query FROM pg_stat_activity')),
  ];
  t.notMatch(JSON.stringify([rows, await api.object()]), password);
  t.ok(await kube.get(kinds.Secret, credentialsName('orders'), 'shop-prod'));
});
