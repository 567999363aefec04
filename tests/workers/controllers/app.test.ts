import t from 'tap';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { promotionAnnotations } from '../../../runtime/contracts/resources/promotion.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { idLabel, managedLabels, workloadFinalizer } from '../../../runtime/domain/labels.ts';
import { listDeployments } from '../../../runtime/records/deployments.ts';
import { findWorkload } from '../../../runtime/records/workloads.ts';
import { bindingSecretName } from '../../../runtime/workloads/bindings.ts';
import { ownedSecret } from '../../../runtime/workloads/owned-secret.ts';
import type { GateAnswer } from '../../../workers/controllers/gate-probe.ts';
import { silentLog } from '../../support/log.ts';
import { environmentId } from '../../support/objects.ts';
import { namesOf, namespace, place, settings, setUp } from './app-world.ts';

t.test('a new app gets identity, claims, record and first deployment, each once', async (t) => {
  const { create, pass, pool, kube, app } = await setUp(t);
  await create();
  const annotations = { 'platform.svc/created-by': 'ann@example.com' };
  await kube.mergePatch({ ...(await app()), name: 'api', namespace }, { metadata: { annotations } });
  await pass();
  await pass();
  const { metadata, status } = await app();
  const id = metadata.labels?.[idLabel] ?? '';
  t.match(metadata, { labels: { ...managedLabels(), ...place }, finalizers: [workloadFinalizer] });
  t.match(status, {
    phase: 'pending',
    host: 'api--shop-prod.apps.test',
    url: 'http://api--shop-prod.apps.test:18080',
    gate: 'off',
    observedGeneration: 1,
    conditions: [{ type: 'ChildrenAdopted', status: 'True' }],
  });
  t.match(await findWorkload(pool, namespace, 'api'), {
    id,
    kind: 'App',
    environmentId,
    gated: false,
    project: 'shop',
  });
  t.match(await listDeployments(pool, id, { limit: 10 }), [
    { revision: 1, trigger: 'manual', state: 'accepted', image: 'registry.test/api:1', actor: 'ann@example.com' },
  ]);
  t.same(namesOf(kube.all(kinds.WorkloadName)), ['api']);
  t.same(namesOf(kube.all(kinds.HostName)), ['api--shop-prod.apps.test']);
  t.same(kube.all(kinds.Deployment), [], 'nothing runs before the rollout sets a release');
});

t.test('the first deployment of an app that a promotion created is that promotion', async (t) => {
  const { create, pass, pool, kube, app } = await setUp(t);
  const digest = `sha256:${'a'.repeat(64)}`;
  const promotion = { from: { environment: 'dev', revision: 7 }, digest, commit: 'abc', branch: 'main' };
  for (const [name, annotations] of [
    ['api', promotionAnnotations(promotion)],
    ['edited', { 'platform.svc/promotion': '{"from":' }],
  ] as const) {
    await create(name);
    await kube.mergePatch({ ...(await app(name)), name, namespace }, { metadata: { annotations } });
    await pass(name);
    await pass(name);
  }
  const historyOf = async (name: string) =>
    listDeployments(pool, (await app(name)).metadata.labels?.[idLabel] ?? '', { limit: 10 });
  const origin = { promotedFromEnvironment: 'dev', promotedFromRevision: 7 };
  t.match(await historyOf('api'), [
    { trigger: 'promotion', ...origin, image: 'registry.test/api:1', digest, commit: 'abc', branch: 'main' },
  ]);
  t.match(await historyOf('edited'), [{ trigger: 'manual', promotedFromEnvironment: null }]);
});

t.test('an app without an image waits for its first build', async (t) => {
  const { create, pass, pool, app, change, release } = await setUp(t);
  await create('api', { image: '', git: { url: 'https://git.test/api.git', branch: 'main' } });
  await pass();
  const { metadata, status } = await app();
  t.match(status, { phase: 'pending', conditions: [{ type: 'ChildrenAdopted', status: 'True' }] });
  const history = () => listDeployments(pool, metadata.labels?.[idLabel] ?? '', { limit: 10 });
  t.same(await history(), []);
  await change({ git: null });
  await pass();
  t.same(await history(), [], 'without a git source there is nothing to deploy');
  await release(1);
  t.equal((await pass()).app?.status?.phase, 'deploying');
});

