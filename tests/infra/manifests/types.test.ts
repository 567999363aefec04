import type { V1Deployment, V1LimitRange, V1NetworkPolicy, V1PodSpec } from '@kubernetes/client-node';
import t from 'tap';
import type { MiddlewareSpec } from '../../../infra/manifests/traefik.ts';
import type { BuiltIn, Json } from '../../../runtime/contracts/kubernetes.ts';

t.test('the compiler refuses a misspelt field anywhere in an object', async (t) => {
  const pod = {
    // @ts-expect-error it is automountServiceAccountToken
    automountServiceAcountToken: false,
    containers: [],
  } satisfies Json<V1PodSpec>;
  const container: Json<V1PodSpec> = {
    // @ts-expect-error it is allowPrivilegeEscalation
    containers: [{ name: 'app', securityContext: { allowPrivilegeEscalations: false } }],
  };
  const deployment: BuiltIn<V1Deployment, 'spec'> = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'api' },
    // @ts-expect-error it is strategy
    spec: { strategyy: { type: 'Recreate' }, selector: {}, template: { spec: { containers: [] } } },
  };
  const route = {
    forwardAuth: {
      address: 'http://svc-authz',
      trustForwardHeader: true,
      authRequestHeaders: [],
      authResponseHeaders: [],
      // @ts-expect-error it is authResponseHeadersRegex
      authResponseHeaderRegex: '.*',
    },
  } satisfies MiddlewareSpec;
  t.ok([pod, container, deployment, route]);
});

t.test('times are strings, and reserved words are the names of fields', async (t) => {
  const policy: BuiltIn<V1NetworkPolicy> = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'api', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { podSelector: {}, ingress: [{ from: [{ podSelector: {} }] }] },
  };
  const limits: BuiltIn<V1LimitRange, 'spec'> = {
    apiVersion: 'v1',
    kind: 'LimitRange',
    metadata: { name: 'api' },
    spec: { limits: [{ type: 'Container', default: { memory: '64Mi' } }] },
  };
  // @ts-expect-error `from` is written without the package's underscore
  policy.spec = { podSelector: {}, ingress: [{ _from: [] }] };
  // @ts-expect-error an object whose spec is required has one
  const bare: typeof limits = { apiVersion: 'v1', kind: 'LimitRange', metadata: { name: 'api' } };
  t.ok([policy, limits, bare]);
});
