import type { V1PodSpec } from '@kubernetes/client-node';
import t from 'tap';
import { environmentPolicy, functionsPolicy } from '../../../infra/manifests/environment-network.ts';
import { codeConfigMapName } from '../../../infra/manifests/function-pod.ts';
import { functionDeployment } from '../../../infra/manifests/function.ts';
import { warmPool, warmSources, warmTemplate } from '../../../infra/manifests/warm-pool.ts';
import { warmPort } from '../../../runtime/contracts/warm-start.ts';
import { passes, selects } from '../../support/network-policy.ts';

const id = '0190a0a0-0000-7000-8000-000000000001';
const hello = { id, name: 'hello', namespace: 'shop-prod' };
const spec = { runtime: 'node' as const, code: 'export const handler = () => 1;', port: 8080 };
const image = 'registry.test/function-node:1';
type Spec = Parameters<typeof functionDeployment>[1];
type Options = Parameters<typeof functionDeployment>[2];
const templateOf = (more: Partial<Spec> = {}, options: Partial<Options> = {}, identity = hello) =>
  functionDeployment(identity, { ...spec, ...more }, { image, ...options }).spec.template;
const podOf = (template: { spec: object }) => template.spec as V1PodSpec;

t.test('a generic pod differs from the pod of a function in its command, its variables and its code only', (t) => {
  const template = templateOf({}, { envSecret: 'function-hello-env-1' });
  const warm = warmTemplate(template, 'node');
  if (!warm) throw new Error('the function starts cold');
  const pool = warmPool('shop-prod', warm, { replicas: 2, tokenDigest: 'ab' });
  const [cold, generic] = [podOf(template), podOf(pool.spec.template)];
  const { env: _, envFrom: __, volumeMounts: coldMounts, ...container } = cold.containers[0] ?? { name: '' };
  const { env, command, volumeMounts, ...genericContainer } = generic.containers[0] ?? { name: '' };
  t.strictSame(genericContainer, container, 'image, ports, probes, limits and security');
  t.strictSame(command, ['tini', '--', 'node', '--disable-warning=ExperimentalWarning', '/runtime/warm.mjs']);
  t.strictSame(
    env?.map(({ name }) => name),
    ['SVC_WARM_POD', 'SVC_WARM_PORT', 'SVC_WARM_FOLDER', 'SVC_WARM_TOKEN_DIGEST'],
  );
  t.strictSame(
    volumeMounts?.map(({ name, mountPath }) => [name, mountPath]),
    coldMounts?.map(({ name, mountPath }) => [name, mountPath]),
  );
  t.strictSame(generic.volumes?.[0], { name: 'code', emptyDir: { sizeLimit: '2Mi' } });
  const { containers: ___, volumes: ____, ...pod } = cold;
  const { containers: _____, volumes: ______, ...genericPod } = generic;
  t.strictSame(genericPod, pod, 'user, account and grace period');
  t.strictSame(generic.volumes?.slice(1), cold.volumes?.slice(1));
  t.strictSame(pool.spec.template.metadata.labels, {
    'app.kubernetes.io/managed-by': 'kipper',
    'platform.svc/kind': 'Function',
    'platform.svc/warm': warm.digest,
  });
  t.match(pool, { metadata: { name: `svc-warm-${warm.digest}` }, spec: { replicas: 2 } });
  t.end();
});

t.test('functions share generic pods unless their pods differ in more than code and variables', (t) => {
  const digest = (...args: Parameters<typeof templateOf>) => warmTemplate(templateOf(...args), 'node')?.digest;
  const same = digest();
  t.equal(digest({ code: 'export const handler = () => 2;' }), same);
  t.equal(digest({}, { envSecret: 'function-hello-env-1' }), same);
  t.equal(digest({}, {}, { ...hello, id: id.replace('1', '2'), name: 'other' }), same);
  t.equal(digest({ restartedAt: '2026-01-01T00:00:00Z' }), same);
  t.not(digest({ memory: '512Mi' }), same);
  t.not(digest({ cpu: '1' }), same);
  t.not(digest({ port: 3000 }), same);
  t.not(digest({}, { image: 'registry.test/function-node:2' }), same);
  t.not(warmTemplate(templateOf({ runtime: 'python' }), 'python')?.digest, same);
  t.end();
});