t.test(
  'bindings are queued after the record, and their status is kept; a deleted app leaves its services',
  async (t) => {
    const { kube, pool, create, change, app, pass } = await setUp(t);
    await create('api', { bindings: [{ service: 'orders', version: 1 }] });
    await pass();
    const rows = async () => (await pool.query('SELECT service, spec FROM bindings')).rows as unknown[];
    t.match(await rows(), [{ service: 'orders', spec: { version: 1 } }]);
    const reported = { service: 'orders', version: 1, phase: 'ready' } as const;
    const resource = await app();
    await kube.replaceStatus({ ...resource, status: { ...resource.status, bindings: [reported] } });
    const ended = ownedSecret(resource, bindingSecretName(resource, 'orders'), {});
    await kube.create(ended);
    await pass();
    t.match((await app()).status, { phase: 'pending', bindings: [reported] }, 'the queue’s report is kept');
    await change({ bindings: null });
    await pass();
    t.equal((await app()).status?.bindings, undefined);
    t.equal(await kube.get(kinds.Secret, ended.metadata.name, namespace), undefined);
    await change({ bindings: [{ service: 'orders', version: 2 }] });
    await pass();
    await kube.delete({ ...kinds.App, namespace, name: 'api' });
    await pass();
    t.match(await rows(), [{ service: 'orders', spec: null }], 'its user is to be deleted');
  },
);

t.test('a release is available once it is the only one that serves', async (t) => {
  const { create, pass, release, observe, kube, ready } = await setUp(t);
  await create();
  await pass();
  const deploymentId = await release(1);
  const phase = async () => {
    const { app } = await pass();
    return [app?.status?.phase, app?.status?.release?.phase];
  };
  t.same(await phase(), ['deploying', 'progressing']);
  for (const kind of [kinds.Deployment, kinds.Service, kinds.IngressRoute]) {
    const [child, ...others] = kube.all(kind);
    t.equal(others.length, 0);
    t.match(child?.metadata, { name: 'api', ownerReferences: [{ kind: 'App', name: 'api' }], labels: managedLabels() });
  }
  t.same(namesOf(kube.all(kinds.Middleware)), ['svc-retry', 'svc-strip', 'svc-strip-key']);
  const notYet = [
    { ...ready, availableReplicas: 0 },
    { ...ready, updatedReplicas: 0 },
    { ...ready, replicas: 2 },
    { ...ready, observedGeneration: 0 },
    {},
  ];
  for (const status of notYet) {
    await observe(status);
    t.equal((await phase())[1], 'progressing', JSON.stringify(status));
  }
  await observe(ready);
  t.same(await phase(), ['running', 'available']);
  t.match((await pass()).app?.status, { readyReplicas: 1, replicas: 1, release: { generation: 1, deploymentId } });
  const writes = kube.calls.filter(({ verb }) => verb !== 'get' && verb !== 'list').length;
  await pass();
  t.equal(
    kube.calls.filter(({ verb }) => verb !== 'get' && verb !== 'list').length,
    writes,
    'a pass without changes writes nothing',
  );

  await observe({ ...ready, availableReplicas: 0, readyReplicas: 0 });
  t.same(
    await phase(),
    ['deploying', 'available'],
    'a release that was available has succeeded, whatever happens later',
  );
  const next = await release(2);
  await observe(ready);
  t.match((await pass()).app?.status?.release, { generation: 2, deploymentId: next, phase: 'progressing' });
});

