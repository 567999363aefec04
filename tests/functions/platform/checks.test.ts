import t from 'tap';
import { createChecks } from '../../../functions/platform/checks.ts';
import { createPlatformRoutes } from '../../../functions/platform/handler.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { writeControllerReport } from '../../../runtime/records/controller-reports.ts';
import { recordDrainFailure, setLogDrain } from '../../../runtime/records/log-drain.ts';
import { registerReplica, reportReplica } from '../../../runtime/records/gate-replicas.ts';
import { testApi, testSession } from '../../support/api.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { platformConfigObject } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';

const health = { healthy: true, managerStarted: true, cacheSynced: true, controllers: [] };
const nodes = [{ name: 'n1', ready: true, addresses: ['10.0.0.1'] }];
const process = (name: string, replicas: number, ready = replicas) => ({ name, replicas, ready });
const processes = [
  process('svc-workers', 1),
  process('svc-authz', 2),
  process('svc-interceptor', 2, 1),
  process('svc-redis', 0),
];

t.test('the checks tell the state of each part', async (t) => {
  const { pool } = await testDatabase(t);
  const { components, nodes: readNodes } = createChecks({ pool, controllersWork: () => Promise.resolve(true) });
  const check = (name: string) => components[name]?.(true);
  const unknown = { status: 'unhealthy', message: 'unknown: the controllers do not report' };
  t.same(await check('workers'), unknown, 'before the first report');
  t.same(await readNodes(), []);

  await writeControllerReport(pool, { ...health, processes, nodes });
  t.same(await check('api'), { status: 'on' }, 'it answers, whatever the controllers know');
  t.same(await check('database'), { status: 'on' });
  t.same(await check('controllers'), { status: 'on' });
  t.same(await check('workers'), { status: 'on', message: '1 of 1 ready' });
  t.same(await check('interceptors'), { status: 'unhealthy', message: '1 of 2 ready' });
  t.same(await check('redis'), { status: 'unhealthy', message: 'scaled to 0 replicas' });
  t.same(await readNodes(), nodes);

  for (const [replicas, ready, status, counted] of [
    [2, 2, 'on', 2],
    [2, 1, 'unhealthy', 1],
    [1, 0, 'on', 1],
  ] as const) {
    await writeControllerReport(pool, { ...health, processes: [process('console-api', replicas, ready)], nodes });
    t.same(await check('api'), { status, message: `${counted} of ${replicas} ready` }, 'the one that answers is ready');
  }

  await writeControllerReport(pool, { ...health, processes: [], nodes });
  t.same(await check('workers'), { status: 'unhealthy', message: 'not installed' });
  await writeControllerReport(pool, health);
  t.same(await check('workers'), unknown, 'the report of a version that did not know it');
  await writeControllerReport(pool, { ...health, processes, nodes });
  await pool.query(`UPDATE controller_reports SET reported_at = now() - interval '16 seconds'`);
  t.same(await check('workers'), unknown, 'an old report proves nothing');
});

t.test('checkers are healthy only with current keys', async (t) => {
  const { pool } = await testDatabase(t);
  await writeControllerReport(pool, { ...health, processes, nodes });
  const { components } = createChecks({ pool, controllersWork: () => Promise.resolve(true) });
  const { rows } = await pool.query<{ feed_id: string }>('SELECT feed_id FROM feed_head');
  const replicas = [newId(), newId()];
  for (const replica of replicas) {
    await registerReplica(pool, replica, 'svc-authz-x');
    await reportReplica(pool, replica, { feedId: rows[0]?.feed_id ?? '', version: 1, sharesRates: true });
  }
  t.same(await components['checkers']?.(true), { status: 'on', message: '2 of 2 ready, 2 with current keys' });
  await pool.query(`UPDATE gate_replicas SET seen_at = now() - interval '20 seconds' WHERE incarnation = $1`, [
    replicas[0],
  ]);
  t.same(await components['checkers']?.(true), { status: 'unhealthy', message: '2 of 2 ready, 1 with current keys' });
});

t.test('queues are unhealthy when work waits for more than five minutes', async (t) => {
  const { pool } = await testDatabase(t);
  const { components } = createChecks({ pool, controllersWork: () => Promise.resolve(true) });
  t.same(await components['queues']?.(true), { status: 'on', message: '0 pending' });
  const insert = (seconds: number) =>
    pool.query(
      `INSERT INTO work (id, kind, record_id, due_at) VALUES ($1, 'builds', $2, now() - $3 * interval '1 second')`,
      [newId(), newId(), seconds],
    );
  await insert(-60);
  t.match(await components['queues']?.(true), { status: 'on', message: '1 pending' });
  await insert(310);
  t.match(await components['queues']?.(true), { status: 'unhealthy', message: /^2 pending, builds waits for 31\d s$/ });
});

t.test('only platform admins see the nodes', async (t) => {
  const kube = fakeKube();
  kube.seed(platformConfigObject);
  const routes = createPlatformRoutes({ version: '1', kube, components: {}, nodes: () => Promise.resolve(nodes) });
  const read = async (role: 'admin' | 'member') => {
    const api = await testApi(t, { routes, authenticate: () => Promise.resolve({ ...testSession, role }) });
    return (await api.call('GET', '/api/v1/platform/status')).body.nodes as unknown;
  };
  t.same(await read('admin'), nodes);
  t.equal(await read('member'), undefined);
});

t.test('only platform admins see why the log drain fails, which can name hosts of the network', async (t) => {
  const { pool } = await testDatabase(t);
  await setLogDrain(pool, {
    url: 'https://loki.internal.test/',
    format: 'loki',
    networks: [],
    headerNames: [],
    headers: null,
  });
  await recordDrainFailure(pool, 'connect ECONNREFUSED 10.20.7.5:3100', 9);
  const kube = fakeKube();
  kube.seed(platformConfigObject);
  const { components } = createChecks({ pool, controllersWork: () => Promise.resolve(true) });
  const drain = { 'log-drain': components['log-drain'] ?? (() => Promise.resolve(undefined)) };
  const routes = createPlatformRoutes({ version: '1', kube, components: drain, nodes: () => Promise.resolve(nodes) });
  const read = async (role: 'admin' | 'member') => {
    const api = await testApi(t, { routes, authenticate: () => Promise.resolve({ ...testSession, role }) });
    return (await api.call('GET', '/api/v1/platform/status')).text;
  };
  t.match(await read('admin'), /9 lines pending; connect ECONNREFUSED 10\.20\.7\.5:3100/);
  const text = await read('member');
  t.match(text, /9 lines pending; platform admins see the reason with `svc platform log-drain show`/);
  t.notMatch(text, /10\.20|internal/);
});
