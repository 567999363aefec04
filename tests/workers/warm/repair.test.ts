import { createHash } from 'node:crypto';
import t from 'tap';
import type { FunctionDeployment } from '../../../infra/manifests/function.ts';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import { isStandIn, type Pod } from '../../../runtime/contracts/pod.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { namespace, warmWorld } from './world.ts';

type World = Awaited<ReturnType<typeof warmWorld>>;

const secret = { apiVersion: 'v1', kind: 'Secret', name: 'svc-warm', namespace };
const poolOf = (world: World) => world.poolsNow()[0];
const tokenOf = (world: World) => {
  const [{ data = {} } = {}] = world.kube.all<KubeObject & { data?: Record<string, string> }>(kinds.Secret);
  return Buffer.from(data['token'] ?? '', 'base64').toString();
};
/** Whether a pod of the pool would be started with the environment's token. */
const isConsistent = (world: World) => {
  const digest = createHash('sha256').update(tokenOf(world)).digest('hex');
  return tokenOf(world) !== '' && JSON.stringify(poolOf(world)?.spec.template).includes(digest);
};

/** A pool that runs, with its loop. */
async function poolWorld(t: Parameters<typeof warmWorld>[0]): Promise<World> {
  const world = await warmWorld(t);
  world.addFunction();
  await world.start();
  world.pools.start();
  t.teardown(() => world.pools.stop());
  await world.clock.advance(1_000);
  await world.until(() => poolOf(world) !== undefined && world.seesPool());
  t.ok(isConsistent(world));
  return world;
}

t.test('a pool whose Deployment object is deleted or changed by hand is restored within moments', async (t) => {
  const world = await poolWorld(t);
  const { kube } = world;
  const restored = async (holds: (pool: FunctionDeployment) => boolean) => {
    await world.until(() => !world.seesPool(holds));
    await world.clock.advance(1_000);
    await world.until(() => world.poolsNow().some(holds));
  };
  const pool = poolOf(world);
  if (!pool) throw new Error('there is no pool');
  const { name } = pool.metadata;
  await kube.delete({ apiVersion: 'apps/v1', kind: 'Deployment', name, namespace });
  await restored((each) => each.spec.replicas === 1);
  for (const replicas of [0, 5]) {
    await world.scale(name, replicas);
    await restored((each) => each.spec.replicas === 1);
  }
  const live = world.one<FunctionDeployment>('Deployment', name);
  const [container] = live.spec.template.spec['containers'] as unknown as { image: string }[];
  const image = container?.image;
  const changed = JSON.parse(JSON.stringify(live).replaceAll(String(image), 'registry.test/other:1')) as typeof live;
  await kube.replace(changed);
  await restored((each) => JSON.stringify(each).includes(`"${image}"`));
  t.ok(isConsistent(world), 'with the same token');
});

t.test('after an upgrade to another runtime image, the pool is replaced and none of its pods is used', async (t) => {
  const world = await poolWorld(t);
  const former = poolOf(world)?.metadata.name;
  world.addGenericPod('generic-1');
  await world.until(() => world.podNamed('generic-1') !== undefined);
  const live = world.deployment();
  const [container] = live.spec.template.spec['containers'] as unknown as { image: string }[];
  if (!container) throw new Error('it has no container');
  container.image = 'registry.test/function-node:2';
  await world.kube.replace(live);
  await world.scale('hello', 1);
  await world.clock.advance(1_000);
  await world.until(() => world.poolsNow().length === 1 && poolOf(world)?.metadata.name !== former);
  t.match(JSON.stringify(poolOf(world)), 'registry.test/function-node:2');
  t.same(world.calls, []);
  await world.scale('hello', 0);
  await world.until(() => world.seesPool());
  world.addGenericPod('generic-2');
  await new Promise((resolve) => setTimeout(resolve, 10));
  await world.scale('hello', 1);
  await world.until(() => world.calls.length === 1);
  t.equal(world.calls[0]?.uid, world.podNamed('generic-2')?.metadata.uid);
});

for (const [what, change] of [
  ['deleted', ({ kube }: World) => kube.delete(secret)],
  ['emptied', ({ kube }: World) => kube.mergePatch(secret, { data: null })],
  ['replaced', ({ kube }: World) => kube.mergePatch(secret, { data: { token: 'b3RoZXI=' } })],
] as const) {
  t.test(`after the token was ${what} by hand, the pods of the pool are replaced by ones that know it`, async (t) => {
    const world = await poolWorld(t);
    const before = tokenOf(world);
    await change(world);
    t.notOk(isConsistent(world));
    await world.clock.advance(200_000);
    t.notOk(isConsistent(world), 'the platform may not watch Secrets');
    await world.clock.advance(120_000);
    await world.until(() => isConsistent(world));
    t.not(tokenOf(world), before);
    t.equal(poolOf(world)?.spec['strategy']?.type, 'Recreate', 'pods that are never ready are replaced, too');
  });
}