t.test('a stuck release fails with the reason from the pods, and the previous one keeps serving', async (t) => {
  const { create, pass, release, observe, kube, ready, app } = await setUp(t);
  await create();
  await pass();
  await release(1);
  await pass();
  await observe(ready);
  await pass();
  await release(2, 'registry.test/api:missing');
  await pass();
  const id = (await app()).metadata.labels?.[idLabel] ?? '';
  const pod = (name: string, generation: string, waiting: object) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      labels: { [idLabel]: id, 'platform.svc/role': 'serve' },
      annotations: { 'platform.svc/release': generation },
    },
    spec: { containers: [] },
    status: {
      phase: 'Pending',
      containerStatuses: [{ name: 'app', ready: false, restartCount: 0, state: { waiting } }],
    },
  });
  kube.seed(
    pod('old', '1', { reason: 'CrashLoopBackOff', message: 'of the old release' }),
    pod('new', '2', { reason: 'ImagePullBackOff', message: 'manifest unknown' }),
  );
  const deadlineCondition = { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' };
  await observe({
    replicas: 2,
    updatedReplicas: 1,
    readyReplicas: 1,
    availableReplicas: 1,
    conditions: [deadlineCondition],
  });
  const { app: failed } = await pass();
  t.match(failed?.status, {
    phase: 'running',
    release: {
      generation: 2,
      phase: 'failed',
      message: 'The image cannot be pulled (ImagePullBackOff): manifest unknown',
    },
  });
  await observe({ replicas: 1, updatedReplicas: 1, conditions: [deadlineCondition] });
  t.match((await pass()).app?.status, { phase: 'failed', message: /ImagePullBackOff/ });
});

