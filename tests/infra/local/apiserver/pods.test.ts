import { text } from 'node:stream/consumers';
import t from 'tap';
import type { LogOptions } from '../../../../infra/local/apiserver/pod-logs.ts';
import type { KubeObject } from '../../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../../runtime/contracts/resources/kinds.ts';
import { startApi } from '../../../support/local-api.ts';

interface Pod extends KubeObject {
  // oxlint-disable-next-line typescript/no-explicit-any -- the server decides the shape
  spec: any;
}

const pod = (name: string, spec: object = {}, more: object = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default' },
  spec: { containers: [{ name: 'main', image: 'x:1' }], ...spec },
  ...more,
});
const ref = (name: string) => ({ apiVersion: 'v1', kind: 'Pod', namespace: 'default', name });

t.test('a pod on a node stays until the node reports its end', async (t) => {
  const { kube } = await startApi(t);
  const created = await kube.create(pod('web', { terminationGracePeriodSeconds: 20 }));
  await kube.replace<Pod>({ ...created, spec: { ...created.spec, nodeName: 'local' } });
  t.equal(await kube.delete(ref('web')), true);
  const terminating = await kube.get<Pod>(kinds.Pod, 'web', 'default');
  t.equal(terminating?.metadata.deletionGracePeriodSeconds, 20);
  const ahead = Date.parse(terminating?.metadata.deletionTimestamp ?? '') - Date.now();
  t.ok(ahead > 10_000 && ahead <= 21_000, 'its deadline');
  t.equal(await kube.delete(ref('web'), { gracePeriodSeconds: 5 }), true);
  t.equal(
    (await kube.get(kinds.Pod, 'web', 'default'))?.metadata.deletionGracePeriodSeconds,
    5,
    'it can only be earlier',
  );
  await kube.delete(ref('web'), { gracePeriodSeconds: 60 });
  t.equal((await kube.get(kinds.Pod, 'web', 'default'))?.metadata.deletionGracePeriodSeconds, 5);
  await kube.delete(ref('web'), { gracePeriodSeconds: 0, preconditions: { uid: created.metadata.uid } });
  t.equal(await kube.get(kinds.Pod, 'web', 'default'), undefined);
});

t.test('a pod without a node, or that has ended, is deleted at once', async (t) => {
  const { kube } = await startApi(t);
  await kube.create(pod('waiting'));
  await kube.delete(ref('waiting'));
  t.equal(await kube.get(kinds.Pod, 'waiting', 'default'), undefined);
  await kube.create(pod('done', { nodeName: 'local' }));
  await kube.mergePatch(ref('done'), { status: { phase: 'Succeeded' } }, 'status');
  await kube.delete(ref('done'));
  t.equal(await kube.get(kinds.Pod, 'done', 'default'), undefined);
});

t.test('only the image of a pod can change; the node writes its ports', async (t) => {
  const { kube } = await startApi(t);
  await kube.create(pod('web', { containers: [{ name: 'main', image: 'x:1', ports: [{ containerPort: 80 }] }] }));
  const ports = (containerPort: number) => ({
    spec: { containers: [{ name: 'main', image: 'x:1', ports: [{ containerPort }] }] },
  });
  const refused = await kube.mergePatch(ref('web'), ports(20_000)).catch((error: unknown) => error);
  t.match(refused, { status: 422, message: /pod updates may not change fields other than/ });
  const annotations = { 'platform.svc/container-ports': '{"80":20000}' };
  t.match(await kube.mergePatch(ref('web'), { metadata: { annotations }, ...ports(20_000) }), ports(20_000));
});

t.test('kubectl shows the state of a pod', async (t) => {
  const { kube, ask } = await startApi(t);
  const initContainers = [
    { name: 'first', image: 'x:1' },
    { name: 'beside', image: 'x:1', restartPolicy: 'Always' },
  ];
  await kube.create(pod('web', { initContainers }));
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  const says = async (status: object) => {
    await kube.mergePatch(ref('web'), { status }, 'status');
    const { body } = await ask('GET', '/api/v1/namespaces/default/pods/web', undefined, { accept });
    return body.rows[0].cells.slice(1, 4).join(' ');
  };
  t.equal(await says({}), '0/2 Pending 0');
  const first = (state: object) => ({ name: 'first', ready: false, restartCount: 1, state });
  const waiting = { name: 'beside', state: { waiting: { reason: 'PodInitializing' } } };
  const held = (state: object) => says({ initContainerStatuses: [first(state), waiting] });
  t.equal(await held({ running: {} }), '0/2 Init:0/2 0');
  t.equal(await held({ terminated: { exitCode: 3, reason: 'Error' } }), '0/2 Init:Error 0');
  const beside = { name: 'beside', ready: true, started: true, restartCount: 2, state: { running: {} } };
  const initContainerStatuses = [first({ terminated: { exitCode: 0, reason: 'Completed' } }), beside];
  const main = (ready: boolean, state: object, phase = 'Running') =>
    says({ phase, initContainerStatuses, containerStatuses: [{ name: 'main', ready, restartCount: 3, state }] });
  t.equal(await main(true, { running: {} }), '2/2 Running 5');
  t.equal(await main(false, { waiting: { reason: 'CrashLoopBackOff' } }), '1/2 CrashLoopBackOff 5');
  t.equal(await main(false, { terminated: { exitCode: 0, reason: 'Completed' } }, 'Succeeded'), '1/2 Completed 5');
});

