import t from 'tap';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Project } from '../../../runtime/contracts/resources/project.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { managedLabels, workloadFinalizer } from '../../../runtime/domain/labels.ts';
import { createEventRecorder } from '../../../runtime/kube/events.ts';
import { deleteEnvironmentRecords } from '../../../runtime/records/environments.ts';
import { readControllerReport, writeControllerReport } from '../../../runtime/records/controller-reports.ts';
import { platformConfigController } from '../../../workers/controllers/platform-config.ts';
import { projectController } from '../../../workers/controllers/project.ts';
import { createReporter } from '../../../workers/controllers/reporter.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { platformConfigObject } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';

const signal = new AbortController().signal;

function setUp() {
  const kube = fakeKube();
  const clock = fakeClock();
  const deleted: string[] = [];
  const controller = projectController({
    kube,
    clock,
    events: createEventRecorder({ kube, component: 'svc-controllers', clock, log: silentLog }),
    records: { deleteEnvironment: async (id) => void deleted.push(id) },
  });
  const read = () => kube.get<Project>(kinds.Project, 'shop');
  const pass = async () => {
    const outcome = await controller.reconcile({ name: 'shop', object: await read(), signal, log: silentLog });
    return { outcome, project: await read() };
  };
  const create = (...environments: string[]) =>
    kube.create<Project>({
      apiVersion: 'platform.svc/v1',
      kind: 'Project',
      metadata: { name: 'shop' },
      spec: { environments: environments.map((name) => ({ name, id: newId() })) },
    });
  const remove = () => kube.delete({ apiVersion: 'platform.svc/v1', kind: 'Project', name: 'shop' });
  const namespaces = () =>
    kube
      .all(kinds.Namespace)
      .map(({ metadata }) => metadata.name)
      .sort();
  return { kube, deleted, pass, create, remove, namespaces, read };
}

t.test('every environment gets a namespace of its own', async (t) => {
  const { create, pass, kube, namespaces } = setUp();
  const { spec } = await create('prod', 'test');
  const { outcome, project } = await pass();
  t.notOk(outcome);
  t.same(namespaces(), ['shop-prod', 'shop-test']);
  t.match(kube.all(kinds.Namespace)[0]?.metadata.labels, {
    'app.kubernetes.io/managed-by': 'kipper',
    'platform.svc/project': 'shop',
    'platform.svc/environment': 'prod',
    'platform.svc/environment-id': spec.environments[0]?.id,
    'platform.svc/id': project?.metadata.labels?.['platform.svc/id'],
    'pod-security.kubernetes.io/enforce': 'baseline',
    'pod-security.kubernetes.io/warn': 'restricted',
  });
  t.match(project?.metadata, { finalizers: [workloadFinalizer], labels: { 'platform.svc/id': /^[0-9a-f-]{36}$/ } });
  t.match(project?.status, {
    phase: 'ready',
    environments: [
      { name: 'prod', namespace: 'shop-prod', ready: true },
      { name: 'test', namespace: 'shop-test', ready: true },
    ],
    conditions: [{ type: 'ChildrenAdopted', status: 'True' }],
  });
  const before = kube.calls.length;
  await pass();
  t.ok(
    kube.calls.slice(before).every(({ verb }) => verb === 'get'),
    'a pass over nothing new writes nothing',
  );
});

t.test('a namespace that exists is not taken over, whatever labels it has', async (t) => {
  const { create, pass, kube } = setUp();
  const foreign: KubeObject['metadata'][] = [
    { name: 'shop-prod' },
    { name: 'shop-prod', labels: { 'app.kubernetes.io/managed-by': 'kipper', 'platform.svc/environment-id': newId() } },
  ];
  await create('prod', 'test');
  for (const metadata of foreign) {
    kube.seed({ apiVersion: 'v1', kind: 'Namespace', metadata });
    const before = await kube.get(kinds.Namespace, 'shop-prod');
    const { project, outcome } = await pass();
    t.match(project?.status, {
      phase: 'failed',
      environments: [
        { name: 'prod', ready: false, message: /"shop-prod" exists already and is not taken over/ },
        { name: 'test', ready: true },
      ],
      conditions: [{ type: 'ChildrenAdopted', status: 'False', reason: 'ChildReconcileFailed' }],
    });
    t.match(outcome, { requeueAfterMs: 15_000 });
    t.same(await kube.get(kinds.Namespace, 'shop-prod'), before);
    await kube.delete({ apiVersion: 'v1', kind: 'Namespace', name: 'shop-prod' });
  }
  t.match(kube.all(kinds.Event), [{ reason: 'ReconcileFailed', message: /shop-prod/ }]);
  t.equal((await pass()).project?.status?.phase, 'ready', 'and once it is gone the environment comes');
});

t.test('a name that belongs to others is refused without a look', async (t) => {
  const { kube, pass, namespaces } = setUp();
  await kube.create({
    apiVersion: 'platform.svc/v1',
    kind: 'Project',
    metadata: { name: 'shop' },
    spec: { environments: [{ name: 'a-b', id: newId() }] },
  });
  t.match((await pass()).project?.status, {
    phase: 'failed',
    environments: [{ ready: false, message: /not a usable/ }],
  });
  t.same(namespaces(), []);
});

