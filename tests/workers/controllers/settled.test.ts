import t from 'tap';
import { controllerNames } from '../../../runtime/contracts/api/health.ts';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import { jobSpec } from '../../../runtime/contracts/resources/job.ts';
import type { Project } from '../../../runtime/contracts/resources/project.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { settleDeployments } from '../../support/cluster.ts';
import { everyController, runningControllers } from '../../support/every-controller.ts';
import { platformConfigObject, settings as platformSettings } from '../../support/objects.ts';
import { fixedId } from '../../support/state-space.ts';

const reading = new Set(['get', 'list']);
const minute = 60_000;

t.test('an idle cluster gets only the Lease’s writes and hardly any reads in ten minutes', async (t) => {
  const { clock, kube, manager } = everyController();
  kube.seed(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'svc-system' } },
    { ...platformConfigObject, spec: { ...platformSettings, ingressAddress: 'http://traefik.edge.svc' } },
    {
      apiVersion: 'platform.svc/v1',
      kind: 'Project',
      metadata: { name: 'shop' },
      spec: { environments: [{ name: 'prod', id: fixedId(1) }] },
    },
  );
  t.teardown(() => manager.stop());
  manager.start();
  await clock.advance(5_000);
  t.match(kube.all<Project>(kinds.Project)[0]?.status, { phase: 'ready' });
  const place = (name: string) => ({ name, namespace: 'shop-prod' });
  const release = { generation: 1, deploymentId: fixedId(9), image: 'registry.test/api:1' };
  const workloads: KubeObject[] = [
    ...Array.from({ length: 20 }, (_, number) => ({
      apiVersion: 'platform.svc/v1',
      kind: 'Function',
      metadata: place(`f${number}`),
      spec: { runtime: 'node', code: 'x', trigger: 'http', port: 8080, idleTimeoutSeconds: 300 },
    })),
    {
      apiVersion: 'platform.svc/v1',
      kind: 'App',
      metadata: place('api'),
      spec: { image: 'registry.test/api:1', port: 8080, replicas: 1, gate: { enabled: true }, release },
    },
    {
      apiVersion: 'platform.svc/v1',
      kind: 'Job',
      metadata: place('report'),
      spec: jobSpec.parse({ image: 'registry.test/report:7', schedule: '0 2 * * *' }),
    },
  ];
  for (const workload of workloads) await kube.create(workload);
  for (let second = 0; second < 30; second++) {
    await clock.advance(1_000);
    await settleDeployments(kube);
  }
  t.match(kube.all<App>(kinds.App)[0]?.status, { phase: 'running' });
  t.equal(kube.all(kinds.IngressRoute).length, 21);

  // A claim that is deleted is created again at once, not at the next resync.
  const host = { apiVersion: 'platform.svc/v1', kind: 'HostName' };
  for (const name of ['fn-f0--c1.apps.test', 'api--shop-prod.apps.test']) {
    await kube.delete({ ...host, name });
    await clock.advance(1_000);
    t.ok(await kube.get(kinds.HostName, name), name);
  }

  // Past everything that only the passage of time causes.
  await clock.advance(30 * minute);
  const before = kube.calls.length;
  await clock.advance(10 * minute);
  const calls = kube.calls.slice(before).filter(({ kind }) => kind !== 'Lease');
  t.same(
    calls.filter(({ verb }) => !reading.has(verb)).map(({ verb, kind, name }) => `${verb} ${kind} ${name}`),
    [],
  );
  // The watches of this API server send no bookmarks, so each of them is listed again from time to time.
  const gets = calls.filter(({ verb }) => verb === 'get').length;
  t.ok(gets <= 0.5 * 600, `${gets} reads of single objects in ten minutes`);
});

t.test('a pod that a quota counts causes no pass of its project', async (t) => {
  const { clock, kube } = await runningControllers(t);
  const quota = async () => {
    const live = await kube.get<KubeObject>(kinds.ResourceQuota, 'svc-environment', 'shop-prod');
    if (!live) throw new Error('no quota');
    return live;
  };
  const passes = async (change: () => Promise<unknown>) => {
    const before = kube.calls.length;
    await change();
    await clock.advance(1_000);
    return kube.calls.slice(before).filter(({ verb, kind }) => verb === 'get' && kind === 'Project').length;
  };
  t.equal(await passes(async () => kube.replaceStatus({ ...(await quota()), status: { used: { pods: '1' } } })), 0);
  t.equal(await passes(async () => kube.replace({ ...(await quota()), spec: { hard: { pods: '9999' } } })), 2);
  t.notMatch((await quota()).spec, { hard: { pods: '9999' } }, 'a changed limit is restored');
});

