import t from 'tap';
import type { NetworkPolicy } from '../../../../infra/manifests/environment-network.ts';
import { monitoringAccess } from '../../../../infra/manifests/monitoring/access.ts';
import { componentImage, monitoringComponents } from '../../../../infra/manifests/monitoring/components.ts';
import { componentNames, type ComponentName } from '../../../../infra/manifests/monitoring/component.ts';
import { clientsOf } from '../../../../infra/manifests/monitoring/network.ts';
import type { KubeObject } from '../../../../runtime/contracts/kubernetes.ts';
import type { MonitoringSettings } from '../../../../runtime/contracts/resources/monitoring.ts';
import { logStoreSecrets } from '../../../../infra/manifests/platform/log-store-secrets.ts';
import { loadLogStoreConfig } from '../../../../runtime/process/config.ts';
import { passes, type End } from '../../../support/network-policy.ts';

const image = 'registry.example.com/component:1';

function objectsOf(name: ComponentName, options: Pick<MonitoringSettings, 'ingressMetrics'> = {}): KubeObject[] {
  return monitoringComponents(options)[name]?.objects({ image, memory: '1Gi' }) ?? [];
}

const all = () => componentNames.flatMap((name) => objectsOf(name));

interface Workload {
  replicas?: number;
  podManagementPolicy?: string;
  serviceName?: string;
  selector: { matchLabels: Record<string, string> };
  template: {
    metadata: { labels: Record<string, string>; annotations?: Record<string, string> };
    spec: {
      serviceAccountName: string;
      automountServiceAccountToken: boolean;
      hostNetwork?: boolean;
      hostPID?: boolean;
      securityContext: object;
      tolerations?: object[];
      containers: {
        args?: string[];
        env?: { name: string; value?: string }[];
        resources: { requests: Record<string, string>; limits: Record<string, string> };
        securityContext: object;
        volumeMounts: { name: string; mountPath: string }[];
      }[];
      volumes: { name: string; hostPath?: object; secret?: { secretName: string } }[];
    };
  };
  volumeClaimTemplates?: { metadata: { name: string; labels: object }; spec: { resources: object } }[];
}

const isWorkload = ({ kind }: KubeObject) => /^(StatefulSet|DaemonSet|Deployment)$/.test(kind);

function workload(name: ComponentName, options = {}): Workload {
  return objectsOf(name, options).find(isWorkload)?.spec as Workload;
}