t.test('a start that fails has the token read again at once', async (t) => {
  const world = await poolWorld(t);
  world.addGenericPod('generic-1');
  await world.kube.delete(secret);
  await world.until(() => world.podNamed('generic-1') !== undefined);
  await world.scale('hello', 1);
  await world.until(() => world.podNamed('generic-1')?.metadata.deletionTimestamp !== undefined);
  await world.clock.advance(1_000);
  await world.until(() => isConsistent(world));
  t.equal(await world.startsBy('failed'), 1);
});

t.test('a Secret with the name that another program created is not touched', async (t) => {
  const world = await warmWorld(t);
  const foreign = { token: Buffer.from('theirs').toString('base64') };
  world.kube.seed({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: secret.name, namespace },
    data: foreign,
  } as KubeObject);
  world.addFunction();
  await world.start();
  await t.rejects(world.pools.adjust(namespace), {
    message: /Secret "svc-warm" in shop-prod was not created by the platform/,
  });
  t.equal(tokenOf(world), 'theirs');
  t.same(world.poolsNow(), []);
});

/** The statuses of pods in which nothing can be started. */
const faults: [string, Pod['status'], number][] = [
  ['that has crashed and runs again', { phase: 'Running', containerStatuses: [container(1, { running: {} })] }, 0],
  ['that crashes again and again', { phase: 'Running', containerStatuses: [container(5, { waiting: {} })] }, 301_000],
  ['whose image cannot be pulled', { phase: 'Pending', containerStatuses: [container(0, { waiting: {} })] }, 301_000],
  ['that its node has not started', { phase: 'Pending', containerStatuses: [] }, 301_000],
  ['that was evicted', { phase: 'Failed', reason: 'Evicted' }, 0],
];

for (const [what, status, afterMs] of faults) {
  t.test(`a generic pod ${what} is replaced, and no function is started in it`, async (t) => {
    const world = await warmWorld(t);
    world.addFunction();
    world.addGenericPod('generic-1', 'hello', { podIP: '10.0.0.7', ...status });
    const ends = () => {
      const pod = world.podNamed('generic-1');
      return pod === undefined || pod.metadata.deletionTimestamp !== undefined;
    };
    await world.start();
    await world.scale('hello', 1);
    if (afterMs > 0) {
      await world.clock.advance(60_000);
      t.notOk(ends(), 'it may still start');
      await world.clock.advance(afterMs);
    }
    await world.until(ends);
    t.same(world.calls, []);
  });
}

t.test('a pod that waits for a node is not replaced by one that waits, too', async (t) => {
  const world = await warmWorld(t);
  world.addFunction();
  world.addGenericPod('generic-1', 'hello', { phase: 'Pending', containerStatuses: [] }, null);
  await world.start();
  await world.clock.advance(900_000);
  t.equal(world.podNamed('generic-1')?.metadata.deletionTimestamp, undefined);
});

/** What can go wrong after a pod was taken: each leaves it with the labels of the function, and without its code. */
const halves: [string, (world: World) => void][] = [
  [
    'the answer to the patch was lost',
    (world) => {
      world.loses = true;
    },
  ],
  [
    'neither the call nor the deletion succeeded',
    (world) => {
      world.answer = () => Promise.reject(new Error('socket hang up'));
      world.kube.intercept = ({ verb, kind }) => {
        if (verb !== 'delete' || kind !== 'Pod') return;
        world.kube.intercept = undefined;
        throw new Error('the API server is away');
      };
    },
  ],
];

for (const [what, breakIt] of halves) {
  t.test(`a pod that was taken is deleted and serves no other function after ${what}`, async (t) => {
    const world = await warmWorld(t);
    for (const name of ['hello', 'other']) world.addFunction(name);
    world.addGenericPod('generic-1');
    await world.start();
    breakIt(world);
    await world.scale('hello', 1);
    await world.until(() => world.kube.all<Pod>(kinds.Pod).some((pod) => isStandIn(pod)));
    await new Promise((resolve) => setTimeout(resolve, 20));
    world.loses = false;
    const calls = world.calls.length;
    await world.scale('other', 1);
    await world.report('hello', 0);
    await world.clock.advance(30_000);
    await world.clock.advance(30_000);
    await world.until(() => world.podNamed('generic-1')?.metadata.deletionTimestamp !== undefined);
    t.equal(world.calls.length, calls, 'the other function starts cold');
    t.equal(await world.startsBy('failed'), 1);
    t.equal(await world.startsBy('started'), 0);
  });
}

t.test('a pod that stands in and is ready stays until the function’s own is, however long that takes', async (t) => {
  const world = await warmWorld(t);
  await world.startInGenericPod();
  await world.report('hello', 0);
  const pod = world.podNamed('generic-1');
  if (!pod) throw new Error('it is gone');
  const conditions = [{ type: 'Ready', status: 'True' }];
  await world.kube.replaceStatus({ ...pod, status: { ...pod.status, conditions } });
  await new Promise((resolve) => setTimeout(resolve, 10));
  await world.clock.advance(600_000);
  t.equal(world.podNamed('generic-1')?.metadata.deletionTimestamp, undefined);
});

function container(restartCount: number, state: object) {
  return { name: 'function', ready: false, restartCount, state };
}
