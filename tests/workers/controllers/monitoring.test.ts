import t from 'tap';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import type { MonitoringSettings } from '../../../runtime/contracts/resources/monitoring.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { PlatformConfig, PlatformConfigSpec } from '../../../runtime/contracts/resources/platform-config.ts';
import { managedLabels } from '../../../runtime/domain/labels.ts';
import { createEventRecorder } from '../../../runtime/kube/events.ts';
import { platformConfigController } from '../../../workers/controllers/platform-config.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube, type FakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { componentPod, settleComponents } from '../../support/monitoring.ts';
import { platformConfigObject, settings } from '../../support/objects.ts';
import { explore, type Scenario } from '../../support/state-space.ts';

const place = { apiVersion: 'platform.svc/v1', kind: 'PlatformConfig', name: 'platform' };
const start = new Date('2026-03-01T10:00:00Z');

const isStore = ({ metadata }: KubeObject) => metadata.name === 'prometheus';

interface Workload extends KubeObject {
  spec: {
    template: {
      spec: { containers: { image: string; resources: { requests: object; limits: { memory: string } } }[] };
    };
    volumeClaimTemplates?: unknown[];
  };
}

/** The PlatformConfig controller over a cluster with these settings. */
function setUp(monitoring: MonitoringSettings | undefined, more: Partial<PlatformConfigSpec> = {}) {
  const clock = fakeClock(start);
  const kube = fakeKube({ now: () => clock.now() });
  const { definition } = platformConfigController({
    kube,
    clock,
    events: createEventRecorder({ kube, component: 'svc-controllers', clock, log: silentLog }),
    onChange: () => undefined,
  });
  kube.seed({ ...platformConfigObject, spec: { ...settings, ...more, ...(monitoring && { monitoring }) } });
  const signal = new AbortController().signal;
  const components = () => kube.all<PlatformConfig>(kinds.PlatformConfig)[0]?.status?.monitoring ?? [];
  return {
    clock,
    kube,
    set: (spec: object) => kube.mergePatch<PlatformConfig>(place, { spec }),
    /** @returns what the controller asks for */
    pass: async () => {
      const object = await kube.get<PlatformConfig>(kinds.PlatformConfig, 'platform');
      return definition.reconcile({ name: 'platform', object, signal, log: silentLog });
    },
    component: (name: string) => components().find((component) => component.name === name),
    names: () => components().map(({ name }) => name),
    workloads: () => [kinds.StatefulSet, kinds.DaemonSet, kinds.Deployment].flatMap((kind) => kube.all<Workload>(kind)),
    memory: () =>
      kube.all<Workload>(kinds.StatefulSet).find(isStore)?.spec.template.spec.containers[0]?.resources.limits.memory,
  };
}

t.test('the components run with the memory of the profile, and the status says when they are ready', async (t) => {
  const { kube, set, pass, component, names, workloads } = setUp({ mode: 'cluster' });
  await pass();
  t.same(names(), ['metrics-store', 'node-exporter', 'alertmanager', 'dashboards']);
  t.same(component('metrics-store'), {
    name: 'metrics-store',
    enabled: true,
    ready: false,
    phase: 'starting',
    memory: '512Mi',
  });
  await settleComponents(kube);
  await pass();
  t.same(component('metrics-store'), {
    name: 'metrics-store',
    enabled: true,
    ready: true,
    phase: 'on',
    memory: '512Mi',
  });
  t.match(component('node-exporter'), { ready: true, memory: '64Mi' });
  t.match(component('dashboards'), { ready: true, memory: '128Mi' });
  const resources = (name: string) =>
    workloads().find(({ metadata }) => metadata.name === name)?.spec.template.spec.containers[0]?.resources;
  t.match(resources('prometheus'), { requests: { memory: '256Mi' }, limits: { memory: '512Mi' } });
  t.match(resources('node-exporter'), { requests: { memory: '32Mi' }, limits: { memory: '64Mi' } });
  t.match(resources('grafana'), { requests: { memory: '64Mi' }, limits: { memory: '128Mi' } });

  const before = kube.calls.length;
  await pass();
  const writes = kube.calls.slice(before).filter(({ verb }) => verb !== 'get' && verb !== 'list');
  t.same(writes, [], 'a pass without changes writes nothing');

  for (const [profile, memory] of [
    ['medium', '1Gi'],
    ['large', '1Gi'],
    ['xlarge', '2Gi'],
  ] as const) {
    await set({ profile });
    await pass();
    t.match(component('metrics-store'), { memory, ready: false }, profile);
    t.match(resources('prometheus'), { limits: { memory } });
  }
});