t.test('a gate is turned on in the checkers, then the route; off in reverse with a delay', async (t) => {
  const { create, pass, release, change, order, clock, kube, pool, world } = await setUp(t);
  await create();
  await pass();
  await release(1);
  await pass();
  const route = () => JSON.stringify(kube.all(kinds.IngressRoute)[0]?.spec);
  const gated = async () => (await findWorkload(pool, namespace, 'api'))?.gated;
  t.same(world.asked, [], 'an app without a gate is not probed');

  order.length = 0;
  await change({ gate: { enabled: true } });
  const on = await pass();
  t.same([on.app?.status?.gate, on.outcome], ['applying', { requeueAfterMs: 500 }]);
  t.same(order, [
    'project gated=true',
    'create Middleware svc-gate-strip',
    'create Middleware gate-<id>',
    'replace IngressRoute api',
  ]);
  t.match(route(), /"middlewares":\[{"name":"svc-gate-strip"},{"name":"gate-[^"]+"},{"name":"svc-retry"}\]/);
  t.equal(await gated(), true);
  t.same(world.asked, [], 'an answer in the same pass could come from the previous route');
  await clock.advance(500);
  const done = await pass();
  t.same([done.app?.status?.gate, done.outcome], ['gated', undefined]);
  t.match(world.asked, [{ address: 'http://traefik.test:80', hosts: ['api--shop-prod.apps.test:18080'] }]);

  order.length = 0;
  await change({ gate: { enabled: false } });
  const off = await pass();
  t.same(order, ['project gated=true', 'replace IngressRoute api']);
  t.same([off.app?.status?.gate, off.outcome], ['lifting', { requeueAfterMs: 500 }]);
  t.notMatch(route(), /gate/);
  await clock.advance(500);
  const lifted = await pass();
  t.same([lifted.app?.status?.gate, lifted.outcome], ['off', { requeueAfterMs: 15_000 }]);
  await clock.advance(10_000);
  t.match((await pass()).outcome, { requeueAfterMs: 5_000 });
  t.equal(await gated(), true, 'the checkers still know the app while the ingress may ask them');
  await clock.advance(5_000);
  order.length = 0;
  t.notOk((await pass()).outcome);
  t.same(order, ['project gated=false', 'delete Middleware gate-<id>']);
  t.equal(await gated(), false);
  t.same(namesOf(kube.all(kinds.Middleware)), ['svc-gate-strip', 'svc-retry', 'svc-strip', 'svc-strip-key']);
  t.equal((await pass()).app?.status?.gate, 'off', 'and stays off');
});

t.test('each change of the gate is reported once, as a condition and an Event', async (t) => {
  const { create, pass, release, change, clock, kube, world } = await setUp(t);
  await create();
  await pass();
  await release(1);
  await pass();
  const condition = async () => {
    const { status } = (await pass()).app ?? {};
    const gatedCondition = status?.conditions?.find(({ type }) => type === 'Gated');
    return { phase: status?.gate, since: status?.gateSince, ...gatedCondition };
  };
  const events = () =>
    kube.all<KubeObject & { reason: string; type: string }>(kinds.Event).map(({ type, reason }) => `${type} ${reason}`);
  t.notHas(await condition(), 'status', 'an app without a gate has no such condition');
  await change({ gate: { enabled: true } });
  const startedAt = clock.now().toISOString();
  world.answer = { kind: 'open', status: 404 };
  t.match(await condition(), { phase: 'applying', since: startedAt, status: 'Unknown', reason: 'Applying' });
  await clock.advance(1_000);
  t.match(await condition(), {
    phase: 'applying',
    since: startedAt,
    message: /not yet protected.*API key \(status 404\)/,
  });
  const { resourceVersion } = (await pass()).app?.metadata ?? {};
  await clock.advance(1_000);
  t.equal((await pass()).app?.metadata.resourceVersion, resourceVersion, 'the same result is not written again');
  world.answer = undefined;
  await clock.advance(1_000);
  const gatedAt = clock.now().toISOString();
  t.match(await condition(), { phase: 'gated', since: gatedAt, status: 'True', reason: 'GateApplied' });
  t.same(events(), ['Normal GateApplied']);
  await change({ gate: { enabled: false } });
  t.match(await condition(), { phase: 'lifting', since: gatedAt, status: 'Unknown', reason: 'Lifting' });
  await clock.advance(1_000);
  t.match(await condition(), { phase: 'off', status: 'False', reason: 'GateLifted', message: 'The route is open.' });
  await clock.advance(70_000);
  await pass();
  t.same(events(), ['Normal GateApplied', 'Normal GateLifted']);
  t.same(
    kube.all<KubeObject & { count: number }>(kinds.Event).map(({ count }) => count),
    [1, 1],
  );
});

t.test(
  'a gate stays `applying`, with the reason, while the ingress is not probed, unreachable or does not ask',
  async (t) => {
    const { create, pass, release, change, clock, world, kube } = await setUp(t);
    await create();
    await pass();
    await release(1);
    await pass();
    await change({ gate: { enabled: true } });
    const { ingressAddress: _address, ...unknown } = settings;
    world.settings = unknown;
    await pass();
    await clock.advance(1_000);
    const blind = await pass();
    t.equal(blind.app?.status?.gate, 'applying');
    t.equal(blind.outcome, undefined, 'only changed settings change that');
    const messageOf = (app: typeof blind.app) => app?.status?.conditions?.find(({ type }) => type === 'Gated')?.message;
    t.match(messageOf(blind.app), /svc install. again with --ingress-address/);
    world.settings = settings;
    const cases: [GateAnswer, RegExp][] = [
      [{ kind: 'unreachable', reason: 'ECONNREFUSED' }, /traefik.test:80 is unreachable \(ECONNREFUSED\)/],
      [{ kind: 'silent' }, /does not respond in time/],
      [{ kind: 'unclear' }, /cannot reach svc-authz/],
      [{ kind: 'denied', code: 'gate_unavailable' }, /cannot verify keys/],
      [{ kind: 'denied', code: 'misconfigured' }, /do not know the workload/],
      [{ kind: 'open', status: 200 }, /status 200\).$/],
      [{ kind: 'open', status: 308 }, /status 308\). If .* only redirects/],
    ];
    for (const [answer, message] of cases) {
      world.answer = answer;
      await clock.advance(1_000);
      const { app, outcome } = await pass();
      t.equal(app?.status?.gate, 'applying');
      t.match(messageOf(app), message);
      t.match(outcome, { requeueAfterMs: Number });
    }
    await clock.advance(300_000);
    t.match((await pass()).outcome, { requeueAfterMs: 30_000 }, 'the probe interval grows');
    t.match(kube.all(kinds.Event), [{ type: 'Warning', reason: 'GateNotApplied' }]);
    world.answer = undefined;
    await clock.advance(30_000);
    t.equal((await pass()).app?.status?.gate, 'gated', 'and it resumes by itself');
  },
);

