import t from 'tap';
import {
  appDeployment,
  appMiddlewares,
  appRoute,
  appService,
  type AppManifestInput,
} from '../../../infra/manifests/app.ts';
import { spellingsPattern } from '../../../infra/manifests/header-spellings.ts';
import { environmentNamespace } from '../../../infra/manifests/environment.ts';

const id = '0190a0a0-0000-7000-8000-000000000001';
const input: AppManifestInput = {
  id,
  name: 'api',
  namespace: 'shop-prod',
  spec: { port: 3000, replicas: 2 },
  release: { generation: 4, deploymentId: '0190a0a0-0000-7000-8000-000000000002', image: 'registry.test/api:2' },
  host: 'api--shop-prod.apps.test',
  entryPoints: ['websecure'],
  gated: false,
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
        metadata: {
          labels: { ...labels, 'platform.svc/role': 'serve' },
          annotations: { 'platform.svc/release': '4' },
        },
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
              readinessProbe: {
                tcpSocket: { port: 'http' },
                periodSeconds: 2,
                timeoutSeconds: 2,
                failureThreshold: 3,
              },
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

t.test('what a release and a spec may add to the Deployment', async (t) => {
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

t.test('the Service', async (t) => {
  t.same(appService(input), {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: { selector, ports: [{ name: 'http', port: 80, targetPort: 'http', protocol: 'TCP' }] },
  });
});

t.test('the route, without and with a gate', async (t) => {
  const rule = { kind: 'Rule', match: 'Host(`api--shop-prod.apps.test`)', services: [{ name: 'api', port: 80 }] };
  const route = { apiVersion: 'traefik.io/v1alpha1', kind: 'IngressRoute', metadata };
  t.same(appRoute(input), { ...route, spec: { entryPoints: ['websecure'], routes: [rule] } });
  t.same(appRoute({ ...input, gated: true }), {
    ...route,
    spec: {
      entryPoints: ['websecure'],
      routes: [{ ...rule, middlewares: [{ name: 'api-gate-strip' }, { name: 'api-gate' }] }],
    },
  });
});

t.test('the gate removes what clients may not send, then asks the checker about this very app', async (t) => {
  const middleware = { apiVersion: 'traefik.io/v1alpha1', kind: 'Middleware' };
  t.same(appMiddlewares(input), [
    {
      ...middleware,
      metadata: { ...metadata, name: 'api-gate-strip' },
      spec: {
        headers: {
          customRequestHeaders: {
            'X-Svc-Key-Prefix': '',
            'X-Svc-Key-Name': '',
            RateLimit: '',
            'RateLimit-Policy': '',
            'X-Forwarded-Method': '',
            'X-Forwarded-Uri': '',
            'HTTP2-Settings': '',
          },
        },
      },
    },
    {
      ...middleware,
      metadata: { ...metadata, name: 'api-gate' },
      spec: {
        forwardAuth: {
          address: `http://svc-authz.svc-system.svc/authorize?app=${id}`,
          trustForwardHeader: true,
          authRequestHeaders: ['X-API-Key', 'Origin', 'Access-Control-Request-Method'],
          authResponseHeaders: ['X-Svc-Key-Prefix', 'X-Svc-Key-Name', 'RateLimit', 'RateLimit-Policy', 'X-API-Key'],
          authResponseHeadersRegex:
            '(?i)^(x[^a-z0-9]svc[^a-z0-9]key[^a-z0-9]prefix|x[^a-z0-9]svc[^a-z0-9]key[^a-z0-9]name|ratelimit|' +
            'ratelimit[^a-z0-9]policy|x[^a-z0-9]api[^a-z0-9]key)$',
        },
      },
    },
  ]);
});

t.test('every spelling of a header, and nothing else', async (t) => {
  const pattern = spellingsPattern(['X-Svc-Key-Name', 'X-API-Key']);
  // Go writes the flag in front, JavaScript behind; the rest means the same in both.
  const expression = new RegExp(pattern.replace('(?i)', ''), 'i');
  // RFC 9110: what a header's name may hold beside letters and digits.
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
