import t from 'tap';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { PlatformConfig } from '../../../runtime/contracts/resources/platform-config.ts';
import { managedLabels } from '../../../runtime/domain/labels.ts';
import { readPlatformConfig } from '../../../runtime/workloads/platform-config.ts';
import { createEventRecorder } from '../../../runtime/kube/events.ts';
import { platformConfigController } from '../../../workers/controllers/platform-config.ts';
import { fakeClock } from '../../support/clock.ts';
import { settleDeployments } from '../../support/cluster.ts';
import { everyController } from '../../support/every-controller.ts';
import { fakeKube, type FakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { platformConfigObject, settings } from '../../support/objects.ts';
import { explore, fixedId, type Scenario } from '../../support/state-space.ts';
import { processArguments } from '../../support/process-arguments.ts';

const signal = new AbortController().signal;
const place = { apiVersion: 'platform.svc/v1', kind: 'PlatformConfig', name: 'platform' };

interface ProcessDeployment extends KubeObject {
  spec: { replicas: number; template: { spec: { containers: { name: string; command: string[]; env: object[] }[] } } };
}

/** A Deployment of the platform with the fields of `svc install` that these tests need. */
function processDeployment(name: string, labels: Record<string, string> = managedLabels()): ProcessDeployment {
  const container = { name, command: ['tini', '--', 'node', `${name}.ts`], env: [{ name: 'A', value: '1' }] };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'svc-system', labels },
    spec: { replicas: 2, template: { spec: { containers: [container] } } },
  };
}

const set = (kube: FakeKube, spec: object) => kube.mergePatch<PlatformConfig>(place, { spec });
const commands = (kube: FakeKube) =>
  Object.fromEntries(
    kube
      .all<ProcessDeployment>(kinds.Deployment)
      .map(({ metadata, spec }) => [
        metadata.name,
        processArguments(spec.template.spec.containers[0]?.command).join(' '),
      ]),
  );

/** Consecutive process lives of the controllers over the same cluster. */
function setUp() {
  const kube = fakeKube();
  const clock = fakeClock();
  const world = { changes: 0, life: start() };
  function start() {
    return platformConfigController({
      kube,
      clock,
      events: createEventRecorder({ kube, component: 'svc-controllers', clock, log: silentLog }),
      onChange: () => (world.changes += 1),
    });
  }
  return {
    kube,
    world,
    restart: () => (world.life = start()),
    current: () => world.life.current(),
    /** @returns the status after the pass */
    pass: async (name = 'platform') => {
      const object = await kube.get<PlatformConfig>(kinds.PlatformConfig, name);
      await world.life.definition.reconcile({ name, object, signal, log: silentLog });
      return (await kube.get<PlatformConfig>(kinds.PlatformConfig, name))?.status;
    },
  };
}

t.test('valid settings take effect, are kept in the status, and are announced once', async (t) => {
  const { kube, world, current, pass } = setUp();
  await pass();
  t.equal(current(), undefined);
  kube.seed(platformConfigObject, { ...platformConfigObject, metadata: { name: 'other' } });
  t.match(await pass(), {
    observedGeneration: 1,
    accepted: { generation: 1, spec: settings },
    conditions: [{ type: 'Accepted', status: 'True', observedGeneration: 1 }],
  });
  t.same(current(), settings);
  t.match(await pass('other'), { accepted: undefined, conditions: [{ status: 'False', reason: 'WrongName' }] });
  const before = kube.calls.length;
  await pass();
  t.ok(
    kube.calls.slice(before).every(({ verb }) => verb === 'get'),
    'a pass without changes writes nothing',
  );
  t.equal(world.changes, 1);
  await set(kube, { profile: 'large', defaultLimits: { pods: 20 } });
  t.match(await pass(), { accepted: { generation: 2, spec: { profile: 'large' } } });
  t.match([world.changes, current()], [2, { profile: 'large', defaultLimits: { pods: 20 } }]);
});

t.test(
  'invalid settings are refused as a whole with every error; the last valid ones stay active, after a restart too',
  async (t) => {
    const { kube, world, restart, current, pass } = setUp();
    kube.seed(platformConfigObject);
    await pass();
    const faults = [/host name/, /trustedProxies\.1: .*host bits/, /allowPrivateNetworks\.0: .*not a private network/];
    await set(kube, {
      profile: 'large',
      appsDomain: 'Not A Domain',
      trustedProxies: ['192.0.2.1', '10.0.0.1/8'],
      allowPrivateNetworks: ['8.8.8.0/24'],
      defaultLimits: { memory: 'much' },
    });
    const refused = await pass();
    t.match(refused, {
      observedGeneration: 2,
      accepted: { generation: 1, spec: settings },
      conditions: [{ type: 'Accepted', status: 'False', reason: 'InvalidSpec', observedGeneration: 2 }],
    });
    const message = refused?.conditions?.[0]?.message ?? '';
    for (const fault of [...faults, /defaultLimits\.memory: "much"/, /^The previous settings stay active; /])
      t.match(message, fault);
    t.same(current(), settings);
    t.equal(world.changes, 1);
    t.match(kube.all(kinds.Event), [
      { type: 'Warning', reason: 'SettingsRefused', involvedObject: { name: 'platform' } },
    ]);

    restart();
    t.equal(current(), undefined);
    await pass();
    t.same(current(), settings, 'the controllers begin with the active settings');
    t.same(await readPlatformConfig(kube), settings, 'and so does the management API');
    await set(kube, { ...settings, trustedProxies: [], allowPrivateNetworks: [], defaultLimits: { memory: '1Gi' } });
    t.match(await pass(), { accepted: { spec: { profile: 'large' } }, conditions: [{ status: 'True' }] });
  },
);