t.test('a changed status causes a pass at once, which does not probe again', async (t) => {
  const { create, pass, release, change, clock, world } = await setUp(t);
  await create();
  await pass();
  await release(1);
  await pass();
  await change({ gate: { enabled: true } });
  await pass();
  world.answer = { kind: 'open', status: 404 };
  await pass();
  world.answer = { kind: 'unclear' };
  const { app } = await pass();
  t.equal(world.asked.length, 1);
  t.match(app?.status?.conditions?.find(({ type }) => type === 'Gated')?.message, /status 404/, 'the result is kept');
  await clock.advance(500);
  await pass();
  t.equal(world.asked.length, 2);
});

t.test('a route that opens counts as open after a minute, whatever the probe returns', async (t) => {
  const { create, pass, release, change, clock, kube, pool, world } = await setUp(t);
  await create();
  await pass();
  await release(1);
  await change({ gate: { enabled: true } });
  await pass();
  await clock.advance(1_000);
  t.equal((await pass()).app?.status?.gate, 'gated');
  await change({ gate: { enabled: false } });
  world.answer = { kind: 'refused' };
  await pass();
  await clock.advance(59_000);
  t.equal((await pass()).app?.status?.gate, 'lifting');
  t.equal((await findWorkload(pool, namespace, 'api'))?.gated, true, 'until then the checkers know the app');
  t.same(
    namesOf(kube.all(kinds.Middleware)),
    ['gate-<id>', 'svc-gate-strip', 'svc-retry', 'svc-strip', 'svc-strip-key'],
    'and the Middleware that the ingress may still use exists',
  );
  await clock.advance(1_000);
  const { app } = await pass();
  t.equal(app?.status?.gate, 'off');
  t.match(app?.status?.conditions?.find(({ type }) => type === 'Gated')?.message, /still refuses/);
});

t.test('a gated route that was changed is proven again', async (t) => {
  const { create, pass, release, change, clock, kube, world } = await setUp(t);
  await create();
  await pass();
  await release(1);
  await change({ gate: { enabled: true } });
  await pass();
  await clock.advance(1_000);
  await pass();
  const route = await kube.get<KubeObject>(kinds.IngressRoute, 'api', namespace);
  if (route) await kube.replace({ ...route, spec: { entryPoints: ['web'], routes: [] } });
  t.equal((await pass()).app?.status?.gate, 'applying');
  world.answer = { kind: 'open', status: 200 };
  await clock.advance(1_000);
  t.equal((await pass()).app?.status?.gate, 'applying');
  world.answer = undefined;
  await clock.advance(1_000);
  t.equal((await pass()).app?.status?.gate, 'gated');
});

t.test('the gate of an app without a route waits, and nothing is probed', async (t) => {
  const { create, pass, release, clock, world, change } = await setUp(t);
  await create('api', { gate: { enabled: true } });
  await pass();
  const { app, outcome } = await pass();
  t.match(app?.status, { gate: 'applying', conditions: [{}, { type: 'Gated', message: /no route until/ }] });
  t.equal(outcome, undefined);
  t.same(world.asked, []);
  await release(1);
  await pass();
  await clock.advance(1_000);
  t.equal((await pass()).app?.status?.gate, 'gated');

  await create('web', { gate: { enabled: true } });
  await pass('web');
  await change({ gate: { enabled: false } }, 'web');
  t.equal((await pass('web')).app?.status?.gate, 'off');
});

