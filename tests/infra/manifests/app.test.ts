import t from 'tap';
import { appDeployment, appService, type AppManifestInput } from '../../../infra/manifests/app.ts';
import { spellingsPattern } from '../../../infra/manifests/header-spellings.ts';
import { environmentNamespace } from '../../../infra/manifests/environment.ts';

const id = '0190a0a0-0000-7000-8000-000000000001';
const input: AppManifestInput = {
  id,
  name: 'api',
  namespace: 'shop-prod',
  spec: { port: 3000, replicas: 2 },
  release: { generation: 4, deploymentId: '0190a0a0-0000-7000-8000-000000000002', image: 'registry.test/api:2' },
};
const labels = {
  'app.kubernetes.io/managed-by': 'kipper',
  app: 'api',
  'platform.svc/kind': 'App',
  'platform.svc/id': id,
};
const metadata = { name: 'api', namespace: 'shop-prod', labels };
const selector = { app: 'api', 'platform.svc/kind': 'App', 'platform.svc/role': 'serve' };

t.test('the Deployment', async (t) => {
  t.same(appDeployment(input), {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: {
      replicas: 2,
      revisionHistoryLimit: 2,
      progressDeadlineSeconds: 120,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      selector: { matchLabels: selector },
      template: {
        metadata: { labels: { ...labels, 'platform.svc/role': 'serve' }, annotations: { 'platform.svc/release': '4' } },
        spec: {
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: 30,
          securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
          containers: [
            {
              name: 'app',
              image: 'registry.test/api:2',
              ports: [{ name: 'http', containerPort: 3000, protocol: 'TCP' }],
              env: [{ name: 'PORT', value: '3000' }],
              resources: { requests: { cpu: '20m', memory: '64Mi' } },
              readinessProbe: { tcpSocket: { port: 'http' }, periodSeconds: 2, timeoutSeconds: 2, failureThreshold: 3 },
              lifecycle: { preStop: { sleep: { seconds: 3 } } },
              terminationMessagePolicy: 'FallbackToLogsOnError',
              securityContext: { allowPrivilegeEscalation: false },
            },
          ],
        },
      },
    },
  });
});

t.test('a release sets how long old pods keep serving; exclusive volumes make it short', async (t) => {
  const template = (seconds: number) => ({
    terminationGracePeriodSeconds: seconds + 27,
    containers: [{ lifecycle: { preStop: { sleep: { seconds } } } }],
  });
  const lingering = { ...input, release: { ...input.release, lingerSeconds: 10 } };
  t.match(appDeployment(lingering).spec, { template: { spec: template(10) } });
  t.match(appDeployment({ ...lingering, exclusive: true }).spec, {
    strategy: { type: 'Recreate' },
    template: { spec: template(3) },
  });
  t.match(appDeployment({ ...input, exclusive: true }).spec, { template: { spec: template(3) } });
});

t.test('the optional parts of a release and a spec', async (t) => {
  const digest = `sha256:${'a'.repeat(64)}`;
  const built = appDeployment({
    ...input,
    spec: { ...input.spec, healthPath: '/healthz' },
    release: { ...input.release, digest, envSecret: 'app-api-env-1' },
  });
  t.match(built.spec, {
    template: {
      spec: {
        containers: [
          {
            image: `registry.test/api:2@${digest}`,
            envFrom: [{ secretRef: { name: 'app-api-env-1' } }],
            readinessProbe: { httpGet: { path: '/healthz', port: 'http' }, tcpSocket: undefined },
          },
        ],
      },
    },
  });
});

t.test('a limit sets its request to half; without one the default request applies', async (t) => {
  const resources = (spec: Partial<AppManifestInput['spec']>) =>
    appDeployment({ ...input, spec: { ...input.spec, ...spec } }).spec.template.spec?.containers[0]?.resources;
  t.same(resources({ memory: '1024Mi' }), { requests: { cpu: '20m', memory: '512Mi' }, limits: { memory: '1Gi' } });
  t.same(resources({ cpu: '0.5' }), { requests: { cpu: '250m', memory: '64Mi' }, limits: { cpu: '500m' } });
  t.same(resources({ cpu: '1m', memory: '4Mi' }), {
    requests: { cpu: '1m', memory: '2Mi' },
    limits: { cpu: '1m', memory: '4Mi' },
  });
});

t.test('volumes, and the strategy for an exclusive one', async (t) => {
  const volumes = [
    { name: 'data', path: '/data' },
    { name: 'data', path: '/more' },
  ];
  const built = appDeployment({ ...input, spec: { ...input.spec, volumes }, exclusive: true });
  t.match(built.spec, {
    strategy: { type: 'Recreate', rollingUpdate: undefined },
    template: {
      spec: {
        volumes: [{ name: 'volume-data', persistentVolumeClaim: { claimName: 'data' } }],
        containers: [
          {
            volumeMounts: [
              { name: 'volume-data', mountPath: '/data' },
              { name: 'volume-data', mountPath: '/more' },
            ],
          },
        ],
      },
    },
  });
  t.match(appDeployment({ ...input, spec: { ...input.spec, volumes } }).spec, { strategy: { type: 'RollingUpdate' } });
});

t.test('the Service', async (t) => {
  t.same(appService(input), {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: { selector, ports: [{ name: 'http', port: 80, targetPort: 'http', protocol: 'TCP' }] },
  });
});

t.test('the pattern matches every spelling of a header, and nothing else', async (t) => {
  const pattern = spellingsPattern(['X-Svc-Key-Name', 'X-API-Key']);
  // Go writes the flag in front, JavaScript behind; the rest has the same meaning in both.
  const expression = new RegExp(pattern.replace('(?i)', ''), 'i');
  // RFC 9110: the characters of a header's name besides letters and digits.
  for (const separator of "!#$%&'*+-.^_`|~") {
    t.match(['X', 'Svc', 'Key', 'Name'].join(separator), expression);
    t.match(`x-svc${separator}KEY-name`, expression);
    t.match(`X${separator}Api${separator}Key`, expression);
  }
  for (const other of ['X-Svc-Key-Names', 'X-Svc-Key', 'XSvcKeyName', 'A-X-API-Key', 'X-APIa-Key', 'X--API-Key']) {
    t.notMatch(other, expression);
  }
});

t.test("an environment's namespace", async (t) => {
  t.same(environmentNamespace({ namespace: 'shop-prod', project: 'shop', projectId: 'p', name: 'prod', id: 'e' }), {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name: 'shop-prod',
      labels: {
        'app.kubernetes.io/managed-by': 'kipper',
        'platform.svc/project': 'shop',
        'platform.svc/environment': 'prod',
        'platform.svc/environment-id': 'e',
        'platform.svc/id': 'p',
        'pod-security.kubernetes.io/enforce': 'baseline',
        'pod-security.kubernetes.io/warn': 'restricted',
      },
    },
  });
});
