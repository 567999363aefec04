import type { V1ServiceSpec } from '@kubernetes/client-node';
import t from 'tap';
import { installPlatform } from '../../../infra/install/install.ts';
import { installedImages } from '../../../infra/install/existing-settings.ts';
import { selfSignedCertificate } from '../../../infra/local/apiserver/certificate.ts';
import { readAdminPassword } from '../../../infra/install/secrets.ts';
import type { PlatformSettings } from '../../../infra/manifests/platform/settings.ts';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { PlatformConfig } from '../../../runtime/contracts/resources/platform-config.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { managedLabels } from '../../../runtime/domain/labels.ts';
import { parseKeyRing } from '../../../runtime/domain/sealed.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';
import { fakeClock } from '../../support/clock.ts';
import { environmentNamespaceObject } from '../../support/cluster.ts';
import { fakeKube, type FakeKube } from '../../support/fake-kube.ts';
import { processArguments } from '../../support/process-arguments.ts';

const settings: PlatformSettings = {
  appsDomain: 'apps.example.com',
  cluster: 'home',
  scheme: 'https',
  entryPoints: ['websecure'],
  optional: {},
  scrape: false,
  images: {
    platform: 'r.example.com/p:1',
    functionNode: 'r.example.com/f:1',
    postgres: 'r.example.com/d:1',
    redis: 'r.example.com/r:1',
  },
  adminEmail: 'admin@example.com',
  failpoints: false,
};

const definition = (name: string): KubeObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name },
});

/** Traefik's Service as its chart and k3s make it. */
const traefik = (namespace = 'kube-system', ports: object[] = [{ name: 'websecure', port: 443 }]): KubeObject[] => [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'traefik', namespace, labels: { 'app.kubernetes.io/name': 'traefik' } },
    spec: { type: 'LoadBalancer', ports },
  },
];

/** A cluster with Traefik, in which every object is ready at once. */
function cluster(ingress: KubeObject[] = traefik()): FakeKube {
  const kube = fakeKube({ checkNamespaces: true });
  kube.seed(
    definition('ingressroutes.traefik.io'),
    definition('middlewares.traefik.io'),
    definition('serverstransports.traefik.io'),
    ...ingress,
  );
  return bringUp(kube);
}

const storedSettings = (kube: FakeKube) => kube.all<PlatformConfig>(kinds.PlatformConfig)[0];
const ingressAddress = (kube: FakeKube) => storedSettings(kube)?.spec.ingressAddress;

/** The arguments that a process is started with. */
function command(kube: FakeKube, name: string): string[] | undefined {
  const deployments = kube.all<KubeObject>(kinds.Deployment);
  const { spec } = deployments.find(({ metadata }) => metadata.name === name) ?? {};
  return processArguments((spec as ProcessSpec | undefined)?.template.spec.containers[0]?.command);
}

interface ProcessSpec {
  template: { spec: { containers: { command: string[] }[] } };
}

/** Acts as the API server and the kubelet before every look. */
function bringUp(kube: FakeKube, works: (name: string) => boolean = () => true): FakeKube {
  let busy = false;
  kube.intercept = async ({ verb, kind }) => {
    if (busy || (verb !== 'get' && verb !== 'list')) return;
    busy = true;
    if (kind === 'CustomResourceDefinition') {
      for (const object of kube.all<KubeObject>(kinds.CustomResourceDefinition)) {
        await kube.replaceStatus({ ...object, status: { conditions: [{ type: 'Established', status: 'True' }] } });
      }
    }
    for (const object of [...kube.all<KubeObject>(kinds.Deployment), ...kube.all<KubeObject>(kinds.StatefulSet)]) {
      const { replicas } = object.spec as { replicas: number };
      const ready = works(object.metadata.name) ? replicas : 0;
      const { generation: observedGeneration } = object.metadata;
      const status = { observedGeneration, replicas, updatedReplicas: replicas, readyReplicas: ready };
      await kube.replaceStatus({ ...object, status });
    }
    busy = false;
  };
  return kube;
}