t.test(
  'the apps domain and the cluster’s name cannot change while they are active, only after deleting the settings',
  async (t) => {
    const { kube, current, pass } = setUp();
    kube.seed(platformConfigObject);
    await pass();
    await set(kube, { appsDomain: 'other.test', cluster: 'c2' });
    t.match(await pass(), {
      conditions: [
        { status: 'False', message: /appsDomain: "apps.test" cannot be changed to "other.test".*; cluster: "c1"/ },
      ],
    });
    t.match(current(), { appsDomain: 'apps.test', cluster: 'c1' });
    await kube.delete(place);
    await pass();
    t.match(current(), { appsDomain: 'apps.test' }, 'the previous settings stay active until there are new ones');
    kube.seed({ ...platformConfigObject, spec: { ...settings, appsDomain: 'other.test' } });
    t.match(await pass(), { conditions: [{ status: 'True' }] });
    t.match(current(), { appsDomain: 'other.test' });
  },
);

t.test('without any valid settings none are active, and the status says so', async (t) => {
  const { kube, current, pass } = setUp();
  kube.seed({ ...platformConfigObject, spec: { ...settings, trustedProxies: ['0.0.0.0/0'] } });
  t.match(await pass(), { conditions: [{ message: /^No settings are active; .*matches all addresses/ }] });
  t.equal(current(), undefined);
  await t.rejects(readPlatformConfig(kube), { code: 'unavailable' });
});

t.test('processes that use the client’s address restart with the active proxies, and no others do', async (t) => {
  const { kube, pass } = setUp();
  kube.seed(
    { ...platformConfigObject, spec: { ...settings, trustedProxies: ['192.0.2.1', '10.0.0.0/8', '10.0.0.0/8'] } },
    ...['console-api', 'svc-authz', 'svc-interceptor'].map((name) => processDeployment(name)),
  );
  const untouched = kube.all<ProcessDeployment>(kinds.Deployment)[0];
  await pass();
  const proxies = '--trusted-proxy 192.0.2.1/32 --trusted-proxy 10.0.0.0/8';
  t.same(commands(kube), { 'console-api': proxies, 'svc-authz': proxies, 'svc-interceptor': '' });
  const [changed] = kube.all<ProcessDeployment>(kinds.Deployment);
  t.match(changed?.spec.template.spec.containers[0], { env: untouched?.spec.template.spec.containers[0]?.env });
  await set(kube, { trustedProxies: ['10.0.0.1/8'] });
  await pass();
  t.same(commands(kube)['svc-authz'], proxies, 'refused settings restart nothing');
  const authz = kube.all<ProcessDeployment>(kinds.Deployment)[1];
  if (authz) await kube.replace({ ...authz, spec: processDeployment('svc-authz').spec });
  await pass();
  t.same(commands(kube)['svc-authz'], proxies, 'a manual change of the active ones is reverted');
  await set(kube, { trustedProxies: [] });
  await pass();
  t.same(commands(kube), { 'console-api': '', 'svc-authz': '', 'svc-interceptor': '' });
  t.same(
    kube.all<ProcessDeployment>(kinds.Deployment).map(({ spec }) => spec),
    ['console-api', 'svc-authz', 'svc-interceptor'].map((name) => processDeployment(name).spec),
  );
});

t.test('a Deployment with another owner is not changed', async (t) => {
  const { kube, pass } = setUp();
  kube.seed(
    { ...platformConfigObject, spec: { ...settings, trustedProxies: ['192.0.2.1'] } },
    processDeployment('svc-authz', {}),
  );
  await pass();
  t.same(commands(kube), { 'svc-authz': '' });
});

t.test('a Deployment that changed at the same time is not overwritten', async (t) => {
  const { kube, pass } = setUp();
  kube.seed(
    { ...platformConfigObject, spec: { ...settings, trustedProxies: ['192.0.2.1'] } },
    processDeployment('svc-authz'),
  );
  const upgraded = ['tini', '--', 'node', 'new.ts'];
  kube.intercept = async ({ verb, kind }) => {
    if (verb !== 'replace' || kind !== 'Deployment') return;
    kube.intercept = undefined;
    const [live] = kube.all<ProcessDeployment>(kinds.Deployment);
    const container = { name: 'svc-authz', command: upgraded, env: [] };
    if (live) await kube.replace({ ...live, spec: { replicas: 2, template: { spec: { containers: [container] } } } });
  };
  await t.rejects(pass(), { message: /modified/ });
  t.same(commands(kube), { 'svc-authz': '' });
  await pass();
  t.same(kube.all<ProcessDeployment>(kinds.Deployment)[0]?.spec.template.spec.containers[0]?.command, [
    ...upgraded,
    '--trusted-proxy',
    '192.0.2.1/32',
  ]);
});

