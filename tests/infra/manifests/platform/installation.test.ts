import t from 'tap';
import type { NetworkPolicy } from '../../../../infra/manifests/environment-network.ts';
import { installation } from '../../../../infra/manifests/platform/installation.ts';
import type { Manifest } from '../../../../infra/manifests/platform/object.ts';
import { processNames, proxyAwareProcesses } from '../../../../infra/manifests/platform/processes.ts';
import type { PlatformSettings } from '../../../../infra/manifests/platform/settings.ts';
import { parseTrustedProxies } from '../../../../runtime/domain/trusted-proxies.ts';
import { passes, type End } from '../../../support/network-policy.ts';
import { processArguments } from '../../../support/process-arguments.ts';

const settings: PlatformSettings = {
  appsDomain: 'apps.example.com',
  cluster: 'home',
  scheme: 'https',
  entryPoints: ['websecure'],
  optional: {},
  scrape: false,
  images: {
    platform: 'registry.example.com/svc/platform:1',
    functionNode: 'registry.example.com/svc/function-node:1',
    postgres: 'registry.example.com/svc/postgres:1',
    redis: 'registry.example.com/svc/redis:1',
  },
  adminEmail: 'admin@example.com',
  failpoints: false,
};

function objects(changes: Partial<PlatformSettings> = {}): Manifest[] {
  const { namespace, environmentRoles, access, stores, platform } = installation({ ...settings, ...changes });
  return [namespace, ...environmentRoles, ...access, ...stores, ...platform];
}

function find(kind: string, name: string, changes: Partial<PlatformSettings> = {}): Manifest {
  const object = objects(changes).find((object) => object.kind === kind && object.metadata.name === name);
  if (!object) throw new Error(`no ${kind} ${name}`);
  return object;
}

interface Container {
  name: string;
  command?: string[];
  args?: string[];
  env?: { name: string; value?: string }[];
  volumeMounts: { name: string; mountPath: string }[];
  securityContext: object;
  resources: { requests: { cpu?: string }; limits: object };
}
interface PodSpec {
  serviceAccountName: string;
  automountServiceAccountToken: boolean;
  securityContext: object;
  initContainers?: Container[];
  containers: Container[];
  volumes: { name: string; emptyDir?: object; secret?: { secretName: string } }[];
}
interface Workload {
  replicas: number;
  selector: { matchLabels: Record<string, string> };
  template: { metadata: { labels: Record<string, string> }; spec: PodSpec };
}

function workloads(changes: Partial<PlatformSettings> = {}): [Manifest, Workload][] {
  return objects(changes)
    .filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')
    .map((object) => [object, object.spec as Workload]);
}

t.test('the objects of an installation', (t) => {
  t.same(
    objects().map(({ kind, metadata }) => `${kind} ${metadata.name}`),
    [
      'Namespace svc-system',
      'ClusterRole platform.svc:console-api:environment',
      'ClusterRole platform.svc:svc-workers:environment',
      'ClusterRole platform.svc:svc-controllers:environment',
      'ClusterRole platform.svc:svc-interceptor:environment',
      'Namespace svc-builds',
      'ServiceAccount console-api',
      'ClusterRole platform.svc:console-api',
      'ClusterRoleBinding platform.svc:console-api',
      'Role console-api',
      'RoleBinding console-api',
      'ServiceAccount svc-workers',
      'ClusterRole platform.svc:svc-workers',
      'ClusterRoleBinding platform.svc:svc-workers',
      'Role svc-workers',
      'RoleBinding svc-workers',
      'ServiceAccount svc-controllers',
      'ClusterRole platform.svc:svc-controllers',
      'ClusterRoleBinding platform.svc:svc-controllers',
      'Role svc-controllers',
      'RoleBinding svc-controllers',
      'Role svc-controllers',
      'RoleBinding svc-controllers',
      'ServiceAccount svc-authz',
      'ServiceAccount svc-interceptor',
      'ClusterRole platform.svc:svc-interceptor',
      'ClusterRoleBinding platform.svc:svc-interceptor',
      'ServiceAccount svc-postgres',
      'ServiceAccount svc-redis',
      'NetworkPolicy svc-stores',
      'Service svc-postgres',
      'StatefulSet svc-postgres',
      'Service svc-redis',
      'StatefulSet svc-redis',
      'PlatformConfig platform',
      'Service console-api',
      'Service svc-authz',
      'Service svc-interceptor',
      'Service svc-events',
      'PodDisruptionBudget console-api',
      'PodDisruptionBudget svc-authz',
      'PodDisruptionBudget svc-interceptor',
      'Deployment console-api',
      'Deployment svc-workers',
      'Deployment svc-controllers',
      'Deployment svc-authz',
      'Deployment svc-interceptor',
      'Middleware console-api-retry',
      'Middleware console-api-sign-in-body',
      'IngressRoute console-api',
    ],
  );
  for (const { kind, metadata } of objects()) {
    t.equal(metadata.labels?.['app.kubernetes.io/managed-by'], 'kipper', `${kind} ${metadata.name}`);
    const clusterWide = /^(Namespace|ClusterRole|ClusterRoleBinding|PlatformConfig)$/.test(kind);
    const own = ['svc-system', ...(kind.startsWith('Role') ? ['svc-builds'] : [])];
    t.ok(clusterWide ? metadata.namespace === undefined : own.includes(metadata.namespace ?? ''), metadata.name);
  }
  t.same(objects(), objects(), 'the same settings make the same objects');
  t.end();
});

