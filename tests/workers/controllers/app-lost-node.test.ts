import t from 'tap';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { idLabel, kindLabel } from '../../../runtime/domain/labels.ts';
import { namespace, setUp } from './app-world.ts';

type World = Awaited<ReturnType<typeof setUp>>;

/** An app that serves, and a function that adds a pod of it. */
async function serving(world: World, spec: Parameters<World['create']>[1] = {}) {
  const { create, pass, release, observe, app, kube, ready } = world;
  await create('api', spec);
  await pass();
  await release(1);
  await pass();
  const { replicas = 1 } = spec;
  await observe({
    ...ready,
    replicas,
    updatedReplicas: replicas,
    readyReplicas: replicas,
    availableReplicas: replicas,
  });
  const { phase, message } = (await pass()).app?.status ?? {};
  const id = (await app()).metadata.labels?.[idLabel] ?? '';
  const labels = { [idLabel]: id, [kindLabel]: 'App', app: 'api', 'platform.svc/role': 'serve' };
  const addPod = (name: string, pod: object) => {
    const metadata = { name, namespace, labels, annotations: { 'platform.svc/release': '1' } };
    const object = { apiVersion: 'v1', kind: 'Pod', metadata, ...pod };
    kube.seed(object);
    return object;
  };
  return { status: { phase, message }, addPod };
}

const onLostNode = {
  spec: { containers: [], nodeName: 'b' },
  status: {
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'False' }],
    containerStatuses: [{ name: 'app', ready: true, restartCount: 0, state: { running: {} } }],
  },
};
const refused = (message: string) => ({
  spec: { containers: [] },
  status: {
    phase: 'Pending',
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }],
  },
});

t.test('an app whose pods are all on a lost node has failed, and says which node', async (t) => {
  const world = await setUp(t);
  const { status, addPod } = await serving(world);
  t.same(status, { phase: 'running', message: undefined });
  addPod('api-1', onLostNode);
  await world.observe({ ...world.ready, readyReplicas: 0, availableReplicas: 0 });
  t.match((await world.pass()).app?.status, {
    phase: 'failed',
    message: /^The node b does not respond\./,
    release: { phase: 'available' },
  });
  addPod('api-2', { spec: { containers: [], nodeName: 'a' }, status: { phase: 'Pending' } });
  t.match((await world.pass()).app?.status, { phase: 'deploying', message: undefined });
});

t.test('an app with another pod keeps running, and says what is missing', async (t) => {
  const world = await setUp(t);
  const { addPod } = await serving(world, { replicas: 2 });
  addPod('api-1', onLostNode);
  await world.observe({ replicas: 2, updatedReplicas: 2, readyReplicas: 1, availableReplicas: 1 });
  t.match((await world.pass()).app?.status, {
    phase: 'running',
    message: /^1 of 2 pods are ready\. The node b does not respond\./,
  });
  await world.observe({ replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2 });
  t.equal((await world.pass()).app?.status?.message, undefined);
});

t.test('an app whose volume is on a node that is away names the node and what to do', async (t) => {
  const world = await setUp(t);
  const { kube } = world;
  const volume = await kube.create({
    apiVersion: 'platform.svc/v1',
    kind: 'Volume',
    metadata: { name: 'data', namespace },
    spec: { size: '1Gi', accessMode: 'ReadWriteOnce' },
  });
  const owner = { apiVersion: volume.apiVersion, kind: 'Volume', name: 'data', uid: volume.metadata.uid };
  kube.seed({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: 'data',
      namespace,
      labels: { [kindLabel]: 'Volume' },
      annotations: { 'volume.kubernetes.io/selected-node': 'c' },
      ownerReferences: [owner],
    },
  });
  const { addPod } = await serving(world, { volumes: [{ name: 'data', path: '/data' }] });
  const pod = addPod(
    'api-1',
    refused("0/2 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity."),
  );
  await world.observe({ ...world.ready, readyReplicas: 0, availableReplicas: 0 });
  t.match((await world.pass()).app?.status, {
    phase: 'failed',
    message: /^The storage of a volume is on the node c, .*Bring c back/,
  });
  const watch = world.controller.watches?.find(({ kind }) => kind === kinds.Pod);
  const keys = watch?.keysOf(pod as never, () => []);
  t.same(keys, [{ namespace, name: 'api' }], 'the scheduler’s refusal causes a pass');
});