function install(kube: FakeKube, changes: Partial<PlatformSettings> = {}) {
  const log: string[] = [];
  const clock = fakeClock();
  const done = installPlatform(
    { ...settings, ...changes },
    { kube, clock, timeoutMs: 60_000, log: (line) => log.push(line) },
  );
  return { done, log, clock };
}

const writes = (kube: FakeKube) =>
  kube.calls.filter(
    ({ verb, kind }) => ['create', 'replace', 'delete', 'mergePatch'].includes(verb) && kind !== 'Event',
  );

t.test('objects are applied after the objects that they need', async (t) => {
  const kube = cluster();
  const report = await install(kube).done;
  t.same(report.updated, []);
  t.same(report.unchanged, []);
  const order = report.created;
  const place = (object: string) => {
    const index = order.indexOf(object);
    t.ok(index >= 0, object);
    return index;
  };
  const sequence = [
    'CustomResourceDefinition platformconfigs.platform.svc',
    'Namespace svc-system',
    'Secret svc-system/svc-encryption-keys',
    'ServiceAccount svc-system/console-api',
    'ClusterRoleBinding platform.svc:console-api',
    'StatefulSet svc-system/svc-postgres',
    'PlatformConfig platform',
    'Deployment svc-system/console-api',
    'Middleware svc-system/console-api-retry',
    'Middleware svc-system/console-api-sign-in-body',
    'IngressRoute svc-system/console-api',
  ].map(place);
  t.same(
    sequence,
    [...sequence].sort((a, b) => a - b),
  );
});

t.test('a second run changes nothing and prints `unchanged`', async (t) => {
  const kube = cluster();
  await install(kube).done;
  const before = writes(kube).length;
  const secondRun = install(kube);
  const report = await secondRun.done;
  t.equal(writes(kube).length, before);
  t.same([report.created, report.updated], [[], []]);
  t.same(secondRun.log, ['unchanged']);
});

t.test('a second run leaves the Service of the checkers with the pods that svc-controllers chose', async (t) => {
  const kube = cluster();
  await install(kube).done;
  const service = kube.all<KubeObject>(kinds.Service).find(({ metadata }) => metadata.name === 'svc-authz');
  if (!service) throw new Error('no Service');
  const spec = { ...(service.spec as object), selector: { app: 'svc-interceptor' } };
  await kube.replace({ ...service, spec });
  const report = await install(kube).done;
  t.same([report.created, report.updated], [[], []]);
});

t.test(
  'an update gives the processes their rights in existing environments before it takes those in the cluster',
  async (t) => {
    const kube = cluster();
    const id = newId();
    const environment = { id, name: 'prod' };
    kube.seed(
      environmentNamespaceObject('shop', 'prod'),
      {
        apiVersion: 'platform.svc/v1',
        kind: 'Project',
        metadata: { name: 'shop' },
        spec: { environments: [environment, { id: newId(), name: 'new' }] },
        status: { environments: [{ ...environment, namespace: 'shop-prod', ready: true }] },
      },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: 'platform.svc:console-api', labels: managedLabels() },
        rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }],
      } as KubeObject,
    );
    await install(kube).done;
    const calls = writes(kube);
    const bound = calls.findLastIndex(({ kind, namespace }) => kind === 'RoleBinding' && namespace === 'shop-prod');
    const narrowed = calls.findIndex(({ kind, name }) => kind === 'ClusterRole' && name === 'platform.svc:console-api');
    t.ok(bound >= 0 && bound < narrowed);
    const role = kube.all<KubeObject & { rules: { resources: string[] }[] }>(kinds.ClusterRole);
    const rules = role.find(({ metadata }) => metadata.name === 'platform.svc:console-api')?.rules ?? [];
    t.notOk(rules.some(({ resources }) => resources.includes('secrets')));
    t.equal(calls.filter(({ namespace }) => namespace === 'shop-new').length, 0, 'one without a namespace comes later');
  },
);