t.test('on nano they are disabled, and one can be switched on', async (t) => {
  const { set, pass, component, workloads } = setUp({ mode: 'cluster' }, { profile: 'nano' });
  await pass();
  t.same(component('metrics-store'), {
    name: 'metrics-store',
    enabled: false,
    ready: false,
    phase: 'disabled',
    memory: '512Mi',
  });
  t.match(component('dashboards'), { enabled: false });
  t.same(workloads(), []);
  await set({ monitoring: { components: { 'metrics-store': { enabled: true }, dashboards: { enabled: false } } } });
  await pass();
  t.match(component('metrics-store'), { enabled: true, memory: '512Mi' });
  t.match(component('node-exporter'), { enabled: true }, 'follows its store');
  t.match(component('dashboards'), { enabled: false }, 'has a setting of its own');
  t.same(
    workloads().map(({ metadata }) => metadata.name),
    ['prometheus', 'alertmanager', 'node-exporter'],
  );
});

t.test('disabling removes the objects; the data is kept, or deleted if an admin says so', async (t) => {
  const { kube, set, pass, component, workloads } = setUp({ mode: 'cluster' });
  await pass();
  kube.seed(componentPod('metrics-store'), {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data-prometheus-0', namespace: 'monitoring', labels: managedLabels() },
  });
  await set({ monitoring: { components: { 'metrics-store': { enabled: false } } } });
  t.match(await pass(), { requeueAfterMs: 2_000 });
  t.match(component('metrics-store'), { enabled: false, phase: 'stopping' });
  await kube.delete({ apiVersion: 'v1', kind: 'Pod', name: 'metrics-store-0', namespace: 'monitoring' });
  await pass();
  t.match(component('metrics-store'), { enabled: false, ready: false, message: 'its data is kept' });
  t.same(workloads(), []);
  t.same(kube.all(kinds.ConfigMap), []);
  t.same(kube.all(kinds.NetworkPolicy), []);
  t.equal(kube.all(kinds.PersistentVolumeClaim).length, 1);
  await set({ monitoring: { components: { 'metrics-store': { enabled: false, deleteData: true } } } });
  await pass();
  t.same(kube.all(kinds.PersistentVolumeClaim), []);
  t.same(component('metrics-store'), {
    name: 'metrics-store',
    enabled: false,
    ready: false,
    phase: 'disabled',
    memory: '512Mi',
  });
});

t.test('a store that is killed for memory gets twice as much, ten minutes apart, up to its ceiling', async (t) => {
  const { clock, kube, pass, component, memory } = setUp({ mode: 'cluster' });
  await pass();
  const kill = async (limit: string, at: string) => {
    const pod = componentPod('metrics-store', { limit, killedAt: at });
    const ref = { apiVersion: 'v1', kind: 'Pod', name: 'metrics-store-0', namespace: 'monitoring' };
    if (await kube.get(kinds.Pod, ref.name, ref.namespace)) await kube.delete(ref);
    kube.seed(pod);
    return pass();
  };
  await kill('512Mi', '2026-03-01T10:00:00Z');
  t.equal(memory(), '1Gi');
  t.match(component('metrics-store'), {
    memory: '1Gi',
    killedAt: '2026-03-01T10:00:00Z',
    raised: {
      raisedAt: '2026-03-01T10:00:00.000Z',
      from: '512Mi',
      to: '1Gi',
      reason: 'killed for memory at 2026-03-01T10:00:00Z',
    },
    phase: 'unhealthy',
    message: 'CrashLoopBackOff: killed for memory',
  });
  await pass();
  t.equal(memory(), '1Gi', 'one kill raises the limit once');
  await kill('512Mi', '2026-03-01T10:00:05Z');
  t.equal(memory(), '1Gi', 'a kill under the limit before the raise does not count');
  t.match(component('metrics-store'), { notRaised: undefined, killedAt: '2026-03-01T10:00:00Z' });

  await clock.advance(60_000);
  t.same(await kill('1Gi', '2026-03-01T10:01:00Z'), { requeueAfterMs: 9 * 60_000 });
  t.match(component('metrics-store'), { memory: '1Gi', notRaised: 'TooSoon' });
  await clock.advance(9 * 60_000 - 1);
  t.same(await pass(), { requeueAfterMs: 1 });
  await clock.advance(1);
  await pass();
  t.equal(memory(), '2Gi', 'ten minutes after the raise before');
  t.match(component('metrics-store'), { raised: { from: '1Gi', to: '2Gi' }, notRaised: undefined });

  await clock.advance(600_000);
  await kill('2Gi', '2026-03-01T10:20:00Z');
  t.equal(memory(), '4Gi');
  await clock.advance(600_000);
  await kill('4Gi', '2026-03-01T10:30:00Z');
  t.equal(memory(), '4Gi');
  t.match(component('metrics-store'), {
    memory: '4Gi',
    notRaised: 'AtCeiling',
    killedAt: '2026-03-01T10:30:00Z',
    raised: { from: '2Gi', to: '4Gi' },
  });
});

