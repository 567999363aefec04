import t from 'tap';
import { codeConfigMap, codeConfigMapName } from '../../../infra/manifests/function-pod.ts';
import { functionDeployment, functionRoute } from '../../../infra/manifests/function.ts';
import { ingressRoute, routeGate, routeSecurity, sharedObjects } from '../../../infra/manifests/workload-route.ts';

const id = '0190a0a0-0000-7000-8000-000000000001';
const hello = { id, name: 'hello', namespace: 'shop-prod' };
const spec = { runtime: 'node' as const, code: 'export const handler = () => 1;', port: 3000 };
const labels = {
  'app.kubernetes.io/managed-by': 'kipper',
  app: 'hello',
  'platform.svc/kind': 'Function',
  'platform.svc/id': id,
};

const named = (code: string) => ({ ...spec, code });

t.test('the code is an immutable ConfigMap, named by its digest', (t) => {
  t.strictSame(codeConfigMap(hello, spec), {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: 'function-hello-code-761595b85970',
      namespace: 'shop-prod',
      labels: { ...labels, 'platform.svc/part': 'code' },
    },
    immutable: true,
    data: { 'handler.js': spec.code },
  });
  const python = { ...spec, runtime: 'python' as const };
  t.same(codeConfigMap(hello, python).data, { 'handler.py': spec.code });
  t.not(codeConfigMapName('hello', python), codeConfigMapName('hello', spec), 'its file has another name');
  t.not(codeConfigMapName('hello', named('a')), codeConfigMapName('hello', named('b')));
  t.ok(codeConfigMapName('n'.repeat(40), named('a')).length <= 253);
  t.end();
});

t.test('the Deployment object runs the code without rights, from zero replicas', (t) => {
  t.strictSame(functionDeployment(hello, spec, { image: 'registry.test/function-node:1' }), {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'hello', namespace: 'shop-prod', labels },
    spec: {
      replicas: 0,
      revisionHistoryLimit: 1,
      selector: { matchLabels: { app: 'hello', 'platform.svc/kind': 'Function', 'platform.svc/role': 'serve' } },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: {
        metadata: { labels: { ...labels, 'platform.svc/role': 'serve' } },
        spec: {
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: 30,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 10_001,
            runAsGroup: 10_001,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          containers: [
            {
              name: 'function',
              image: 'registry.test/function-node:1',
              ports: [{ name: 'http', containerPort: 3000, protocol: 'TCP' }],
              env: [
                { name: 'PORT', value: '3000' },
                { name: 'SVC_CODE_FILE', value: '/var/run/svc/code/handler.js' },
              ],
              readinessProbe: { tcpSocket: { port: 'http' }, periodSeconds: 1, timeoutSeconds: 1, failureThreshold: 3 },
              lifecycle: { preStop: { sleep: { seconds: 4 } } },
              terminationMessagePolicy: 'FallbackToLogsOnError',
              resources: { requests: { cpu: '20m', memory: '48Mi' }, limits: { memory: '256Mi' } },
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ['ALL'] },
              },
              volumeMounts: [
                { name: 'code', mountPath: '/var/run/svc/code', readOnly: true },
                { name: 'tmp', mountPath: '/tmp' },
              ],
            },
          ],
          volumes: [
            { name: 'code', configMap: { name: 'function-hello-code-761595b85970' } },
            { name: 'tmp', emptyDir: { sizeLimit: '64Mi' } },
          ],
        },
      },
    },
  });
  t.end();
});

t.test('an image runs like code, without the parts of the runtime', async (t) => {
  const image = 'registry.test/shop/resize:3';
  const pod = functionDeployment(hello, { image, port: 3000 }, { image }).spec.template.spec;
  const code = functionDeployment(hello, spec, { image }).spec.template.spec;
  t.strictSame(pod.containers[0]?.env, [{ name: 'PORT', value: '3000' }]);
  t.strictSame(pod.containers[0]?.volumeMounts, [{ name: 'tmp', mountPath: '/tmp' }]);
  t.strictSame(pod.volumes, [{ name: 'tmp', emptyDir: { sizeLimit: '64Mi' } }]);
  t.strictSame(pod.securityContext, code.securityContext, 'an image runs as the user of every function');
  t.match(pod.containers[0], { image });
});

t.test('the route is in the namespace of the interceptors and names its function', (t) => {
  const hosts = ['fn-hello--home.apps.test'];
  const settings = { hosts, entryPoints: ['web', 'websecure'], scheme: 'http', gated: false } as const;
  const rule = {
    kind: 'Rule',
    match: 'Host(`fn-hello--home.apps.test`)',
    priority: 2,
    services: [
      { kind: 'Service', name: 'svc-interceptor', port: 80, passHostHeader: true, serversTransport: 'svc-pods' },
    ],
    middlewares: [{ name: 'svc-strip' }, { name: 'svc-retry' }],
  };
  t.strictSame(ingressRoute(functionRoute(hello, settings)), {
    apiVersion: 'traefik.io/v1alpha1',
    kind: 'IngressRoute',
    metadata: {
      name: `fn-${id}`,
      namespace: 'svc-system',
      labels: { 'app.kubernetes.io/managed-by': 'kipper', 'platform.svc/kind': 'Function', 'platform.svc/id': id },
      annotations: { 'platform.svc/function': 'shop-prod/hello' },
    },
    spec: {
      entryPoints: ['web', 'websecure'],
      routes: [
        rule,
        {
          ...rule,
          match: '(Host(`fn-hello--home.apps.test`)) && HeaderRegexp(`X-API-Key`, `svc_[a-z0-9]{8}_[a-z0-9]{46}`)',
          priority: 3,
          middlewares: [{ name: 'svc-strip' }, { name: 'svc-strip-key' }, { name: 'svc-retry' }],
        },
      ],
    },
  });
  const secured = functionRoute(hello, { ...settings, gated: true, security: { headers: true } });
  const names = [`security-${id}`, 'svc-gate-strip', `gate-${id}`, 'svc-retry'];
  t.match(ingressRoute(secured).spec, { routes: [{ middlewares: names.map((name) => ({ name })) }] });
  t.match(
    [routeSecurity(secured), routeGate(secured)].map((object) => object?.metadata),
    [`security-${id}`, `gate-${id}`].map((name) => ({ ...secured.metadata, name })),
    'its own Middlewares are beside it, and labelled with its name',
  );
  t.match(sharedObjects(secured), [
    { metadata: { name: 'svc-retry' } },
    { metadata: { name: 'svc-gate-strip', namespace: 'svc-system' } },
  ]);
  t.match(routeGate(secured)?.spec, { forwardAuth: { address: /authorize\?app=0190a0a0-/ } });
  t.end();
});