t.test('only the platform’s own pods reach the stores', (t) => {
  const policy = find('NetworkPolicy', 'svc-stores') as NetworkPolicy;
  const pod = (name: string, app: string): End => ({ namespace: { name, labels: {} }, labels: { app } });
  for (const app of ['svc-postgres', 'svc-redis']) {
    const reaches = (from: End) => passes([policy], { from, to: pod('svc-system', app), port: 5432 });
    t.ok(reaches(pod('svc-system', 'console-api')));
    t.notOk(reaches(pod('shop-prod', 'console-api')));
    t.notOk(reaches({ address: '10.1.2.3' }));
  }
  t.end();
});

t.test('console-api', (t) => {
  const environment = [
    { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'POD_NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
    { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
    { name: 'DATABASE_PASSWORD_FILE', value: '/var/run/svc/database/password' },
    { name: 'ENCRYPTION_KEYS_FILE', value: '/var/run/svc/encryption/keys.json' },
    { name: 'ADMIN_EMAIL', value: 'admin@example.com' },
    { name: 'ADMIN_PASSWORD_FILE', value: '/var/run/svc/admin/password' },
    { name: 'ALERTMANAGER_URL', value: 'http://alertmanager.monitoring.svc:9093' },
    { name: 'METRICS_STORE_URL', value: 'http://prometheus.monitoring.svc:9090' },
    { name: 'BASE_URL', value: 'https://console.apps.example.com' },
  ];
  const shared = {
    image: 'registry.example.com/svc/platform:1',
    env: environment,
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
    volumeMounts: [
      { name: 'tmp', mountPath: '/tmp' },
      { name: 'svc-database', mountPath: '/var/run/svc/database', readOnly: true },
      { name: 'svc-encryption-keys', mountPath: '/var/run/svc/encryption', readOnly: true },
      { name: 'svc-admin', mountPath: '/var/run/svc/admin', readOnly: true },
      { name: 'svc-log-store', mountPath: '/var/run/svc/log-store', readOnly: true },
    ],
    resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } },
  };
  const health = { path: '/health', port: 'admin' };
  t.same(find('Deployment', 'console-api'), {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name: 'console-api',
      namespace: 'svc-system',
      labels: { 'app.kubernetes.io/managed-by': 'kipper', app: 'console-api' },
    },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'console-api' } },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: {
        metadata: { labels: { 'app.kubernetes.io/managed-by': 'kipper', app: 'console-api' } },
        spec: {
          serviceAccountName: 'console-api',
          automountServiceAccountToken: true,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: 40,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 10_001,
            runAsGroup: 10_001,
            fsGroup: 10_001,
            fsGroupChangePolicy: 'OnRootMismatch',
            seccompProfile: { type: 'RuntimeDefault' },
          },
          initContainers: [{ name: 'migrate', ...shared, command: ['tini', '--', 'node', 'runtime/db/main.ts'] }],
          containers: [
            {
              name: 'console-api',
              ...shared,
              command: ['tini', '--', 'node', '--max-semi-space-size=4', 'functions/main.ts'],
              ports: [
                { name: 'http', containerPort: 8080, protocol: 'TCP' },
                { name: 'admin', containerPort: 8081, protocol: 'TCP' },
                { name: 'events', containerPort: 8082, protocol: 'TCP' },
              ],
              startupProbe: { httpGet: health, periodSeconds: 1, failureThreshold: 60 },
              livenessProbe: {
                httpGet: health,
                periodSeconds: 5,
                timeoutSeconds: 5,
                failureThreshold: 3,
                terminationGracePeriodSeconds: 5,
              },
              readinessProbe: { httpGet: { path: '/ready', port: 'admin' }, periodSeconds: 2, timeoutSeconds: 2 },
            },
          ],
          volumes: [
            { name: 'tmp', emptyDir: {} },
            { name: 'svc-database', secret: { secretName: 'svc-database', defaultMode: 0o440 } },
            { name: 'svc-encryption-keys', secret: { secretName: 'svc-encryption-keys', defaultMode: 0o440 } },
            { name: 'svc-admin', secret: { secretName: 'svc-admin', defaultMode: 0o440 } },
            { name: 'svc-log-store', secret: { secretName: 'svc-log-store', defaultMode: 0o440 } },
          ],
          tolerations: ['not-ready', 'unreachable'].map((state) => ({
            key: `node.kubernetes.io/${state}`,
            operator: 'Exists',
            effect: 'NoExecute',
            tolerationSeconds: 10,
          })),
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'kubernetes.io/hostname',
              whenUnsatisfiable: 'ScheduleAnyway',
              labelSelector: { matchLabels: { app: 'console-api' } },
              matchLabelKeys: ['pod-template-hash'],
            },
          ],
        },
      },
    },
  });
  t.same(find('Service', 'console-api').spec, {
    selector: { app: 'console-api' },
    ports: [{ name: 'http', port: 80, targetPort: 'http', protocol: 'TCP' }],
  });
  t.match(find('Service', 'svc-authz').spec, { trafficDistribution: 'PreferSameNode' });
  t.same(find('IngressRoute', 'console-api').spec, {
    entryPoints: ['websecure'],
    routes: [
      {
        kind: 'Rule',
        match: 'Host(`console.apps.example.com`)',
        services: [{ name: 'console-api', port: 80 }],
        middlewares: [{ name: 'console-api-retry' }],
      },
      {
        kind: 'Rule',
        match: '(Host(`console.apps.example.com`)) && Path(`/api/v1/session`)',
        services: [{ name: 'console-api', port: 80 }],
        middlewares: [{ name: 'console-api-sign-in-body' }, { name: 'console-api-retry' }],
      },
    ],
  });
  t.same(find('Middleware', 'console-api-retry').spec, { retry: { attempts: 2 } });
  t.same(find('Middleware', 'console-api-sign-in-body').spec, { buffering: { maxRequestBodyBytes: 8192 } });
  t.end();
});