t.test('an automatic raise is never taken back, and never changes a limit that an admin set', async (t) => {
  const { clock, kube, set, pass, component, memory } = setUp({ mode: 'cluster' }, { profile: 'xlarge' });
  kube.seed(componentPod('metrics-store', { limit: '2Gi', killedAt: '2026-03-01T10:00:00Z' }));
  await pass();
  t.equal(memory(), '4Gi');
  await set({ profile: 'small' });
  await pass();
  t.equal(memory(), '4Gi', 'not by a smaller profile');
  await set({ monitoring: { components: { 'metrics-store': { memory: '640Mi' } } } });
  await pass();
  t.equal(memory(), '640Mi', 'an admin can lower it');
  await clock.advance(3_600_000);
  await kube.delete({ apiVersion: 'v1', kind: 'Pod', name: 'metrics-store-0', namespace: 'monitoring' });
  kube.seed(componentPod('metrics-store', { limit: '640Mi', killedAt: '2026-03-01T11:00:00Z' }));
  await pass();
  t.equal(memory(), '640Mi');
  t.match(component('metrics-store'), { memory: '640Mi', notRaised: 'ManualLimit' });
  await set({ monitoring: { components: { 'metrics-store': { memory: null } } } });
  await pass();
  t.equal(memory(), '4Gi', 'without the override, the raise counts again');
});

t.test('a larger profile gives more than an earlier raise', async (t) => {
  const { kube, set, pass, memory } = setUp({ mode: 'cluster' });
  kube.seed(componentPod('metrics-store', { killedAt: '2026-03-01T10:00:00Z' }));
  await pass();
  t.equal(memory(), '1Gi');
  await set({ profile: 'xlarge' });
  await pass();
  t.equal(memory(), '2Gi');
});

t.test('other ends of a container, and other components, raise nothing', async (t) => {
  const { kube, pass, component, memory } = setUp({ mode: 'cluster' });
  kube.seed(
    componentPod('metrics-store', { killedAt: '2026-03-01T10:00:00Z', reason: 'Error' }),
    componentPod('dashboards', { limit: '128Mi', killedAt: '2026-03-01T10:00:00Z' }),
  );
  await pass();
  t.equal(memory(), '512Mi');
  t.match(component('dashboards'), { memory: '128Mi', raised: undefined, killedAt: '2026-03-01T10:00:00Z' });
});

t.test('an object that is not the platform’s stops only its own component', async (t) => {
  const { kube, pass, component } = setUp({ mode: 'cluster' });
  kube.seed({
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'prometheus', namespace: 'monitoring' },
    spec: {},
  });
  await pass();
  t.match(component('metrics-store'), { ready: false, message: /StatefulSet "prometheus".* was not created by/ });
  t.match(component('node-exporter'), { enabled: true, phase: 'starting' });
  t.same(kube.all<Workload>(kinds.StatefulSet).find(isStore)?.spec, {}, 'it stays as it is');
});

t.test('other images replace the upstream ones, and the stores of the embedded cluster have no objects', async (t) => {
  const cluster = setUp({ mode: 'cluster', images: { 'metrics-store': 'registry.test/prometheus:1' } });
  await cluster.pass();
  const images = cluster.workloads().map(({ spec }) => spec.template.spec.containers[0]?.image);
  t.equal(images[0], 'registry.test/prometheus:1');
  for (const image of images.slice(1)) t.match(image, /^[a-z.]+\/.+:.+@sha256:[0-9a-f]{64}$/);

  const embedded = setUp({ mode: 'embedded' }, { profile: 'nano' });
  await embedded.pass();
  t.same(embedded.names(), [], 'its process reports them');
  t.same(embedded.workloads(), []);

  const without = setUp(undefined);
  await without.pass();
  t.same(without.names(), []);
  t.same(without.workloads(), []);
});

const setMonitoring = (kube: FakeKube, components: object) =>
  kube.mergePatch<PlatformConfig>(place, { spec: { monitoring: { components } } });

const story: Scenario<undefined> = {
  begin(kube) {
    kube.seed(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'monitoring' } },
      { ...platformConfigObject, spec: { ...settings, monitoring: { mode: 'cluster' } } },
    );
    return undefined;
  },
  controllers: ({ kube, clock, events }) => [
    platformConfigController({ kube, clock, events, onChange: () => undefined }).definition,
  ],
  steps: [
    (kube) => setMonitoring(kube, { 'metrics-store': { enabled: false } }),
    (kube) => setMonitoring(kube, { 'metrics-store': { enabled: true, memory: '640Mi' } }),
    // The limit of the pod that is killed is the present one.
    async (kube) => {
      await setMonitoring(kube, { 'metrics-store': { memory: null } });
      kube.seed(componentPod('metrics-store', { killedAt: '2020-01-01T00:00:00Z' }));
    },
  ],
  always(kube) {
    const stores = kube.all<PlatformConfig>(kinds.PlatformConfig)[0]?.status?.monitoring ?? [];
    const raised = stores.flatMap(({ raised: raise }) => raise?.to ?? []);
    if (raised.some((to) => to !== '1Gi')) throw new Error('one kill raised the limit twice');
  },
};

t.test('faults', (t) => explore(t, 'components', story));