t.test('the route gets no gate while the checkers cannot be informed', async (t) => {
  const { create, pass, release, change, world, kube, app } = await setUp(t);
  await create();
  await pass();
  await release(1);
  await pass();
  await change({ gate: { enabled: true } });
  world.projectionFails = true;
  await t.rejects(pass());
  t.notMatch(JSON.stringify(kube.all(kinds.IngressRoute)[0]?.spec), /gate/);
  t.not((await app()).status?.gate, 'gated');
});

t.test('a deleted app leaves nothing behind and releases its name, host and deployments', async (t) => {
  const { create, pass, release, change, kube, pool, app, read, order } = await setUp(t);
  await create();
  await pass();
  await release(1);
  await change({ gate: { enabled: true } });
  await pass();
  const id = (await app()).metadata.labels?.[idLabel] ?? '';
  order.length = 0;
  await kube.delete({ apiVersion: 'platform.svc/v1', kind: 'App', namespace, name: 'api' });
  await pass();
  t.equal(await read(), undefined);
  const { Namespace: _namespace, Middleware: _shared, ServersTransport: _transport, ...left } = kinds;
  for (const kind of Object.values(left)) t.same(kube.all(kind), [], kind.kind);
  const deleted = order.filter((step) => step.startsWith('delete'));
  t.equal(deleted[1], 'delete IngressRoute api', 'the route is deleted first');
  t.equal(
    deleted.at(-1),
    'delete WorkloadName api',
    'the name is released last, without waiting for garbage collection',
  );
  t.equal(await findWorkload(pool, namespace, 'api'), undefined);
  t.match(await listDeployments(pool, id, { limit: 10 }), [{ state: 'cancelled' }]);
  t.notOk((await pass()).outcome, 'a pass over a deleted app does nothing');

  await create();
  await pass();
  const again = (await app()).metadata.labels?.[idLabel] ?? '';
  t.not(again, id, 'a new app with the same name is a different app');
  t.match(await listDeployments(pool, again, { limit: 10 }), [{ revision: 1, state: 'accepted' }]);
});

t.test('the deletion of an app waits while a child has a finalizer', async (t) => {
  const { create, pass, release, kube, read } = await setUp(t);
  await create();
  await pass();
  await release(1);
  await pass();
  const child = await kube.get(kinds.Service, 'api', namespace);
  if (child) await kube.replace({ ...child, metadata: { ...child.metadata, finalizers: ['example.com/hold'] } });
  await kube.delete({ apiVersion: 'platform.svc/v1', kind: 'App', namespace, name: 'api' });
  await t.rejects(pass(), { name: 'NotYetError' });
  t.ok(await read());
  t.equal(kube.all(kinds.WorkloadName).length, 1, 'the name is held until all children are deleted');
  const held = await kube.get(kinds.Service, 'api', namespace);
  if (held) await kube.replace({ ...held, metadata: { ...held.metadata, finalizers: [] } });
  await pass();
  t.equal(await read(), undefined);
});

t.test('a conflicting object stops the pass and is named in the status and in an Event', async (t) => {
  const { create, pass, release, kube, app, observe, ready } = await setUp(t);
  await create();
  await pass();
  kube.seed({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'api', namespace }, spec: { ports: [1] } });
  await release(1);
  await t.rejects(pass(), { name: 'ForeignObjectError' });
  const { status } = await app();
  t.match(status, {
    phase: 'failed',
    message: /Service "api" in shop-prod was not created by the platform/,
    conditions: [
      { type: 'ChildrenAdopted', status: 'False', reason: 'ChildReconcileFailed', message: /Service "api"/ },
    ],
  });
  t.equal(kube.all(kinds.Deployment).length, 1, 'the steps before it are done');
  t.same(kube.all(kinds.IngressRoute), [], 'the steps after it are not');
  t.same(kube.all(kinds.Service)[0]?.spec, { ports: [1] }, 'the object is not changed');
  t.match(kube.all(kinds.Event), [{ reason: 'ReconcileFailed', type: 'Warning', message: /Service "api"/ }]);

  await kube.delete({ apiVersion: 'v1', kind: 'Service', namespace, name: 'api' });
  await pass();
  await observe(ready);
  const { app: cleared } = await pass();
  t.match(cleared?.status, { phase: 'running', conditions: [{ type: 'ChildrenAdopted', status: 'True' }] });
  t.notOk(cleared?.status?.message);
});