t.test('new images change the processes that run them, and no secret', async (t) => {
  const kube = cluster();
  await install(kube).done;
  const secrets = kube.all(kinds.Secret);
  const report = await install(kube, { images: { ...settings.images, platform: 'r.example.com/p:2' } }).done;
  t.same(report.created, []);
  t.same(
    report.updated,
    ['console-api', 'svc-workers', 'svc-controllers', 'svc-authz', 'svc-interceptor'].map(
      (n) => `Deployment svc-system/${n}`,
    ),
  );
  t.same(kube.all(kinds.Secret), secrets);
});

t.test('generated secrets are strong, well-formed and unique', async (t) => {
  const values = async () => {
    const kube = cluster();
    await install(kube).done;
    t.match(await readAdminPassword(kube), /^[A-Za-z0-9]{24}$/);
    return Object.fromEntries(
      kube
        .all<KubeObject & { data: Record<string, string> }>(kinds.Secret)
        .map(({ metadata, data }) => [metadata.name, Buffer.from(Object.values(data)[0] ?? '', 'base64').toString()]),
    );
  };
  const [one, two] = [await values(), await values()];
  t.same(Object.keys(one).sort(), [
    'svc-admin',
    'svc-database',
    'svc-encryption-keys',
    'svc-gate-probe',
    'svc-log-store',
    'svc-redis',
  ]);
  for (const [name, value] of Object.entries(one)) t.not(value, two[name], name);
  t.equal(parseKeyRing(one['svc-encryption-keys'] ?? '').current, 'k1');
  t.ok((one['svc-database'] ?? '').length >= 40);
});

t.test('a foreign object stops the installation with a hint, and stays unchanged', async (t) => {
  const kube = cluster();
  kube.seed({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'svc-system' } });
  await t.rejects(install(kube).done, {
    name: 'InstallError',
    message: /Namespace "svc-system" was not created by the platform/,
    hint: /run the same command again/,
  });
  t.same(
    kube.all(kinds.Namespace).map(({ metadata }) => metadata.labels),
    [undefined],
  );
});

t.test('a foreign Secret is not used, and an empty one is not filled', async (t) => {
  const labels = { 'app.kubernetes.io/managed-by': 'kipper' };
  const namespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'svc-system', labels } };
  const foreign = cluster();
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'svc-database', namespace: 'svc-system' } };
  foreign.seed(namespace, secret);
  await t.rejects(install(foreign).done, { name: 'InstallError', message: /svc did not create it/ });
  const emptied = cluster();
  emptied.seed(namespace, { ...secret, metadata: { ...secret.metadata, labels } });
  await t.rejects(install(emptied).done, { name: 'InstallError', message: /is lost/, hint: /backup/ });
  t.equal(emptied.all<KubeObject & { data?: unknown }>(kinds.Secret)[0]?.data, undefined);
});

t.test('without Traefik nothing is written, and the hint says how to install it', async (t) => {
  const kube = fakeKube();
  await t.rejects(install(kube).done, { name: 'InstallError', message: /Traefik/, hint: /helm install/ });
  t.same(writes(kube), []);
});

t.test('the ingress is found inside the cluster by the port of an entry point', async (t) => {
  const findIngress = async (ingress: KubeObject[], changes: Partial<PlatformSettings> = {}) => {
    const kube = cluster(ingress);
    await install(kube, changes).done;
    return ingressAddress(kube);
  };
  t.equal(await findIngress(traefik()), 'https://traefik.kube-system.svc:443');
  const both = [
    { name: 'web', port: 80, protocol: 'TCP' },
    { name: 'websecure', port: 443, protocol: 'TCP' },
  ];
  t.equal(await findIngress(traefik('traefik', both), { entryPoints: ['web'] }), 'http://traefik.traefik.svc:80');
  t.equal(
    await findIngress(traefik('traefik', both), { entryPoints: ['websecure', 'web'] }),
    'https://traefik.traefik.svc:443',
  );
  t.equal(await findIngress(traefik('t', both), { entryPoints: ['inner', 'web'] }), 'http://traefik.t.svc:80');
  const quic = traefik('udp', [{ name: 'websecure', port: 443, protocol: 'UDP' }]);
  t.equal(
    await findIngress([...traefik(), ...quic]),
    'https://traefik.kube-system.svc:443',
    'HTTP/3 has a Service of its own',
  );
  const url = 'http://10.0.0.7:8000';
  t.equal(
    await findIngress([...traefik(), ...traefik('other')], { ingressAddress: url }),
    url,
    'the given value is used',
  );
});

