import t from 'tap';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import { isStandIn, type Pod } from '../../../runtime/contracts/pod.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { warmLabel } from '../../../runtime/domain/labels.ts';
import { namespace, token, warmWorld } from './world.ts';

const envSecret = 'function-hello-env-1';
const base64 = (text: string) => Buffer.from(text).toString('base64');

t.test(
  'a function that is scaled up from zero starts in a generic pod, with what its own pod would have',
  async (t) => {
    const world = await warmWorld(t);
    const { kube } = world;
    world.addFunction('hello', { restartedAt: '2026-01-01T00:00:00Z' }, envSecret);
    const data = { GREETING: base64('hallo ü'), PORT: base64('1') };
    kube.seed({ apiVersion: 'v1', kind: 'Secret', metadata: { name: envSecret, namespace }, data } as KubeObject);
    world.addGenericPod('generic-1');
    await world.start();
    await world.scale('hello', 1);
    await world.until(() => world.calls.length > 0);
    const pod = world.podNamed('generic-1');
    const [call] = world.calls;
    t.match(call, { host: '10.0.0.7', uid: pod?.metadata.uid, token });
    t.strictSame(call?.start, {
      env: { GREETING: 'hallo ü', PORT: '8080', SVC_CODE_FILE: '/var/run/svc/code/handler.js' },
      files: { 'handler.js': 'export const handler = () => 1;' },
      drainSeconds: 3_600,
    });
    const { labels, annotations } = world.deployment().spec.template.metadata;
    t.strictSame(pod?.metadata.labels, labels, 'the labels of a cold start, and none of the pool');
    t.strictSame(pod?.metadata.annotations, annotations);
    const { uid } = world.one('Function', 'hello').metadata;
    t.match(pod?.metadata.ownerReferences, [{ kind: 'Function', name: 'hello', uid, controller: true }]);
    t.equal(pod?.metadata.ownerReferences?.length, 1, 'no ReplicaSet owns it');
    t.ok(pod && isStandIn(pod));
    t.equal(await world.startsBy('started'), 1);
  },
);

t.test('it ends when the own pod is ready, and its requests have an hour', async (t) => {
  const world = await warmWorld(t);
  await world.startInGenericPod();
  await world.report('hello', 0);
  await world.until(() => true);
  t.equal(world.podNamed('generic-1')?.metadata.deletionTimestamp, undefined, 'the own pod is not ready');
  await world.report('hello', 1);
  await world.until(() => world.podNamed('generic-1')?.metadata.deletionTimestamp !== undefined);
  t.match(world.podNamed('generic-1')?.metadata, { deletionGracePeriodSeconds: 3_630 });
});

t.test('it ends with the function at zero, deleted or crashed', async (t) => {
  const ends: [string, (world: Awaited<ReturnType<typeof warmWorld>>) => Promise<unknown>][] = [
    ['at zero', (world) => world.scale('hello', 0)],
    ['deleted', ({ kube }) => kube.delete({ apiVersion: 'apps/v1', kind: 'Deployment', name: 'hello', namespace })],
    [
      'crashed',
      ({ kube, podNamed }) => {
        const pod = podNamed('generic-1');
        if (!pod) throw new Error('it is gone');
        const containerStatuses = [{ name: 'function', ready: false, restartCount: 1, state: {} }];
        return kube.replaceStatus({ ...pod, status: { ...pod.status, containerStatuses } });
      },
    ],
  ];
  for (const [what, happen] of ends) {
    const world = await warmWorld(t);
    await world.startInGenericPod();
    await happen(world);
    await world.until(() => world.podNamed('generic-1')?.metadata.deletionTimestamp !== undefined);
    t.match(world.podNamed('generic-1')?.metadata, { deletionGracePeriodSeconds: 30 }, what);
  }
});

t.test('a pod that does not take the function is deleted, and never another function’s', async (t) => {
  const world = await warmWorld(t);
  world.addFunction('hello');
  world.addFunction('other');
  world.addGenericPod('generic-1');
  world.answer = () => Promise.reject(new Error('the pod answered 409'));
  await world.start();
  await world.scale('hello', 1);
  await world.until(() => world.podNamed('generic-1')?.metadata.deletionTimestamp !== undefined);
  t.equal(await world.startsBy('failed'), 1);
  await world.scale('other', 1);
  await new Promise((resolve) => setTimeout(resolve, 20));
  t.equal(world.calls.length, 1);
});

t.test('two functions never get the same pod', async (t) => {
  const world = await warmWorld(t);
  for (const name of ['a', 'b', 'c']) world.addFunction(name);
  world.addGenericPod('generic-1', 'a');
  world.addGenericPod('generic-2', 'a', { podIP: '10.0.0.8', phase: 'Running' });
  await world.start();
  await Promise.all(['a', 'b', 'c'].map((name) => world.scale(name, 1)));
  await world.until(() => world.calls.length === 2);
  await new Promise((resolve) => setTimeout(resolve, 20));
  t.equal(world.calls.length, 2);
  t.equal(new Set(world.calls.map(({ uid }) => uid)).size, 2);
  t.equal(await world.startsBy('missed'), 1);
});

