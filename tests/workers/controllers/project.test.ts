import type { QueryResult } from 'pg';
import t from 'tap';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import { kinds, type ResourceKind } from '../../../runtime/contracts/resources/kinds.ts';
import type { Project } from '../../../runtime/contracts/resources/project.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { managedLabels, workloadFinalizer } from '../../../runtime/domain/labels.ts';
import { createEventRecorder } from '../../../runtime/kube/events.ts';
import type { KubeCache } from '../../../runtime/kube/kube-client.ts';
import { closeEnvironmentRecords, deleteEnvironmentRecords } from '../../../runtime/records/environments.ts';
import { readControllerReport, writeControllerReport } from '../../../runtime/records/controller-reports.ts';
import { projectController } from '../../../workers/controllers/project.ts';
import { createReporter } from '../../../workers/controllers/reporter.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { testDatabase } from '../../support/postgres.ts';

const signal = new AbortController().signal;

/** @param options.cache whether the controller has copies, which are always current here */
function setUp({ cache = false } = {}) {
  const kube = fakeKube();
  const copies: KubeCache = {
    get: <T extends KubeObject>(kind: ResourceKind, name: string, namespace?: string) =>
      kube.all<T>(kind).find(({ metadata }) => metadata.name === name && metadata.namespace === namespace),
    list: () => undefined,
  };
  const clock = fakeClock();
  const closed: string[] = [];
  const deleted: string[] = [];
  const forgotten: string[] = [];
  const queries: string[][] = [];
  const world = { ingressAddress: 'http://traefik.kube-system.svc:80' as string | undefined, usersLeft: false };
  const controller = projectController({
    kube: cache ? { ...kube, cache: copies } : kube,
    clock,
    platformConfig: () => (world.ingressAddress === undefined ? {} : { ingressAddress: world.ingressAddress }),
    events: createEventRecorder({ kube, component: 'svc-controllers', clock, log: silentLog }),
    records: {
      hasBoundUsers: async (namespace, services) => {
        queries.push([namespace, ...services]);
        return world.usersLeft;
      },
      closeEnvironment: async (id) => void closed.push(id),
      deleteEnvironment: async (id) => void deleted.push(id),
      deleteProject: async (id) => void forgotten.push(id),
    },
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
  return { kube, world, queries, closed, deleted, forgotten, pass, create, remove, namespaces, read };
}

t.test('every environment grants the rights of the processes in its namespace', async (t) => {
  const { create, pass, kube } = setUp();
  await create('prod', 'test');
  await pass();
  const bindings = () => kube.all<KubeObject>(kinds.RoleBinding);
  const names = ['svc-console-api', 'svc-controllers', 'svc-interceptor', 'svc-workers'];
  for (const namespace of ['shop-prod', 'shop-test']) {
    const own = bindings().filter(({ metadata }) => metadata.namespace === namespace);
    t.same(own.map(({ metadata }) => metadata.name).sort(), names);
  }
  const { apiVersion, kind } = kinds.RoleBinding;
  await kube.delete({ apiVersion, kind, namespace: 'shop-prod', name: 'svc-workers' });
  await pass();
  t.equal(bindings().length, 2 * names.length, 'and restores them');
});

t.test('every environment gets its own namespace', async (t) => {
  const { create, pass, kube, namespaces } = setUp();
  const { spec } = await create('prod', 'test');
  const { outcome, project } = await pass();
  t.same(outcome, {});
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
    kube.calls.slice(before).every(({ verb }) => verb === 'get' || verb === 'list'),
    'a pass without changes writes nothing',
  );
});

t.test('a copy of its namespaces and their content is not read again, but written over', async (t) => {
  const { create, pass, kube } = setUp({ cache: true });
  await create('prod', 'test');
  await pass();
  const callsOfPass = async () => {
    const before = kube.calls.length;
    await pass();
    return kube.calls.slice(before).map(({ verb, kind, name }) => `${verb} ${kind} ${name ?? ''}`.trim());
  };
  const unchanged = ['get Project shop', 'list EndpointSlice', 'get Project shop'];
  t.same(await callsOfPass(), unchanged);
  const ref = { apiVersion: 'v1', kind: 'Namespace', name: 'shop-test' };
  await kube.mergePatch(ref, { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'privileged' } } });
  t.same(
    (await callsOfPass()).filter((call) => call.includes('Namespace')),
    ['replace Namespace shop-test'],
  );
  t.same(await callsOfPass(), unchanged);
});