t.test('a function with more than code starts cold', (t) => {
  const cold: [string, Partial<Spec>, boolean?][] = [
    ['dependencies', { dependencies: ['left-pad@1.3.0'] }],
    ['a volume', { volumes: [{ name: 'data', path: '/data' }] }],
    ['the port of the call', { port: warmPort }],
    ['events', { events: { type: 'redis', source: 'db', list: 'jobs' } }],
  ];
  for (const [what, more] of cold) {
    t.equal(warmTemplate(templateOf(more), 'node'), undefined, what);
    t.equal(warmSources(templateOf(more)), undefined, what);
  }
  for (const variable of [
    { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
    { name: 'URL', value: 'http://$(HOST)/' },
  ]) {
    const template = templateOf();
    podOf(template).containers[0]?.env?.push(variable);
    t.equal(warmTemplate(template, 'node'), undefined, `a variable that the kubelet resolves: ${variable.name}`);
  }
  const { runtime: _, code: __, ...rest } = spec;
  const own = functionDeployment(hello, { ...rest, image: 'registry.test/own:1' }, { image: 'registry.test/own:1' });
  t.equal(warmTemplate(own.spec.template, 'node'), undefined, 'an image');
  t.end();
});

t.test('a generic pod is given the code and the variables of the template', (t) => {
  t.strictSame(warmSources(templateOf({}, { envSecret: 'function-hello-env-1' })), {
    code: codeConfigMapName('hello', spec),
    envSecret: 'function-hello-env-1',
    env: { PORT: '8080', SVC_CODE_FILE: '/var/run/svc/code/handler.js' },
  });
  t.equal(warmSources(templateOf())?.envSecret, undefined);
  t.end();
});

t.test('the same policies select a generic pod before and after it is one of a function', (t) => {
  const network = { namespace: 'shop-prod', ingressNamespace: 'kube-system', apiServers: [], allowPrivateNetworks: [] };
  const policies = [environmentPolicy(network), functionsPolicy(network)];
  const template = templateOf();
  const warm = warmTemplate(template, 'node');
  const generic = warm && warmPool('shop-prod', warm, { replicas: 1, tokenDigest: 'ab' }).spec.template.metadata.labels;
  const selecting = (labels: Record<string, string> = {}) =>
    policies.filter(({ spec }) => selects(spec.podSelector ?? {}, labels)).map(({ metadata }) => metadata.name);
  t.strictSame(selecting(generic), ['svc-environment-functions']);
  t.strictSame(selecting(template.metadata.labels), selecting(generic));

  const shop = { name: 'shop-prod', labels: { 'kubernetes.io/metadata.name': 'shop-prod' } };
  const system = { name: 'svc-system', labels: { 'kubernetes.io/metadata.name': 'svc-system' } };
  const pod = { namespace: shop, labels: generic ?? {} };
  const from = (namespace: typeof shop, labels: Record<string, string>) => ({ namespace, labels });
  const reaches = (end: ReturnType<typeof from>, port: number) => passes(policies, { from: end, to: pod, port });
  t.ok(reaches(from(system, { app: 'svc-controllers' }), warmPort));
  t.notOk(reaches(from(system, { app: 'svc-controllers' }), 8080), 'it starts functions and calls none');
  for (const app of ['console-api', 'svc-workers', 'svc-authz']) t.notOk(reaches(from(system, { app }), warmPort), app);
  t.notOk(reaches(from(shop, { app: 'svc-controllers' }), warmPort), 'a workload with that name');
  t.notOk(reaches(from(shop, { app: 'web', 'platform.svc/kind': 'App' }), warmPort));
  t.notOk(reaches(from(shop, template.metadata.labels), warmPort), 'another function');
  t.end();
});