t.test('PostgreSQL keeps its data on a claimed volume and writes nowhere else', (t) => {
  t.match(find('StatefulSet', 'svc-postgres').spec, {
    serviceName: 'svc-postgres',
    replicas: 1,
    template: {
      spec: {
        automountServiceAccountToken: false,
        containers: [
          {
            image: 'registry.example.com/svc/postgres:1',
            env: [{ name: 'POSTGRES_PASSWORD_FILE', value: '/var/run/svc/database/password' }],
            volumeMounts: [
              { name: 'data', mountPath: '/var/lib/svc/postgres' },
              { name: 'tmp', mountPath: '/tmp' },
              { name: 'run', mountPath: '/run' },
              { name: 'svc-database', mountPath: '/var/run/svc/database', readOnly: true },
            ],
          },
        ],
      },
    },
    volumeClaimTemplates: [{ spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '5Gi' } } } }],
  });
  t.match(find('StatefulSet', 'svc-redis').spec, {
    template: {
      spec: {
        containers: [
          {
            image: 'registry.example.com/svc/redis:1',
            env: [
              { name: 'REDIS_MAXMEMORY', value: '402653184' },
              { name: 'REDIS_PASSWORD_FILE', value: '/var/run/svc/redis/password' },
            ],
          },
        ],
      },
    },
    volumeClaimTemplates: [{ spec: { resources: { requests: { storage: '1Gi' } } } }],
  });
  t.end();
});

t.test(
  'processes that serve requests have two replicas, on different nodes if possible, and a disruption budget',
  (t) => {
    for (const name of ['console-api', 'svc-authz', 'svc-interceptor']) {
      t.match(find('Deployment', name).spec, {
        replicas: 2,
        strategy: { rollingUpdate: { maxUnavailable: 0 } },
        template: {
          spec: {
            topologySpreadConstraints: [
              {
                topologyKey: 'kubernetes.io/hostname',
                whenUnsatisfiable: 'ScheduleAnyway',
                labelSelector: { matchLabels: { app: name } },
                matchLabelKeys: ['pod-template-hash'],
              },
            ],
          },
        },
      });
      t.same(find('PodDisruptionBudget', name).spec, { minAvailable: 1, selector: { matchLabels: { app: name } } });
    }
    t.end();
  },
);