t.test('a missing ingress is a warning, several are an error', async (t) => {
  const none = cluster(traefik('kube-system', [{ name: 'metrics', port: 9100 }]));
  const { done, log } = install(none);
  await done;
  t.equal(ingressAddress(none), undefined);
  await install(none, { ingressAddress: 'http://127.0.0.1:8080' }).done;
  const secondRun = install(none);
  await secondRun.done;
  t.equal(ingressAddress(none), 'http://127.0.0.1:8080', 'a value that was given before stays');
  t.same(secondRun.log, ['unchanged']);
  t.match(log[0], /^warning: .*port named websecure.*--ingress-address/);

  const several = cluster([...traefik(), ...traefik('edge')]);
  await t.rejects(install(several).done, {
    name: 'InstallError',
    message: /https:\/\/traefik.edge.svc:443, https:\/\/traefik.kube-system.svc:443/,
    hint: /--ingress-address/,
  });
  t.same(writes(several), [], 'before anything was changed');
});

t.test('the platform is scraped only while that is set and an operator is installed', async (t) => {
  const kube = cluster();
  await t.rejects(install(kube, { scrape: true }).done, {
    name: 'InstallError',
    message: /needs a Prometheus operator/,
  });
  t.same(writes(kube), []);
  kube.seed(definition('podmonitors.monitoring.coreos.com'));
  t.ok((await install(kube, { scrape: true }).done).created.includes('PodMonitor svc-system/svc-authz'));
  const secondRun = install(kube, { scrape: true });
  await secondRun.done;
  t.same(secondRun.log, ['unchanged']);
  const without = install(kube);
  await without.done;
  t.equal(without.log.at(-1), 'unchanged');
  t.ok(without.log.includes('deleted PodMonitor svc-system/svc-authz'));
  t.same(kube.all(kinds.PodMonitor), []);
  const metadata = { name: 'svc-authz', namespace: 'svc-system' };
  kube.seed({ apiVersion: kinds.PodMonitor.apiVersion, kind: 'PodMonitor', metadata });
  await install(kube).done;
  t.equal(kube.all(kinds.PodMonitor).length, 1, 'a foreign one is not changed');
});

t.test(
  'the smallest profile has one replica of each process without a budget, but two checkers with one',
  async (t) => {
    const kube = cluster();
    await install(kube).done;
    t.same(
      kube.all(kinds.PodDisruptionBudget).map(({ metadata }) => metadata.name),
      ['console-api', 'svc-authz', 'svc-interceptor'],
    );
    const report = await install(kube, { optional: { profile: 'nano' } }).done;
    t.same(
      report.updated,
      [
        'StatefulSet svc-system/svc-postgres',
        'StatefulSet svc-system/svc-redis',
        'PlatformConfig platform',
        ...['console-api', 'svc-workers', 'svc-controllers', 'svc-authz', 'svc-interceptor'].map(
          (name) => `Deployment svc-system/${name}`,
        ),
      ],
      'processes with one replica are probed less often, and the checkers have less memory',
    );
    const replicas = () =>
      Object.fromEntries(
        kube
          .all<KubeObject & { spec: { replicas: number } }>(kinds.Deployment)
          .map(({ metadata, spec }) => [metadata.name, spec.replicas]),
      );
    const budgets = () => kube.all(kinds.PodDisruptionBudget).map(({ metadata }) => metadata.name);
    const single = { 'console-api': 1, 'svc-controllers': 1, 'svc-interceptor': 1, 'svc-workers': 1 };
    t.same(replicas(), { ...single, 'svc-authz': 2 });
    t.same(budgets(), ['svc-authz']);
    await install(kube, { optional: { profile: 'nano' }, oneChecker: true }).done;
    t.same(replicas(), { ...single, 'svc-authz': 1 }, 'as the embedded cluster is installed');
    t.same(budgets(), []);
    const pace = (name: string) => kube.get<ProbedDeployment>(kinds.Deployment, name, 'svc-system').then(paceOf);
    t.same([await pace('svc-authz'), await pace('svc-interceptor')], [2, 10], 'a checker that hangs is removed soon');
  },
);