t.test('the objects of the components, in the order in which they are applied', (t) => {
  t.same(
    all().map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`),
    [
      'NetworkPolicy monitoring/metrics-store',
      'ConfigMap monitoring/prometheus',
      'Service monitoring/prometheus',
      'StatefulSet monitoring/prometheus',
      'NetworkPolicy monitoring/node-exporter',
      'DaemonSet monitoring/node-exporter',
      ...['NetworkPolicy', 'ConfigMap', 'Service', 'StatefulSet'].map((kind) => `${kind} monitoring/alertmanager`),
      'NetworkPolicy monitoring/log-store',
      'Service monitoring/log-store',
      'StatefulSet monitoring/log-store',
      'NetworkPolicy svc-log-shipper/log-shipper',
      'DaemonSet svc-log-shipper/log-shipper',
      'NetworkPolicy monitoring/dashboards',
      'ConfigMap monitoring/grafana',
      'Service monitoring/grafana',
      'Deployment monitoring/grafana',
    ],
  );
  t.match(objectsOf('metrics-store')[2]?.spec, { ports: [{ port: 9090 }], selector: { app: 'metrics-store' } });
  t.match(objectsOf('dashboards')[2]?.spec, { ports: [{ port: 80, targetPort: 'http' }] });
  t.notMatch(JSON.stringify(all()), /IngressRoute|LoadBalancer|NodePort/, 'nothing is public');
  t.end();
});

t.test(
  'every pod but the shipper’s meets `restricted`, mounts nothing of the node, and requests half of its limit',
  (t) => {
    for (const object of all().filter((object) => isWorkload(object) && object.metadata.name !== 'log-shipper')) {
      const { selector, template } = object.spec as Workload;
      const { spec } = template;
      t.match(template.metadata.labels, selector.matchLabels);
      t.match(spec.securityContext, { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      t.notOk(spec.hostNetwork ?? spec.hostPID);
      t.notOk(spec.volumes.some(({ hostPath }) => hostPath));
      for (const { resources, securityContext, volumeMounts } of spec.containers) {
        t.match(resources, { requests: { memory: '512Mi' }, limits: { memory: '1Gi' } });
        t.same(securityContext, {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        const volumes = new Set([...spec.volumes.map(({ name }) => name), 'data']);
        for (const { name } of volumeMounts) t.ok(volumes.has(name), name);
      }
    }
    t.end();
  },
);

t.test('Prometheus keeps three days, less than its claim holds, and bounds what one query uses', (t) => {
  const { podManagementPolicy, template, volumeClaimTemplates } = workload('metrics-store');
  const [container] = template.spec.containers;
  const args = container?.args?.join(' ') ?? '';
  t.match(args, /--storage\.tsdb\.retention\.time=3d --storage\.tsdb\.retention\.size=4GB/);
  t.match(args, /--query\.timeout=30s --query\.max-concurrency=8 --query\.max-samples=5000000/);
  t.match(volumeClaimTemplates, [
    {
      metadata: { name: 'data', labels: { 'app.kubernetes.io/managed-by': 'kipper' } },
      spec: { resources: { requests: { storage: '5Gi' } } },
    },
  ]);
  t.equal(podManagementPolicy, 'Parallel', 'so that a pod that is killed for memory again and again is replaced');
  t.match(container?.env, [{ name: 'GOMEMLIMIT', value: String(Math.floor(0.9 * 2 ** 30)) }]);
  t.end();
});

t.test(
  'the address of the ingress is collected if it is known, and a change of the configuration restarts the pod',
  (t) => {
    const digest = (options: object) => workload('metrics-store', options).template.metadata.annotations;
    const ingressMetrics = 'traefik.kube-system.svc:9100';
    t.not(JSON.stringify(digest({})), JSON.stringify(digest({ ingressMetrics })));
    t.same(digest({}), digest({}));
    const configuration = (options: object) =>
      JSON.parse(
        (objectsOf('metrics-store', options)[1] as unknown as { data: Record<string, string> }).data[
          'prometheus.yaml'
        ] ?? '',
      ) as { scrape_configs: { job_name: string; static_configs?: object[] }[] };
    const jobs = (options: object) => configuration(options).scrape_configs.map(({ job_name: job }) => job);
    t.same(jobs({}), ['svc']);
    t.same(jobs({ ingressMetrics }), ['svc', 'ingress']);
    t.same(configuration({ ingressMetrics }).scrape_configs.at(-1)?.static_configs, [{ targets: [ingressMetrics] }]);
    t.end();
  },
);

t.test('dashboards are for the user admin, whose password is a file from a Secret', (t) => {
  const { spec } = workload('dashboards').template;
  const variables = Object.fromEntries((spec.containers[0]?.env ?? []).map(({ name, value }) => [name, value]));
  t.match(variables, {
    GF_SECURITY_ADMIN_USER: 'admin',
    GF_SECURITY_ADMIN_PASSWORD__FILE: '/var/run/svc/grafana/admin-password',
    GF_AUTH_ANONYMOUS_ENABLED: 'false',
    GF_USERS_ALLOW_SIGN_UP: 'false',
  });
  t.match(
    spec.volumes.find(({ secret }) => secret),
    { name: 'grafana-admin', secret: { secretName: 'grafana-admin' } },
  );
  const { data } = objectsOf('dashboards')[1] as unknown as { data: Record<string, string> };
  t.same(Object.keys(data), [
    'datasource.yaml',
    'dashboards.yaml',
    ...['platform', 'gate', 'workloads', 'queues', 'nodes'].map((name) => `${name}.json`),
  ]);
  t.match(JSON.parse(data['datasource.yaml'] ?? ''), { datasources: [{ url: 'http://prometheus:9090' }] });
  t.ok(JSON.stringify(data).length < 1_000_000, 'a ConfigMap holds at most 1 MiB');
  t.end();
});

t.test('the node exporter runs on every node', (t) => {
  t.same(workload('node-exporter').template.spec.tolerations, [{ operator: 'Exists' }]);
  t.end();
});

t.test('the shipper reads the logs of its node as root without capabilities, and writes only its own folder', (t) => {
  const { selector, template } = workload('log-shipper');
  const { spec } = template;
  t.match(template.metadata.labels, selector.matchLabels);
  t.same(spec.securityContext, { runAsUser: 0, runAsGroup: 0, seccompProfile: { type: 'RuntimeDefault' } });
  t.notOk(spec.hostNetwork ?? spec.hostPID);
  t.same(spec.volumes, [
    { name: 'logs', hostPath: { path: '/var/log/pods', type: 'Directory' } },
    { name: 'state', hostPath: { path: '/var/lib/svc-log-shipper', type: 'DirectoryOrCreate' } },
    { name: 'token', secret: { secretName: 'log-store', defaultMode: 0o400 } },
  ]);
  const [container] = spec.containers;
  t.same(container?.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  });
  t.match(container?.volumeMounts, [
    { name: 'logs', mountPath: '/var/log/pods', readOnly: true },
    { name: 'state', mountPath: '/var/lib/svc-log-shipper' },
    { name: 'token', readOnly: true },
  ]);
  t.match(container?.resources, { requests: { memory: '32Mi' }, limits: { memory: '1Gi' } });
  t.same(spec.tolerations, [{ operator: 'Exists' }]);
  t.match(
    container?.env?.find(({ name }) => name === 'LOG_STORE_URL'),
    { value: 'http://log-store.monitoring.svc:3100' },
  );
  t.end();
});

t.test('the log store keeps less than its claim holds, and leaves memory beside its heap', (t) => {
  const { template, volumeClaimTemplates } = workload('log-store');
  t.match(volumeClaimTemplates, [
    { metadata: { name: 'data' }, spec: { resources: { requests: { storage: '10Gi' } } } },
  ]);
  const variables = Object.fromEntries(
    (template.spec.containers[0]?.env ?? []).map(({ name, value = '' }) => [name, value]),
  );
  t.match(variables, { NODE_OPTIONS: '--max-old-space-size=614' });
  const config = loadLogStoreConfig(variables);
  t.ok(config.store.maxBytes < 10 * 2 ** 30);
  t.match(config, {
    http: { port: 3100 },
    store: { folder: '/data', retentionHours: 72 },
    tokens: { appendFile: '/var/run/svc/log-store/append-token', readFile: '/var/run/svc/log-store/read-token' },
  });
  t.end();
});

t.test('the shipper’s Secret has the token that appends, and not the one that reads', (t) => {
  const [store, shipper] = logStoreSecrets({ append: 'a', read: 'r' });
  t.match(store, { metadata: { namespace: 'monitoring', name: 'log-store' } });
  t.same(store?.['data'], { 'append-token': 'YQ==', 'read-token': 'cg==' });
  t.match(shipper, { metadata: { namespace: 'svc-log-shipper', name: 'log-store' } });
  t.same(shipper?.['data'], { 'append-token': 'YQ==' });
  t.end();
});

t.test('only the clients of a component reach it', (t) => {
  const policies = all().filter(({ kind }) => kind === 'NetworkPolicy') as NetworkPolicy[];
  const namespace = (name: string) => ({ name, labels: { 'kubernetes.io/metadata.name': name } });
  const pod = (place: string, app: string): End => ({ namespace: namespace(place), labels: { app } });
  const clients: [string, string][] = [
    ['svc-system', 'console-api'],
    ['svc-system', 'svc-workers'],
    ['svc-system', 'svc-authz'],
    ['monitoring', 'metrics-store'],
    ['monitoring', 'dashboards'],
    ['monitoring', 'node-exporter'],
    ['shop-prod', 'console-api'],
    ['shop-prod', 'metrics-store'],
    ['svc-builds', 'build'],
    ['svc-log-shipper', 'log-shipper'],
    ['shop-prod', 'log-shipper'],
  ];
  const reaching = (component: string, port: number) =>
    clients
      .filter(([place, app]) => passes(policies, { from: pod(place, app), to: pod('monitoring', component), port }))
      .map((client) => client.join('/'));
  t.same(reaching('metrics-store', 9090), [
    'svc-system/console-api',
    'monitoring/metrics-store',
    'monitoring/dashboards',
  ]);
  t.same(reaching('node-exporter', 9100), ['monitoring/metrics-store']);
  t.same(reaching('alertmanager', 9093), [
    'svc-system/console-api',
    'svc-system/svc-workers',
    'monitoring/metrics-store',
  ]);
  t.same(reaching('log-store', 3100), [
    'svc-system/console-api',
    'svc-system/svc-workers',
    'svc-log-shipper/log-shipper',
  ]);
  t.same(reaching('log-store', 8081), ['monitoring/metrics-store']);
  t.same(reaching('dashboards', 3000), []);
  t.same(reaching('metrics-store', 22), []);
  t.same(Object.keys(clientsOf).sort(), [...componentNames].sort());
  t.end();
});

t.test('namespaces, accounts and rights: the shipper lists pods, and no other component has rights', (t) => {
  const access = monitoringAccess();
  t.same(
    access
      .filter(({ kind }) => kind.startsWith('ClusterRole'))
      .map(({ metadata, rules, subjects }) => [metadata.name, rules ?? subjects]),
    [
      ['platform.svc:log-shipper', [{ apiGroups: [''], resources: ['pods'], verbs: ['list'] }]],
      ['platform.svc:log-shipper', [{ kind: 'ServiceAccount', name: 'log-shipper', namespace: 'svc-log-shipper' }]],
    ],
  );
  t.same(
    access
      .filter(({ kind }) => kind === 'Namespace')
      .map(({ metadata: { name, labels = {} } }) => [name, labels['pod-security.kubernetes.io/enforce']]),
    [
      ['monitoring', 'restricted'],
      ['svc-log-shipper', 'privileged'],
    ],
  );
  const roles = access.filter(({ kind }) => kind === 'Role');
  t.same(
    roles.map(({ metadata, ...role }) => {
      const [rule] = role['rules'] as { resources: string[]; verbs: string[] }[];
      return `${metadata.namespace} ${metadata.name}: ${rule?.verbs.join()} ${rule?.resources.join()}`;
    }),
    [
      'monitoring svc-controllers: get,create,update,delete daemonsets',
      'svc-log-shipper svc-controllers: get,create,update,delete daemonsets',
    ],
  );
  const accounts = access.filter(({ kind }) => kind === 'ServiceAccount');
  t.same(
    accounts.filter((account) => account['automountServiceAccountToken']).map(({ metadata }) => metadata.name),
    [],
    'no account gives its pods a token for the Kubernetes API',
  );
  for (const object of all().filter(isWorkload)) {
    const { serviceAccountName, automountServiceAccountToken } = (object.spec as Workload).template.spec;
    const account = accounts.find(({ metadata }) => metadata.name === serviceAccountName);
    t.equal(account?.metadata.namespace, object.metadata.namespace);
    t.equal(automountServiceAccountToken, serviceAccountName === 'log-shipper');
  }
  t.end();
});

t.test('upstream images are pinned by digest, and settings replace them', (t) => {
  for (const name of ['metrics-store', 'node-exporter', 'alertmanager', 'dashboards'] as const) {
    t.match(componentImage(name, {}), /^[a-z.]+\/[a-z/-]+:v?[\d.]+@sha256:[0-9a-f]{64}$/);
    t.equal(componentImage(name, { images: { [name]: image } }), image);
  }
  t.equal(componentImage('log-store', {}), undefined);
  t.end();
});