t.test('a checker has memory for a million keys, and for half as many with the profile nano', (t) => {
  const limit = (optional: PlatformSettings['optional']) =>
    workloads({ optional })
      .filter(([{ metadata }]) => metadata.name === 'svc-authz')
      .map(([, { template }]) => template.spec.containers[0]?.resources?.limits);
  t.same(
    [limit({}), limit({ profile: 'large' }), limit({ profile: 'nano' })],
    [[{ memory: '1Gi' }], [{ memory: '1Gi' }], [{ memory: '512Mi' }]],
  );
  t.end();
});

t.test('what requests of users wait for has the larger CPU requests', (t) => {
  const requests = workloads().map(([{ metadata }, { template }]) => {
    return [metadata.name, template.spec.containers[0]?.resources.requests.cpu];
  });
  t.match(Object.fromEntries(requests), {
    'svc-authz': '100m',
    'svc-interceptor': '100m',
    'svc-postgres': '100m',
    'console-api': '50m',
    'svc-redis': '50m',
    'svc-workers': '25m',
    'svc-controllers': '25m',
  });
  t.end();
});

t.test('every pod meets pod security `restricted`, with a read-only root and a memory limit', (t) => {
  t.match(find('Namespace', 'svc-system').metadata.labels, { 'pod-security.kubernetes.io/enforce': 'restricted' });
  for (const [{ metadata }, { selector, template }] of workloads({ failpoints: true })) {
    const { spec } = template;
    t.match(template.metadata.labels, selector.matchLabels, metadata.name);
    t.match(spec.securityContext, { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    t.equal(spec.serviceAccountName, metadata.name);
    for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
      t.same(container.securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      t.hasOwnProps(container.resources.requests, ['cpu', 'memory']);
      t.hasOwnProps(container.resources.limits, ['memory']);
      const volumes = spec.volumes.map(({ name }) => name);
      for (const mount of container.volumeMounts) t.ok(mount.name === 'data' || volumes.includes(mount.name));
    }
  }
  t.end();
});

t.test('secrets are files in the pods that need them, and never in variables', (t) => {
  const mounted = Object.fromEntries(
    workloads().map(([{ metadata }, { template }]) => [
      metadata.name,
      template.spec.volumes.flatMap(({ secret }) => secret?.secretName ?? []),
    ]),
  );
  t.same(mounted, {
    'svc-postgres': ['svc-database'],
    'svc-redis': ['svc-redis'],
    'console-api': ['svc-database', 'svc-encryption-keys', 'svc-admin', 'svc-log-store'],
    'svc-workers': ['svc-database', 'svc-redis', 'svc-encryption-keys', 'svc-log-store'],
    'svc-controllers': ['svc-database', 'svc-gate-probe'],
    'svc-authz': ['svc-database', 'svc-gate-probe'],
    'svc-interceptor': [],
  });
  for (const [, { template }] of workloads()) {
    for (const container of template.spec.containers) {
      const secretive = (container.env ?? []).filter(({ name }) => /PASSWORD|KEY|TOKEN|SECRET/.test(name));
      for (const { name, value } of secretive) t.match(value, /^\/var\/run\/svc\//, name);
    }
  }
  t.end();
});

t.test('only processes that use the client’s address get the trusted proxies', (t) => {
  const commands = (trustedProxies: string[]) =>
    workloads({ optional: { trustedProxies } }).map(
      ([{ metadata }, { template }]) =>
        [metadata.name, processArguments(template.spec.containers[0]?.command)] as const,
    );
  for (const [name, proxies] of commands(['10.0.0.0/8', '192.0.2.7/32'])) {
    const aware = proxyAwareProcesses.some((aware) => aware === name);
    t.same(proxies, aware ? ['--trusted-proxy', '10.0.0.0/8', '--trusted-proxy', '192.0.2.7/32'] : [], name);
    const isTrusted = parseTrustedProxies([...proxies]);
    t.same(['10.1.2.3', '192.0.2.7', '192.0.2.8'].map(isTrusted), [aware, aware, false], 'as they read them');
  }
  t.same(find('PlatformConfig', 'platform', { optional: { trustedProxies: ['10.0.0.0/8'], profile: 'nano' } }).spec, {
    ...(find('PlatformConfig', 'platform').spec as object),
    trustedProxies: ['10.0.0.0/8'],
    profile: 'nano',
  });
  t.end();
});

t.test('the processes’ metrics are scraped only with the setting', (t) => {
  t.notMatch(JSON.stringify(objects()), /PodMonitor/);
  t.same(find('PodMonitor', 'svc-authz', { scrape: true }), {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PodMonitor',
    metadata: {
      name: 'svc-authz',
      namespace: 'svc-system',
      labels: { 'app.kubernetes.io/managed-by': 'kipper', app: 'svc-authz' },
    },
    spec: {
      selector: { matchLabels: { app: 'svc-authz' } },
      podMetricsEndpoints: [{ port: 'admin', path: '/metrics', interval: '15s', honorLabels: true }],
    },
  });
  for (const name of processNames) t.ok(find('PodMonitor', name, { scrape: true }), name);
  t.end();
});

t.test('failpoints exist only with the setting', (t) => {
  t.notMatch(JSON.stringify(objects()), /failpoints/i);
  const { template } = find('Deployment', 'svc-workers', { failpoints: true }).spec as Workload;
  t.match(template.spec, {
    containers: [{ volumeMounts: [{}, {}, {}, {}, {}, { name: 'failpoints', mountPath: '/failpoints' }] }],
    volumes: [{}, {}, {}, {}, {}, { name: 'failpoints', emptyDir: {} }],
  });
  t.match(template.spec.containers[0]?.env?.at(-1), { name: 'SVC_FAILPOINTS_DIR', value: '/failpoints' });
  t.end();
});

t.test(
  'each mounted secret is in a variable, because the embedded cluster has other paths and translates those',
  (t) => {
    const mounts = processNames.flatMap((process) => {
      const { spec } = find('Deployment', process, { logStoreUrl: 'http://logs' }) as unknown as { spec: Workload };
      const { volumes, containers } = spec.template.spec;
      const secrets = volumes.flatMap(({ name, secret }) => (secret ? [name] : []));
      return containers.flatMap(({ env = [], volumeMounts }) =>
        volumeMounts
          .filter(({ name }) => secrets.includes(name))
          .map(({ mountPath }) => ({
            mountPath,
            isNamed: env.some(({ value }) => value?.startsWith(`${mountPath}/`)),
          })),
      );
    });
    t.ok(mounts.some(({ mountPath }) => mountPath === '/var/run/svc/log-store'));
    t.same(
      mounts.filter(({ isNamed }) => !isNamed),
      [],
    );
    t.end();
  },
);

t.test('console-api and svc-workers read the log store of the cluster, or another one', (t) => {
  const urlOf = (changes: Partial<PlatformSettings>, process = 'console-api') => {
    const { spec } = installation({ ...settings, ...changes }).platform.find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name === process,
    ) as unknown as { spec: { template: { spec: { containers: { env: { name: string; value?: string }[] }[] } } } };
    return spec.template.spec.containers[0]?.env.find(({ name }) => name === 'LOG_STORE_URL')?.value;
  };
  t.equal(urlOf({}), undefined);
  t.equal(urlOf({ optional: { monitoring: { mode: 'embedded' } } }), undefined);
  t.equal(urlOf({ optional: { monitoring: { mode: 'cluster' } } }), 'http://log-store.monitoring.svc:3100');
  const own = { optional: { monitoring: { mode: 'cluster' } }, logStoreUrl: 'http://logs' } as const;
  for (const process of ['console-api', 'svc-workers']) t.equal(urlOf(own, process), 'http://logs');
  t.end();
});

t.test('processes read the settings from PlatformConfig, and the console its URL from a variable', (t) => {
  const ingressAddress = 'http://traefik.traefik.svc:80';
  const local = { scheme: 'http', publicPort: 18_080, entryPoints: ['web'], appsDomain: 'apps.localhost' } as const;
  const changes = { ...local, entryPoints: [...local.entryPoints], ingressAddress };
  t.same(find('PlatformConfig', 'platform', changes).spec, {
    appsDomain: 'apps.localhost',
    cluster: 'home',
    scheme: 'http',
    publicPort: 18_080,
    entryPoints: ['web'],
    ingressAddress,
    runtimeImages: { node: 'registry.example.com/svc/function-node:1' },
    serviceImages: { postgres: 'registry.example.com/svc/postgres:1', redis: 'registry.example.com/svc/redis:1' },
  });
  const { template } = find('Deployment', 'console-api', changes).spec as Workload;
  t.match(template.spec.containers[0]?.env?.at(-1), { name: 'BASE_URL', value: 'http://console.apps.localhost:18080' });
  t.end();
});