t.test('a deleted project takes its own namespaces with it, waits for them, then removes its records', async (t) => {
  const { create, pass, remove, kube, namespaces, deleted, read } = setUp();
  const { spec } = await create('prod', 'test');
  kube.seed({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop-test' } });
  kube.seed({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'else', labels: { 'platform.svc/project': 'shop' } },
  });
  // Of a former project of this name, or labelled by hand: everything but the project's id.
  const labels = { ...managedLabels(), 'platform.svc/project': 'shop', 'platform.svc/environment-id': newId() };
  kube.seed({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'former', labels: { ...labels, 'platform.svc/id': newId() } },
  });
  await pass();
  const prod = await kube.get(kinds.Namespace, 'shop-prod');
  if (prod) await kube.replace({ ...prod, metadata: { ...prod.metadata, finalizers: ['kubernetes'] } });
  await remove();
  t.match(await pass(), { outcome: { requeueAfterMs: 15_000 }, project: { status: { phase: 'deleting' } } });
  t.same(namespaces(), ['else', 'former', 'shop-prod', 'shop-test'], 'what is in it is still going');
  t.ok(await read());
  const going = await kube.get(kinds.Namespace, 'shop-prod');
  t.ok(going?.metadata.deletionTimestamp);
  if (going) await kube.replace({ ...going, metadata: { ...going.metadata, finalizers: [] } });
  await pass();
  t.equal(await read(), undefined);
  t.same(namespaces(), ['else', 'former', 'shop-test'], 'what was not ours stays');
  t.same([...new Set(deleted)].sort(), spec.environments.map(({ id }) => id).sort());
});

t.test('an environment that is gone takes its plans and keys, and no others', async (t) => {
  const { pool } = await testDatabase(t);
  const [gone, kept] = [newId(), newId()];
  for (const environment of [gone, kept]) {
    const plan = newId();
    await pool.query(
      `INSERT INTO plans (id, environment_id, name, requests_per_second, burst) VALUES ($1, $2, 'p', 1, 1)`,
      [plan, environment],
    );
    await pool.query(
      `INSERT INTO api_keys (id, environment_id, handle, digest, plan_id, created_by)
       VALUES ($1, $2, $3, decode(repeat('00', 32), 'hex'), $4, 'x')`,
      [newId(), environment, environment.slice(-8), plan],
    );
  }
  await deleteEnvironmentRecords(pool, gone);
  await deleteEnvironmentRecords(pool, gone);
  const left = await pool.query('SELECT environment_id AS id FROM plans UNION ALL SELECT environment_id FROM api_keys');
  t.same(left.rows, [{ id: kept }, { id: kept }]);
});

t.test('bad settings change nothing but the condition; other ones tell everybody', async (t) => {
  const kube = fakeKube();
  let changes = 0;
  const { definition, current } = platformConfigController({
    kube,
    clock: fakeClock(),
    onChange: () => (changes += 1),
  });
  const pass = async (name = 'platform') => {
    const object = await kube.get<KubeObject>(kinds.PlatformConfig, name);
    await definition.reconcile({ name, object: object as never, signal, log: silentLog });
    return (await kube.get<KubeObject>(kinds.PlatformConfig, name))?.status;
  };
  const set = (spec: object) =>
    kube.mergePatch({ apiVersion: 'platform.svc/v1', kind: 'PlatformConfig', name: 'platform' }, { spec });
  await pass();
  t.equal(current(), undefined);
  kube.seed(platformConfigObject, { ...platformConfigObject, metadata: { name: 'other' } });
  t.match(await pass(), { conditions: [{ type: 'Accepted', status: 'True' }] });
  t.match(current(), { appsDomain: 'apps.test', entryPoints: ['web'] });
  t.match(await pass('other'), { conditions: [{ status: 'False', reason: 'WrongName' }] });
  await pass();
  t.equal(changes, 1);
  for (const [spec, message] of [
    [{ appsDomain: 'Not A Domain' }, /host name/],
    [{ appsDomain: 'apps.test', scheme: 'gopher' }, /spec.scheme/],
    [{ scheme: 'http', cluster: 'x'.repeat(80) }, /label/],
  ] as const) {
    await set(spec);
    t.match(await pass(), { conditions: [{ status: 'False', reason: 'InvalidSpec', message }] });
  }
  t.match(current(), { appsDomain: 'apps.test', cluster: 'c1' });
  t.equal(changes, 1);
  await set({ cluster: 'c2' });
  await pass();
  t.match([changes, current()], [2, { cluster: 'c2' }]);
});

t.test('the leader reports every five seconds; nobody else does', async (t) => {
  const { pool } = await testDatabase(t);
  t.equal(await readControllerReport(pool), undefined);
  const clock = fakeClock();
  const report = { healthy: true, managerStarted: true, cacheSynced: true, controllers: [] };
  let leading = false;
  let writes = 0;
  let fails = false;
  const reporter = createReporter({
    manager: { isLeader: () => leading, report: () => report },
    write: async () => {
      writes += 1;
      if (fails) throw new Error('the database is away');
    },
    clock,
    log: silentLog,
  });
  reporter.start();
  await clock.advance(20_000);
  t.equal(writes, 0);
  leading = true;
  fails = true;
  await clock.advance(10_500);
  t.equal(writes, 3, 'also while the database is away');
  await reporter.stop();
  t.equal(clock.sleepers(), 0);

  await writeControllerReport(pool, { ...report, healthy: false });
  await writeControllerReport(pool, report);
  t.match(await readControllerReport(pool), { report, ageSeconds: Number });
});