t.test('a log is the response of the node', async (t) => {
  const requests: LogOptions[] = [];
  const { kube, ask } = await startApi(t, {
    logs: async (_pod, options) => {
      requests.push(options);
      return (async function* () {
        yield 'one\n';
        yield Buffer.from('two\n');
      })();
    },
  });
  await kube.create(pod('web', { containers: ['a', 'b'].map((name) => ({ name, image: 'x:1' })) }));
  const path = '/api/v1/namespaces/default/pods/web/log';
  const read = (query: string) => text(kube.stream(`${path}?${query}`, AbortSignal.timeout(30_000)));
  t.equal(await read('container=b&tailLines=5&timestamps=true&previous=true&limitBytes=6'), 'one\ntw');
  const expected = { container: 'b', follow: false, previous: true, timestamps: true, tailLines: 5 };
  t.same(requests, [expected]);
  await read('container=a&follow=true&sinceTime=2026-01-01T00:00:00Z');
  t.match(requests[1], { follow: true, since: new Date('2026-01-01T00:00:00Z') });
  t.match(await ask('GET', path), { status: 400, body: { message: /a container name must be specified.*\[a b\]/ } });
  t.match(await ask('GET', `${path}?container=c`), { status: 400 });
  t.match(await ask('GET', `${path}?container=a&tailLines=-1`), { status: 400 });
  t.match(await ask('GET', `${path}?container=a&sinceTime=yesterday`), { status: 400 });
  t.match(await ask('GET', path.replace('web', 'none')), { status: 404 });
});

t.test('a followed log ends when its client disconnects', async (t) => {
  let ended: (() => void) | undefined;
  const streamEnd = new Promise<void>((resolve) => (ended = resolve));
  const { kube, server, adminToken } = await startApi(t, {
    logs: async (_pod, _options, signal) =>
      (async function* () {
        yield 'begun\n';
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
        ended?.();
      })(),
  });
  await kube.create(pod('web'));
  const { request, Agent } = await import('undici');
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  t.teardown(() => dispatcher.destroy());
  const response = await request(`${server.url}/api/v1/namespaces/default/pods/web/log?follow=true`, {
    dispatcher,
    headers: { authorization: `Bearer ${adminToken}` },
  });
  for await (const chunk of response.body) {
    t.equal(String(chunk), 'begun\n');
    break;
  }
  await streamEnd;
});

t.test('a quota counts the existing objects; a LimitRange fills in missing values', async (t) => {
  const { kube } = await startApi(t);
  const hard = { pods: '3', 'requests.cpu': '100m', 'limits.memory': '300Mi', persistentvolumeclaims: '1' };
  const quota = {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'env', namespace: 'default' },
    spec: { hard },
  };
  await kube.create(quota);
  const limits = [{ type: 'Container', default: { memory: '128Mi' }, defaultRequest: { cpu: '20m', memory: '32Mi' } }];
  await kube.create({
    apiVersion: 'v1',
    kind: 'LimitRange',
    metadata: { name: 'env', namespace: 'default' },
    spec: { limits },
  });
  const first = await kube.create(pod('a'));
  t.same(first.spec.containers[0].resources, { limits: { memory: '128Mi' }, requests: { cpu: '20m', memory: '32Mi' } });
  const large = { containers: [{ name: 'main', image: 'x:1', resources: { limits: { cpu: '90m', memory: '64Mi' } } }] };
  t.match(await kube.create(pod('b', large)).catch((error: unknown) => error), {
    status: 403,
    message:
      'pods "b" is forbidden: exceeded quota: env, requested: requests.cpu=90m, used: requests.cpu=20m, limited: requests.cpu=100m',
  });
  await kube.create(pod('b'));
  t.match(await kube.create(pod('c')).catch((error: unknown) => error), {
    message:
      /exceeded quota: env, requested: limits.memory=134217728, used: limits.memory=\d+, limited: limits.memory=300Mi/,
  });
  await kube.mergePatch(ref('b'), { status: { phase: 'Succeeded' } }, 'status');
  t.ok(await kube.create(pod('c')), 'a pod that has ended does not count');
  const claim = (name: string): KubeObject => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: 'default' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  });
  await kube.create(claim('one'));
  t.match(await kube.create(claim('two')).catch((error: unknown) => error), {
    message: /persistentvolumeclaims=1, used: persistentvolumeclaims=1/,
  });
});

t.test('a claim without a class gets the default one', async (t) => {
  const { kube } = await startApi(t);
  interface Claim extends KubeObject {
    spec: { accessModes: string[]; resources: object; storageClassName?: string };
  }
  const claim = (name: string, spec: object = {}): Claim => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: 'default' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
  });
  t.equal((await kube.create(claim('none'))).spec.storageClassName, undefined);
  const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
  for (const [name, metadata] of [
    ['a', {}],
    ['b', { annotations }],
  ] as const) {
    const kind = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', provisioner: 'example.com/x' };
    await kube.create({ ...kind, metadata: { name, ...metadata } });
  }
  t.equal((await kube.create(claim('one'))).spec.storageClassName, 'b');
  t.equal((await kube.create(claim('two', { storageClassName: 'a' }))).spec.storageClassName, 'a');
});

t.test('a Service keeps its address when a replace leaves it out', async (t) => {
  const { kube } = await startApi(t);
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'default' },
    spec: { ports: [{ port: 80 }] },
  };
  const created = await kube.create(service);
  const place = { apiVersion: 'v1', kind: 'Service', namespace: 'default', name: 'web' };
  const patched = await kube.mergePatch<KubeObject>(place, { spec: { clusterIP: '127.96.0.7' } });
  t.match(patched.spec, { clusterIP: '127.96.0.7', clusterIPs: ['127.96.0.7'] });
  const { metadata } = patched;
  const replaced = await kube.replace<KubeObject>({ ...created, metadata });
  t.match(replaced.spec, { clusterIP: '127.96.0.7', clusterIPs: ['127.96.0.7'] });
});