t.test('every controller of the platform is in its report', async (t) => {
  const { manager } = everyController();
  const names = manager.report().controllers.map(({ name }) => name);
  t.same(names.sort(), [...controllerNames].sort());
});

t.test(
  'a pass over an app or a function without changes reads nothing, and neither does that of a new leader',
  async (t) => {
    const { clock, kube, manager } = await runningControllers(t);
    const release = { generation: 1, deploymentId: fixedId(9), image: 'registry.test/api:1' };
    const specs = {
      App: { image: 'registry.test/api:1', port: 8080, replicas: 1, security: { headers: true }, release },
      Function: { runtime: 'node', code: 'x', trigger: 'http', port: 8080, idleTimeoutSeconds: 300 },
    };
    const refOf = (kind: string) => ({
      apiVersion: 'platform.svc/v1',
      kind,
      namespace: 'shop-prod',
      name: kind.toLowerCase(),
    });
    for (const [kind, spec] of Object.entries(specs)) {
      const { apiVersion, namespace, name } = refOf(kind);
      await kube.create({ apiVersion, kind, metadata: { namespace, name }, spec });
    }
    for (let second = 0; second < 30; second++) {
      await clock.advance(1_000);
      await settleDeployments(kube);
    }
    t.match(kube.all<App>(kinds.App)[0]?.status, { phase: 'running', release: { phase: 'available' } });
    t.equal(
      kube.all(kinds.Middleware).length,
      7,
      'three of the environment, three of all functions, and the security headers',
    );

    for (const kind of Object.keys(specs)) {
      const before = kube.calls.length;
      await kube.mergePatch(refOf(kind), { metadata: { annotations: { touched: 'yes' } } });
      await clock.advance(1_000);
      const calls = kube.calls.slice(before + 1).filter((call) => call.kind !== 'Lease');
      t.same(
        calls.map((call) => `${call.verb} ${call.kind}`),
        [],
      );
    }

    await manager.stop();
    const next = everyController({ clock, kube });
    t.teardown(() => next.manager.stop());
    const before = kube.calls.length;
    next.manager.start();
    await clock.advance(5_000);
    t.match(next.manager.report(), { healthy: true });
    const calls = kube.calls.slice(before).filter(({ kind }) => ['Project', 'App', 'Function'].includes(kind));
    t.ok(calls.length > 0 && calls.every(({ verb }) => verb === 'list'));
  },
);

t.test('a new release of an app is written once, and its pods are listed once they are due', async (t) => {
  const { clock, kube } = await runningControllers(t);
  const release = (generation: number) => ({
    generation,
    deploymentId: fixedId(generation),
    image: `api:${generation}`,
  });
  const spec = { image: 'api:1', port: 8080, replicas: 1, release: release(1) };
  const ref = { apiVersion: 'platform.svc/v1', kind: 'App', namespace: 'shop-prod', name: 'api' };
  const { apiVersion, kind, ...metadata } = ref;
  await kube.create({ apiVersion, kind, metadata, spec });
  const callsOf = async (change: () => Promise<unknown>) => {
    const before = kube.calls.length;
    await change();
    await clock.advance(1_000);
    const calls = kube.calls.slice(before + 1).filter((call) => call.kind !== 'Lease');
    return calls.map((call) => `${call.verb} ${call.kind}`);
  };
  for (let second = 0; second < 30; second++) {
    await clock.advance(1_000);
    await settleDeployments(kube);
  }
  t.same(await callsOf(() => kube.mergePatch(ref, { spec: { release: release(2) } })), [
    'replace Deployment',
    'replaceStatus App',
  ]);
  t.same(await callsOf(() => settleDeployments(kube)), ['list Pod', 'replaceStatus App']);
  t.match(kube.all<App>(kinds.App)[0]?.status, { release: { generation: 2, phase: 'available' } });
});