t.test('an existing namespace is not taken over, whatever its labels', async (t) => {
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
        { name: 'prod', ready: false, message: /"shop-prod" already exists and does not belong to this environment/ },
        { name: 'test', ready: true },
      ],
      conditions: [{ type: 'ChildrenAdopted', status: 'False', reason: 'ChildReconcileFailed' }],
    });
    t.match(outcome, { requeueAfterMs: 15_000, blockers: [{ ref: { kind: 'Namespace', name: 'shop-prod' } }] });
    t.same(await kube.get(kinds.Namespace, 'shop-prod'), before);
    await kube.delete({ apiVersion: 'v1', kind: 'Namespace', name: 'shop-prod' });
  }
  t.match(kube.all(kinds.Event), [{ reason: 'ReconcileFailed', message: /shop-prod/ }]);
  t.equal((await pass()).project?.status?.phase, 'ready', 'once it is deleted the environment is created');
});

t.test('a reserved name is refused without a look at the cluster', async (t) => {
  const { kube, pass, namespaces } = setUp();
  await kube.create({
    apiVersion: 'platform.svc/v1',
    kind: 'Project',
    metadata: { name: 'shop' },
    spec: { environments: [{ name: 'a-b', id: newId() }] },
  });
  t.match((await pass()).project?.status, {
    phase: 'failed',
    environments: [{ ready: false, message: /not a valid environment name/ }],
  });
  t.same(namespaces(), []);
});

t.test('deleting a project deletes its own namespaces, waits for them, then deletes its records', async (t) => {
  const { create, pass, remove, kube, namespaces, closed, deleted, forgotten, read } = setUp();
  const { spec } = await create('prod', 'test');
  kube.seed({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop-test' } });
  kube.seed({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'else', labels: { 'platform.svc/project': 'shop' } },
  });
  // From an earlier project of this name, or labelled manually: all labels match except the project's id.
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
  t.same(namespaces(), ['else', 'former', 'shop-prod', 'shop-test'], 'its content is being deleted');
  t.ok(await read());
  const terminating = await kube.get(kinds.Namespace, 'shop-prod');
  t.ok(terminating?.metadata.deletionTimestamp);
  if (terminating) await kube.replace({ ...terminating, metadata: { ...terminating.metadata, finalizers: [] } });
  const ids = spec.environments.map(({ id }) => id).sort();
  t.same([...new Set(closed)].sort(), ids, 'its keys are invalid from the start');
  t.same([deleted, forgotten], [[], []]);
  await pass();
  t.equal(await read(), undefined);
  t.same(namespaces(), ['else', 'former', 'shop-test'], 'foreign namespaces stay');
  t.same([...new Set(deleted)].sort(), ids);
  t.match(forgotten, [/^[0-9a-f-]{36}$/]);
});

t.test('an environment has its own limits and a policy for its network traffic', async (t) => {
  const { create, pass, kube, world } = setUp();
  kube.seed({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'kubernetes', namespace: 'default', labels: { 'kubernetes.io/service-name': 'kubernetes' } },
    endpoints: [{ addresses: ['203.0.113.7'] }],
  } as KubeObject);
  const { metadata, spec } = await create('prod');
  await pass();
  const [quota] = kube.all<KubeObject>(kinds.ResourceQuota);
  t.match(quota, {
    metadata: { name: 'svc-environment', namespace: 'shop-prod', ownerReferences: [{ kind: 'Project', name: 'shop' }] },
    spec: { hard: { pods: '200', 'limits.memory': '32Gi', 'services.loadbalancers': '0', 'services.nodeports': '0' } },
  });
  t.match(kube.all(kinds.LimitRange)[0]?.spec, { limits: [{ type: 'Container', default: { memory: '512Mi' } }] });
  const policy = () => JSON.stringify(kube.all(kinds.NetworkPolicy)[1]?.spec);
  t.match(policy(), '203.0.113.7/32');
  t.match(policy(), '"kubernetes.io/metadata.name":"kube-system"');
  t.notMatch(policy(), 'DoesNotExist');

  world.ingressAddress = undefined;
  const live = await kube.get<Project>(kinds.Project, 'shop');
  const [environment] = spec.environments;
  if (!live || !environment) throw new Error('no project');
  const limits = { cpu: '0.5', memory: '1024Mi', pods: 7, containerMemory: '1Gi' };
  await kube.replace<Project>({ ...live, spec: { environments: [{ ...environment, limits }] } });
  await pass();
  t.match(kube.all(kinds.ResourceQuota)[0]?.spec, {
    hard: { pods: '7', 'requests.cpu': '500m', 'limits.memory': '1Gi', 'requests.storage': '200Gi' },
  });
  t.match(kube.all(kinds.LimitRange)[0]?.spec, { limits: [{ default: { memory: '1Gi' } }] });
  t.match(policy(), 'DoesNotExist');

  if (quota) await kube.delete({ ...quota, name: 'svc-environment', namespace: 'shop-prod' });
  kube.seed({ ...quota, metadata: { name: 'svc-environment', namespace: 'shop-prod' } } as KubeObject);
  const { project } = await pass();
  t.match(project?.status, {
    phase: 'failed',
    environments: [{ ready: false, message: /ResourceQuota "svc-environment" in shop-prod was not created/ }],
  });
  t.equal(project?.metadata.uid, metadata.uid);
});