type ProbedDeployment = KubeObject & {
  spec: { template: { spec: { containers: { readinessProbe: { periodSeconds: number } }[] } } };
};

function paceOf(deployment: ProbedDeployment | undefined): number | undefined {
  return deployment?.spec.template.spec.containers[0]?.readinessProbe.periodSeconds;
}

t.test('a change of trusted proxies restarts only processes that use the client’s address', async (t) => {
  const kube = cluster();
  await install(kube).done;
  const report = await install(kube, { optional: { trustedProxies: ['10.0.0.0/8', '192.0.2.7/32'] } }).done;
  t.same(report.updated, [
    'PlatformConfig platform',
    'Deployment svc-system/console-api',
    'Deployment svc-system/svc-authz',
  ]);
  t.same(storedSettings(kube)?.spec.trustedProxies, ['10.0.0.0/8', '192.0.2.7/32']);
});

t.test(
  'the components of monitoring get their namespaces, accounts and password, and keep what an admin set',
  async (t) => {
    const kube = cluster();
    const monitoring = { mode: 'cluster', images: { 'metrics-store': 'r.example.com/m:1' } } as const;
    const report = await install(kube, { optional: { monitoring } }).done;
    const created = report.created;
    t.ok(created.indexOf('Namespace monitoring') < created.indexOf('Secret monitoring/grafana-admin'));
    t.ok(created.includes('ServiceAccount svc-log-shipper/log-shipper'));
    const password = kube
      .all<KubeObject & { data: Record<string, string> }>(kinds.Secret)
      .find(({ metadata }) => metadata.name === 'grafana-admin');
    t.equal(password?.metadata.namespace, 'monitoring');
    t.match(Buffer.from(password?.data['admin-password'] ?? '', 'base64').toString(), /^[\w-]{32}$/);

    const tokens = Object.fromEntries(
      kube
        .all<KubeObject & { data: Record<string, string> }>(kinds.Secret)
        .filter(({ metadata }) => metadata.name.endsWith('log-store'))
        .map(({ metadata, data }) => [metadata.namespace ?? '', data]),
    );
    t.same(tokens['monitoring'], { ...tokens['svc-log-shipper'], ...tokens['svc-system'] });
    t.same(Object.keys(tokens['svc-log-shipper'] ?? {}), ['append-token']);
    t.not(tokens['monitoring']?.['append-token'], tokens['monitoring']?.['read-token']);

    const stored = storedSettings(kube);
    const components = { 'metrics-store': { memory: '2Gi' }, dashboards: { enabled: false } };
    if (stored) await kube.replace({ ...stored, spec: { ...stored.spec, monitoring: { ...monitoring, components } } });
    const again = { mode: 'cluster', components: { 'log-store': { enabled: false } } } as const;
    await install(kube, { optional: { monitoring: again } }).done;
    t.same(storedSettings(kube)?.spec.monitoring, {
      ...monitoring,
      components: { ...components, 'log-store': { enabled: false } },
    });
    const { log, done } = install(kube, { optional: { monitoring: again } });
    await done;
    t.same(log, ['unchanged']);
  },
);

t.test(
  'the stores of an embedded cluster stay parts of its process when it is installed without its flags',
  async (t) => {
    const kube = cluster();
    await install(kube, { optional: { monitoring: { mode: 'embedded' } } }).done;
    const images = { 'log-store': 'r.example.com/platform:1' };
    const report = await install(kube, { optional: { monitoring: { mode: 'cluster', images } } }).done;
    t.same(storedSettings(kube)?.spec.monitoring, { mode: 'embedded' });
    t.notMatch(report.created.join(), /monitoring|log-shipper|grafana/);
  },
);