t.test(
  'of 40 functions that are woken at once, as many start in generic pods as there are, and the pool refills',
  async (t) => {
    const world = await warmWorld(t, { size: 2 });
    const names = Array.from({ length: 40 }, (_, index) => `f${index}`);
    for (const name of names) world.addFunction(name);
    const generic = () => world.kube.all<Pod>(kinds.Pod).filter(({ metadata }) => warmLabel in (metadata.labels ?? {}));
    let created = 0;
    const addPod = () => {
      created += 1;
      world.addGenericPod(`generic-${created}`, 'f0', { podIP: `10.0.0.${created}`, phase: 'Running' });
    };
    for (let count = 0; count < 2; count++) addPod();
    // As the pool's ReplicaSet does.
    world.kube.intercept = ({ verb, kind }) => {
      if (verb === 'mergePatch' && kind === 'Pod') setImmediate(() => generic().length < 2 && addPod());
    };
    await world.start();
    await Promise.all(names.map((name) => world.scale(name, 1)));
    const results = async () => (await world.startsBy('started')) + (await world.startsBy('missed'));
    for (let tries = 0; tries < 100 && (await results()) < 40; tries++) await new Promise((r) => setTimeout(r, 5));
    t.equal(await results(), 40, 'each function has been looked at');
    t.ok((await world.startsBy('started')) >= 2);
    t.equal(await world.startsBy('failed'), 0);
    const standIns = world.kube.all<Pod>(kinds.Pod).filter(isStandInObject);
    t.equal(standIns.length, world.calls.length);
    t.equal(new Set(world.calls.map(({ uid }) => uid)).size, world.calls.length, 'no pod was started twice');
    t.equal(
      new Set(standIns.map(({ metadata }) => metadata.labels?.['app'])).size,
      standIns.length,
      'no function twice',
    );
    for (const name of names) await world.report(name, 1);
    const isEnding = ({ metadata }: Pod) => metadata.deletionTimestamp !== undefined;
    await world.until(() => world.kube.all<Pod>(kinds.Pod).filter(isStandInObject).every(isEnding));
    t.equal(generic().length, 2);
  },
);

t.test('only a pod that runs, of the same template and environment, is used', async (t) => {
  const world = await warmWorld(t);
  const { kube } = world;
  world.addFunction('hello');
  world.addFunction('large', { memory: '1Gi' });
  world.addGenericPod('pending', 'hello', { phase: 'Pending', containerStatuses: [] });
  world.addGenericPod('large-1', 'large');
  world.addGenericPod('ending', 'hello');
  await kube.delete({ apiVersion: 'v1', kind: 'Pod', name: 'ending', namespace });
  world.addGenericPod('elsewhere', 'hello');
  const elsewhere = world.podNamed('elsewhere');
  if (!elsewhere) throw new Error('it is gone');
  await kube.delete({ apiVersion: 'v1', kind: 'Pod', name: 'elsewhere', namespace }, { gracePeriodSeconds: 0 });
  kube.seed({ ...elsewhere, metadata: { ...elsewhere.metadata, namespace: 'blog-prod' } });
  await world.start();
  await world.scale('hello', 1);
  await new Promise((resolve) => setTimeout(resolve, 20));
  t.same(world.calls, []);
  t.equal(await world.startsBy('missed'), 1);
  t.equal(kube.all(kinds.Pod).filter(isStandInObject).length, 0, 'no pod has changed');
});

t.test('a generic pod that restarted with its node is not used, and its pool gets another one', async (t) => {
  const world = await warmWorld(t);
  world.addFunction();
  const running = { name: 'function', ready: false, restartCount: 1, state: { running: {} } };
  world.addGenericPod('generic-1', 'hello', { podIP: '10.0.0.7', phase: 'Running', containerStatuses: [running] });
  await world.start();
  await world.scale('hello', 1);
  await world.until(() => world.podNamed('generic-1')?.metadata.deletionTimestamp !== undefined);
  t.same(world.calls, []);
});

t.test('a function whose variables cannot be read does not keep the pod', async (t) => {
  const world = await warmWorld(t);
  world.addFunction('hello', {}, envSecret);
  world.addGenericPod('generic-1');
  await world.start();
  await world.scale('hello', 1);
  await world.until(() => world.podNamed('generic-1')?.metadata.deletionTimestamp !== undefined);
  t.same(world.calls, []);
  t.equal(await world.startsBy('failed'), 1);
});

t.test('functions with bindings start cold', async (t) => {
  const world = await warmWorld(t);
  world.addFunction('bound', { bindings: [{ service: 'db', version: 1, prefix: 'DB_' }] as never });
  world.addFunction('hello');
  world.addGenericPod('generic-1');
  await world.start();
  await world.scale('bound', 1);
  await new Promise((resolve) => setTimeout(resolve, 20));
  t.same(world.calls, []);
});

t.test('pods that a former leader left are ended', async (t) => {
  const world = await warmWorld(t);
  world.addFunction();
  world.addGenericPod('generic-1');
  const pod = world.podNamed('generic-1');
  const { uid } = world.one('Function', 'hello').metadata;
  const owner = { apiVersion: 'platform.svc/v1', kind: 'Function', name: 'hello', uid, controller: true };
  const labels = { ...pod?.metadata.labels, ...world.deployment().spec.template.metadata.labels };
  await world.kube.mergePatch(
    { apiVersion: 'v1', kind: 'Pod', name: 'generic-1', namespace },
    { metadata: { labels, ownerReferences: [owner] } },
  );
  await world.start();
  await world.until(() => world.podNamed('generic-1')?.metadata.deletionTimestamp !== undefined);
  t.pass();
});

function isStandInObject(object: KubeObject): boolean {
  return isStandIn(object as never);
}