t.test('a removed environment is deleted with its content, and its entry last', async (t) => {
  const { create, pass, kube, namespaces, closed, deleted } = setUp();
  const { spec } = await create('prod', 'test');
  await pass();
  kube.seed({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'held', namespace: 'shop-test', finalizers: ['example.test/hold'] },
  });
  const live = await kube.get<Project>(kinds.Project, 'shop');
  const [prod, test] = spec.environments;
  if (!live || !prod || !test) throw new Error('no project');
  await kube.replace<Project>({ ...live, spec: { environments: [prod, { ...test, deleting: true }] } });
  const terminating = await pass();
  t.match(terminating, {
    outcome: { requeueAfterMs: 15_000 },
    project: {
      status: { phase: 'creating', environments: [{ ready: true }, { ready: false, message: /is being deleted/ }] },
    },
  });
  t.same([closed, deleted], [[test.id], []], 'its keys are invalid at once; its history is deleted with its namespace');
  const held = await kube.get(kinds.ConfigMap, 'held', 'shop-test');
  if (held) await kube.replace({ ...held, metadata: { ...held.metadata, finalizers: [] } });
  t.same(namespaces(), ['shop-prod']);
  await pass();
  t.same(deleted, [test.id]);
  const { project } = await pass();
  t.same(project?.spec.environments, [prod]);
  t.match(project?.status, { phase: 'ready', environments: [{ name: 'prod', ready: true }] });
});

t.test('functions leave their external services before their environment or project is deleted', async (t) => {
  for (const deletesProject of [false, true]) {
    const { create, remove, pass, read, kube, world, queries, namespaces } = setUp();
    await create('prod');
    await pass();
    const labels = kube.all(kinds.Namespace)[0]?.metadata.labels ?? {};
    const add = (kind: string, name: string, spec: object, finalizers?: string[]) =>
      kube.seed({
        apiVersion: 'platform.svc/v1',
        kind,
        spec,
        metadata: { name, namespace: 'shop-prod', labels, ...(finalizers && { finalizers }) },
      });
    add('Service', 'own', { type: 'postgres' });
    add('Service', 'legacy', { type: 'postgres', external: { host: 'db.example.com' } });
    add('Function', 'bound', { bindings: [{ service: 'legacy', version: 1 }] }, [workloadFinalizer]);
    for (const kind of ['App', 'Job']) add(kind, 'bound-too', { bindings: [{ service: 'legacy', version: 1 }] });
    add('Function', 'inside', { bindings: [{ service: 'own', version: 1 }] });
    const terminating = () =>
      kube
        .all(kinds.Function)
        .filter(({ metadata }) => metadata.deletionTimestamp !== undefined || metadata.name === 'inside');
    if (deletesProject) await remove();
    else {
      const project = await read();
      if (!project) throw new Error('no project');
      const environments = project.spec.environments.map((each) => ({ ...each, deleting: true }));
      await kube.replace<Project>({ ...project, spec: { ...project.spec, environments } });
    }
    t.match(await pass(), { outcome: { requeueAfterMs: 2_000 } });
    t.same(
      terminating().map(({ metadata }) => metadata.name),
      ['bound', 'inside'],
      'an environment that leaves no users behind stays until then',
    );
    t.same([...kube.all(kinds.App), ...kube.all(kinds.Job)], [], 'workloads of every kind are deleted for it');
    const [bound] = kube.all(kinds.Function);
    if (bound) await kube.replace({ ...bound, metadata: { ...bound.metadata, finalizers: [] } });
    world.usersLeft = true;
    t.match(await pass(), { outcome: { requeueAfterMs: 2_000 } });
    t.same(queries.at(-1), ['shop-prod', 'legacy']);
    t.same(namespaces(), ['shop-prod'], 'the credentials exist as long as the users do');
    world.usersLeft = false;
    await pass();
    t.same(namespaces(), []);
  }
});