t.test('a monitoring stack that the cluster has is left alone, with a warning', async (t) => {
  const kube = cluster();
  kube.seed({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'monitoring' } });
  const { log, done } = install(kube, { optional: { monitoring: { mode: 'cluster' } } });
  const report = await done;
  t.match(log, [/^warning: the namespace monitoring exists, and svc did not create it/]);
  t.notMatch(report.created.join(), /monitoring|log-shipper|grafana/);
  t.equal(storedSettings(kube)?.spec.monitoring, undefined);
});

t.test('settings without a flag keep their current values', async (t) => {
  const kube = cluster();
  await install(kube, { optional: { profile: 'nano' } }).done;
  const since: Partial<PlatformConfig['spec']> = {
    profile: 'large',
    trustedProxies: ['192.0.2.7/32'],
    defaultLimits: { pods: 5 },
  };
  const stored = storedSettings(kube);
  if (stored) await kube.replace({ ...stored, spec: { ...stored.spec, ...since } });
  const images = { ...settings.images, functionNode: 'r.example.com/f:2' };
  await install(kube, { images }).done;
  t.match(storedSettings(kube)?.spec, { ...since, runtimeImages: { node: 'r.example.com/f:2' } });
  t.match(command(kube, 'svc-authz'), ['--trusted-proxy', '192.0.2.7/32']);
  const { intercept } = kube;
  kube.intercept = async (call) => {
    await intercept?.(call);
    const live = storedSettings(kube);
    if (call.verb !== 'get' || call.kind !== 'Namespace' || !live) return;
    kube.intercept = intercept;
    await kube.replace({ ...live, spec: { ...live.spec, allowPrivateNetworks: ['10.0.0.0/8'] } });
  };
  await install(kube, { images: settings.images }).done;
  t.match(
    storedSettings(kube)?.spec,
    { ...since, allowPrivateNetworks: ['10.0.0.0/8'] },
    'even before the controllers have accepted them',
  );
  await install(kube, { optional: { profile: 'small' } }).done;
  t.match(storedSettings(kube)?.spec, { ...since, profile: 'small' }, 'named settings are used');
});

t.test('checkers on the ingress’s own node are preferred, where Kubernetes can prefer them', async (t) => {
  const preference = (kube: FakeKube) => {
    const service = kube.all(kinds.Service).find(({ metadata }) => metadata.name === 'svc-authz');
    return (service?.spec as V1ServiceSpec | undefined)?.trafficDistribution;
  };
  const kube = cluster();
  await install(kube).done;
  t.equal(preference(kube), 'PreferSameNode');
  const single = cluster();
  await install(single, { oneChecker: true }).done;
  t.equal(preference(single), undefined, 'a single checker has no other to be preferred to');

  const older = cluster();
  const create = older.create.bind(older);
  older.create = (object) => {
    if (JSON.stringify(object).includes('PreferSameNode'))
      throw new KubeError(422, 'Invalid', 'supported: PreferClose');
    return create(object);
  };
  await install(older).done;
  t.equal(preference(older), undefined);
});