t.test('new settings apply to environments and hosts: defaults change, explicit ones stay', async (t) => {
  const { clock, kube, manager } = everyController();
  const release = { generation: 1, deploymentId: fixedId(9), image: 'registry.test/api:1' };
  const workload = (kindName: 'App' | 'Function', name: string, spec: object): KubeObject => ({
    apiVersion: 'platform.svc/v1',
    kind: kindName,
    metadata: { name, namespace: 'shop-prod' },
    spec,
  });
  const code = { runtime: 'node', code: 'x', trigger: 'http', port: 8080, idleTimeoutSeconds: 300 };
  kube.seed({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'svc-system' } }, platformConfigObject, {
    apiVersion: 'platform.svc/v1',
    kind: 'Project',
    metadata: { name: 'shop' },
    spec: { environments: [{ name: 'prod', id: fixedId(1), limits: { cpu: '2' } }] },
  });
  t.teardown(() => manager.stop());
  manager.start();
  await clock.advance(5_000);
  await kube.create(workload('App', 'api', { image: 'r.test/api:1', port: 8080, replicas: 1, release }));
  await kube.create(
    workload('App', 'web', { image: 'r.test/web:1', port: 8080, replicas: 1, release, hostname: 'www.example.com' }),
  );
  await kube.create(workload('Function', 'hello', code));
  const settle = async () => {
    for (let second = 0; second < 5; second++) {
      await clock.advance(1_000);
      await settleDeployments(kube);
    }
  };
  const hosts = () =>
    kube
      .all(kinds.HostName)
      .map(({ metadata }) => metadata.name)
      .sort();
  const matches = () => JSON.stringify(kube.all(kinds.IngressRoute).map(({ spec }) => spec));
  await settle();
  t.same(hosts(), ['api--shop-prod.apps.test', 'fn-hello--c1.apps.test', 'www.example.com']);
  const hard = () => (kube.all(kinds.ResourceQuota)[0]?.spec as { hard: object } | undefined)?.hard;
  t.match(hard(), { pods: '200', 'requests.cpu': '2', 'limits.memory': '32Gi' });

  await set(kube, { defaultLimits: { cpu: '4', memory: '8Gi', pods: 30 }, allowPrivateNetworks: ['10.1.0.0/16'] });
  await settle();
  t.match(hard(), { pods: '30', 'requests.cpu': '2', 'limits.memory': '8Gi' }, 'its own limit has priority');
  t.match(JSON.stringify(kube.all(kinds.NetworkPolicy)[0]?.spec), '"cidr":"10.1.0.0/16"');
  await set(kube, { appsDomain: 'other.test' });
  await settle();
  t.match(hosts(), ['api--shop-prod.apps.test', 'fn-hello--c1.apps.test'], 'refused');

  await kube.delete(place);
  await settle();
  t.match(hosts(), ['api--shop-prod.apps.test', 'fn-hello--c1.apps.test'], 'the previous settings stay active');
  kube.seed({ ...platformConfigObject, spec: { ...settings, appsDomain: 'other.test', cluster: 'c2' } });
  await settle();
  t.same(hosts(), ['api--shop-prod.other.test', 'fn-hello--c2.other.test', 'www.example.com']);
  t.match(
    matches(),
    /api--shop-prod\.other\.test.*fn-hello--c2\.other\.test|fn-hello--c2\.other\.test.*api--shop-prod/,
  );
  t.match(matches(), /www\.example\.com/);
  t.notMatch(matches(), /apps\.test/);
});

const story: Scenario<{ seen: unknown }> = {
  begin(kube) {
    kube.seed(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'svc-system' } },
      platformConfigObject,
      ...['console-api', 'svc-authz'].map((name) => processDeployment(name)),
    );
    return { seen: undefined };
  },
  controllers({ kube, clock, events }, records) {
    const controller = platformConfigController({
      kube,
      clock,
      events,
      onChange: () => (records.seen = controller.current()),
    });
    return [controller.definition];
  },
  steps: [
    (kube) => set(kube, { trustedProxies: ['192.0.2.1'], profile: 'medium' }),
    (kube) => set(kube, { trustedProxies: ['no address'] }),
    // A user manually reverts the settings.
    async (kube) => {
      const live = kube.all<ProcessDeployment>(kinds.Deployment).find(({ metadata }) => metadata.name === 'svc-authz');
      if (live) await kube.replace({ ...live, spec: processDeployment('svc-authz').spec });
    },
    (kube) => set(kube, { trustedProxies: ['192.0.2.2'] }),
    (kube) => set(kube, { appsDomain: 'other.test' }),
  ],
  outcome: ({ seen }) => seen,
  always(kube) {
    const status = kube.all<PlatformConfig>(kinds.PlatformConfig)[0]?.status;
    if (status && !status.accepted) throw new Error('the settings in force were lost');
  },
};

t.test('faults', (t) => explore(t, 'settings', story));