t.test('a deleted environment loses its plans, keys and history, and no other does', async (t) => {
  const { pool } = await testDatabase(t);
  const [gone, kept] = [newId(), newId()];
  for (const environment of [gone, kept]) {
    const workload = newId();
    const deployment = newId();
    await pool.query(
      `INSERT INTO workloads (id, kind, environment_id, project, environment, namespace, name)
       VALUES ($1, 'App', $2, 'shop', 'prod', $3, 'api')`,
      [workload, environment, environment],
    );
    await pool.query(
      `INSERT INTO deployments (id, workload_id, revision, trigger, state, image)
       VALUES ($1, $2, 1, 'manual', 'accepted', 'x')`,
      [deployment, workload],
    );
    await pool.query(`INSERT INTO work (id, kind, record_id) VALUES ($1, 'rollout', $2)`, [newId(), deployment]);
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
  await closeEnvironmentRecords(pool, gone);
  const open = await pool.query('SELECT environment_id AS id FROM api_keys');
  t.same(open.rows, [{ id: kept }]);
  t.equal((await pool.query('SELECT FROM deployments')).rowCount, 2, 'closing it keeps the history');
  await deleteEnvironmentRecords(pool, gone);
  await deleteEnvironmentRecords(pool, gone);
  const remaining = await pool.query(
    'SELECT environment_id AS id FROM plans UNION ALL SELECT environment_id FROM api_keys',
  );
  t.same(remaining.rows, [{ id: kept }, { id: kept }]);
  for (const table of ['workloads', 'deployments', 'work']) {
    t.equal((await pool.query(`SELECT FROM ${table}`)).rowCount, 1, table);
  }
});

t.test('an environment with many records is deleted in slices, after all its keys are disabled', async (t) => {
  const { pool } = await testDatabase(t);
  const [environment, workload, plan] = [newId(), newId(), newId()];
  await pool.query(
    `INSERT INTO workloads (id, kind, environment_id, project, environment, namespace, name)
     VALUES ($1, 'App', $2, 'shop', 'prod', 'shop-prod', 'api')`,
    [workload, environment],
  );
  await pool.query(
    `INSERT INTO deployments (id, workload_id, revision, trigger, state, image)
     SELECT gen_random_uuid(), $1, number, 'manual', 'accepted', 'x' FROM generate_series(1, 5001) AS number`,
    [workload],
  );
  await pool.query(
    `INSERT INTO webhook_deliveries (id, workload_id, sender, verdict, status, deployment_id, body, body_bytes)
     SELECT gen_random_uuid(), workload_id, 'github', 'accepted', 202, id, '{}', 2 FROM deployments`,
  );
  await pool.query(
    `INSERT INTO plans (id, environment_id, name, requests_per_second, burst) VALUES ($1, $2, 'p', 1, 1)`,
    [plan, environment],
  );
  await pool.query(
    `INSERT INTO api_keys (id, environment_id, handle, digest, plan_id, created_by)
     SELECT gen_random_uuid(), $1, number, decode(repeat('00', 32), 'hex'), $2, 'x' FROM generate_series(1, 101) AS number`,
    [environment, plan],
  );
  const changed: number[] = [];
  let enabledAtDeletion: number | undefined;
  const query = pool.query.bind(pool) as (text: string, values?: unknown[]) => Promise<QueryResult>;
  pool.query = (async (text: string, values: unknown[]) => {
    if (text.startsWith('DELETE FROM api_keys')) {
      enabledAtDeletion ??= (await query('SELECT FROM api_keys WHERE enabled')).rowCount ?? 0;
    }
    const result = await query(text, values);
    if (result.command !== 'SELECT') changed.push(result.rowCount ?? 0);
    return result;
  }) as typeof pool.query;
  await deleteEnvironmentRecords(pool, environment);
  t.equal(enabledAtDeletion, 0);
  t.equal(Math.max(...changed), 5_000);
  for (const table of ['api_keys', 'plans', 'webhook_deliveries', 'deployments', 'workloads']) {
    t.equal((await query(`SELECT FROM ${table}`)).rowCount, 0, table);
  }
});

t.test('only the leader reports, every five seconds', async (t) => {
  const { pool } = await testDatabase(t);
  t.equal(await readControllerReport(pool), undefined);
  const clock = fakeClock();
  const report = { healthy: true, managerStarted: true, cacheSynced: true, controllers: [] };
  const state = { processes: [{ name: 'svc-authz', replicas: 2, ready: 2 }], nodes: [] };
  let leading = false;
  let writes = 0;
  let fails = false;
  const reporter = createReporter({
    manager: { isLeader: () => leading, report: () => report },
    state: () => state,
    write: async (written) => {
      t.same(written, { ...report, ...state });
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
  t.equal(writes, 3, 'also while the database is down');
  await reporter.stop();
  t.equal(clock.sleepers(), 0);

  await writeControllerReport(pool, { ...report, healthy: false });
  await writeControllerReport(pool, report);
  t.match(await readControllerReport(pool), { report, ageSeconds: Number });
});