t.test('optional images, registries and build settings without a flag are kept', async (t) => {
  const kube = cluster();
  const builds = {
    image: 'r.example.com/b:1',
    registry: 'r.example.com/builds',
    pushAddress: 'http://10.0.0.5:5000',
    atOnce: 4,
    timeoutSeconds: 3600,
    gitNetworks: ['10.20.0.0/16'],
    baseImages: { node: 'r.example.com/n:1' },
  };
  const images = {
    ...settings.images,
    functionPython: 'r.example.com/y:1',
    mysql: 'r.example.com/m:1',
    mongodb: 'mongo:8',
  };
  const packageRegistries = { npm: 'https://npm.example.com', pypi: 'https://pypi.example.com/simple' };
  const caCertificates = selfSignedCertificate('root', { names: [], addresses: [] }, new Date()).certificate;
  await install(kube, { images, optional: { builds, packageRegistries, caCertificates } }).done;
  t.same(await installedImages(kube), settings.images);
  const secondRun = install(kube);
  await secondRun.done;
  t.same(secondRun.log, ['unchanged']);
  const image = 'r.example.com/b:2';
  const buildSettings = { image, registry: builds.registry, baseImages: { python: 'r.example.com/y:2' } };
  const npm = 'https://other.example.com';
  const optionalSettings = { builds: buildSettings, packageRegistries: { npm } };
  await install(kube, { images: { ...settings.images, mysql: 'r.example.com/m:2' }, optional: optionalSettings }).done;
  t.match(storedSettings(kube)?.spec, {
    runtimeImages: { node: 'r.example.com/f:1', python: 'r.example.com/y:1' },
    serviceImages: { mysql: 'r.example.com/m:2', mongodb: 'mongo:8' },
    packageRegistries: { npm, pypi: packageRegistries.pypi },
    caCertificates,
    builds: { ...builds, image, baseImages: { node: 'r.example.com/n:1', python: 'r.example.com/y:2' } },
  });
  await install(kube, { optional: { builds: { ...buildSettings, registry: 'other.example.com/builds' } } }).done;
  t.equal(storedSettings(kube)?.spec.builds?.pushAddress, undefined, 'the address belonged to the other registry');
  t.same(await installedImages(fakeKube()), {});
});

t.test('a rejected edit of the settings is replaced by the active settings', async (t) => {
  const kube = cluster();
  await install(kube, { optional: { trustedProxies: ['192.0.2.7/32'] } }).done;
  const stored = storedSettings(kube);
  if (!stored) throw new Error('there are no settings');
  const accepted = { generation: 1, spec: stored.spec };
  const edited = await kube.replace({ ...stored, spec: { ...stored.spec, trustedProxies: ['x'] } });
  await kube.replaceStatus({ ...edited, status: { accepted } });
  await install(kube).done;
  t.same(storedSettings(kube)?.spec.trustedProxies, ['192.0.2.7/32']);
});

t.test('invalid settings are refused before anything is changed', async (t) => {
  const kube = cluster();
  await install(kube).done;
  const before = writes(kube).length;
  await t.rejects(install(kube, { appsDomain: 'other.example.com' }).done, {
    name: 'InstallError',
    message: /appsDomain: "apps.example.com" cannot be changed to "other.example.com"/,
    hint: /kubectl delete platformconfig platform/,
  });
  await t.rejects(install(kube, { optional: { trustedProxies: ['0.0.0.0/0'] } }).done, {
    message: /matches all addresses/,
  });
  t.equal(writes(kube).length, before);
  await kube.delete({ apiVersion: 'platform.svc/v1', kind: 'PlatformConfig', name: 'platform' });
  await install(kube, { appsDomain: 'other.example.com' }).done;
  t.equal(storedSettings(kube)?.spec.appsDomain, 'other.example.com');
});

t.test('a process that is not ready in time is named with its reason', async (t) => {
  const kube = cluster();
  bringUp(kube, (name) => name !== 'svc-workers');
  kube.seed({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'svc-workers-1', namespace: 'svc-system', labels: { app: 'svc-workers' } },
    status: {
      containerStatuses: [
        {
          name: 'x',
          ready: false,
          restartCount: 0,
          state: { waiting: { reason: 'ErrImagePull', message: 'not found\nmore' } },
        },
      ],
    },
  });
  const { done, log, clock } = install(kube);
  const ended = t.rejects(done, {
    name: 'InstallError',
    message: 'The platform was not ready in time: svc-workers (0 of 1 ready: ErrImagePull, not found).',
  });
  await clock.advance(61_000);
  await ended;
  t.equal(log.filter((line) => line.startsWith('waiting for')).length, 1, 'the same wait is reported once');
});