t.test('an app whose name or host is taken fails, says so, and does nothing else', async (t) => {
  const { create, pass, kube, pool, app, controller } = await setUp(t);
  const labels = { [idLabel]: newId() };
  kube.seed(
    {
      apiVersion: 'platform.svc/v1',
      kind: 'WorkloadName',
      metadata: { name: 'api', namespace, labels },
      spec: { kind: 'Function', workloadId: labels[idLabel] },
    },
    {
      apiVersion: 'platform.svc/v1',
      kind: 'HostName',
      metadata: { name: 'shop.example.com', labels },
      spec: { kind: 'App', namespace: 'other-prod', name: 'front', workloadId: labels[idLabel] },
    },
  );
  await create();
  await t.rejects(pass(), { code: 'name_taken' });
  t.match((await app()).status, { phase: 'failed', message: /already used by a function in this environment/ });
  await create('web', { hostname: 'shop.example.com' });
  await t.rejects(pass('web'), { code: 'host_taken' });
  t.match((await app('web')).status, { phase: 'failed', message: /already used by a workload of another project/ });
  t.equal(await findWorkload(pool, namespace, 'api'), undefined);
  t.equal(await findWorkload(pool, namespace, 'web'), undefined);

  const host = kube.all(kinds.HostName)[0];
  const watch = controller.watches?.find(({ kind }) => kind === kinds.HostName);
  t.same(
    host && watch?.keysOf(host, () => kube.all(kinds.App)).map(({ name }) => name),
    ['front', 'api', 'web'],
    'the waiting app and the holder are both woken',
  );
  await kube.delete({ apiVersion: 'platform.svc/v1', kind: 'WorkloadName', namespace, name: 'api' });
  t.equal((await pass()).app?.status?.phase, 'pending');
});

t.test('a new host is claimed before the old one is released', async (t) => {
  const { create, pass, release, change, kube } = await setUp(t);
  await create();
  await pass();
  await release(1);
  await pass();
  await change({ hostname: 'shop.example.com' });
  t.equal((await pass()).app?.status?.host, 'shop.example.com');
  t.match(JSON.stringify(kube.all(kinds.IngressRoute)[0]?.spec), /Host\(`shop.example.com`\)/);
  t.same(namesOf(kube.all(kinds.HostName)), ['shop.example.com']);
});

t.test('an invalid spec is reported and not applied', async (t) => {
  const { create, pass, world, kube, app, controller } = await setUp(t);
  world.settings = undefined;
  await create();
  t.match((await pass()).outcome, { requeueAfterMs: 5_000 });
  t.equal((await app()).status, undefined, 'without settings the app waits');
  world.settings = settings;
  await create('bad', { image: 'registry.test/bad' });
  await t.rejects(pass('bad'), { code: 'invalid_value' });
  t.match((await app('bad')).status, { phase: 'failed', message: /not a full image reference/ });

  await kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'elsewhere' } });
  const object = await kube.create<App>({
    apiVersion: 'platform.svc/v1',
    kind: 'App',
    metadata: { name: 'stray', namespace: 'elsewhere' },
    spec: { image: 'registry.test/x:1', port: 8080, replicas: 1 },
  });
  const request = { namespace: 'elsewhere', name: 'stray', signal: new AbortController().signal, log: silentLog };
  await t.rejects(controller.reconcile({ ...request, object }), /not an environment/);
  t.match((await kube.get<App>(kinds.App, 'stray', 'elsewhere'))?.status, { phase: 'failed' });
});
