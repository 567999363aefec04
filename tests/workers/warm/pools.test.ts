import t from 'tap';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { managedLabels } from '../../../runtime/domain/labels.ts';
import { hasRoom, poolsOf } from '../../../workers/warm/pool-size.ts';
import { namespace, warmWorld } from './world.ts';

const quota = (used: object) =>
  ({
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'svc-environment', namespace, labels: managedLabels() },
    spec: {},
    status: { hard: { pods: '10', 'requests.cpu': '1', 'limits.memory': '4Gi' }, used },
  }) as KubeObject;

t.test('an environment has a pool for its functions, with a token that no pod mounts', async (t) => {
  const world = await warmWorld(t);
  world.addFunction('hello');
  world.addFunction('again');
  world.addFunction('cold', { volumes: [{ name: 'data', path: '/data' }] });
  await world.start();
  await world.pools.adjust(namespace);
  const [pool, ...others] = world.poolsNow();
  t.equal(others.length, 0);
  t.equal(pool?.spec.replicas, 1);
  const [secret] = world.kube.all<KubeObject & { data: Record<string, string> }>(kinds.Secret);
  const token = Buffer.from(secret?.data['token'] ?? '', 'base64').toString();
  t.ok(token.length >= 43);
  t.notMatch(JSON.stringify(pool), token);
  t.notMatch(JSON.stringify(pool), 'svc-warm"', 'nor is the Secret named');
  await world.until(() => world.poolsNow().length === 1);
  await new Promise((resolve) => setTimeout(resolve, 10));
  const before = world.kube.calls.length;
  await world.pools.adjust(namespace);
  t.equal(world.kube.calls.length, before, 'nothing is read or written while nothing changes');
});

t.test('the pool follows the functions and the settings', async (t) => {
  const world = await warmWorld(t, { size: 2 });
  world.addFunction('hello');
  await world.start();
  const adjusted = async () => {
    await new Promise((resolve) => setTimeout(resolve, 10));
    await world.pools.adjust(namespace);
    return world.poolsNow().map(({ spec }) => spec.replicas);
  };
  t.same(await adjusted(), [2]);
  world.size = undefined;
  t.same(await adjusted(), [2], 'unknown settings change nothing');
  world.size = 1;
  t.same(await adjusted(), [1]);
  const tokens = () => world.kube.all(kinds.Secret).length;
  t.equal(tokens(), 1);
  world.size = 0;
  t.same(await adjusted(), []);
  t.equal(tokens(), 0, 'an environment without pools has no token');
  world.size = 1;
  t.same(await adjusted(), [1]);
  await world.kube.delete({ apiVersion: 'platform.svc/v1', kind: 'Function', name: 'hello', namespace });
  t.same(await adjusted(), []);
  t.equal(tokens(), 0, 'nothing is left');
});

t.test('changes are noticed, and what fails is tried again', async (t) => {
  const world = await warmWorld(t);
  await world.start();
  world.pools.start();
  t.teardown(() => world.pools.stop());
  world.addFunction();
  await new Promise((resolve) => setTimeout(resolve, 10));
  world.kube.intercept = ({ verb, kind }) => {
    if (verb === 'create' && kind === 'Secret') throw new Error('refused');
  };
  await world.clock.advance(1_000);
  t.same(world.poolsNow(), []);
  world.kube.intercept = undefined;
  await world.clock.advance(1_000);
  t.same(world.poolsNow(), [], 'not at once');
  await world.clock.advance(16_000);
  await world.until(() => world.poolsNow().length === 1);
  t.pass();
});

t.test('a namespace that is no environment has no pool', async (t) => {
  const world = await warmWorld(t);
  world.addFunction();
  const home = world.one('Namespace', namespace);
  const { 'platform.svc/environment-id': _, ...labels } = home.metadata.labels ?? {};
  await world.kube.replace({ ...home, metadata: { ...home.metadata, labels } });
  await world.start();
  await world.pools.adjust(namespace);
  t.same(world.poolsNow(), []);
});

t.test('generic pods never take what workloads need', async (t) => {
  const world = await warmWorld(t);
  world.addFunction();
  world.kube.seed(quota({ pods: '8', 'requests.cpu': '100m', 'limits.memory': '1Gi' }));
  await world.start();
  await world.pools.adjust(namespace);
  t.same(
    world.poolsNow().map(({ spec }) => spec.replicas),
    [0],
    'more than three quarters of the pods',
  );
  const live = world.one<KubeObject>('ResourceQuota', 'svc-environment');
  await world.kube.replaceStatus({ ...live, status: quota({ pods: '7', 'limits.memory': '1Gi' }).status });
  await new Promise((resolve) => setTimeout(resolve, 10));
  await world.pools.adjust(namespace);
  t.same(
    world.poolsNow().map(({ spec }) => spec.replicas),
    [1],
  );
});

t.test('room counts workloads without the generic pods that exist', (t) => {
  const hard = { pods: '8', 'requests.cpu': '1', 'limits.memory': '1Gi' };
  const pod = (memory = '128Mi') => ({
    containers: [{ name: 'a', resources: { requests: { cpu: '20m' }, limits: { memory } } }],
  });
  const room = (used: Record<string, string>, existing: object[], desired: object[]) =>
    hasRoom({ hard, used }, { existing, desired });
  t.ok(room({}, [], [pod()]));
  t.ok(room({ pods: '6' }, [], [pod()]));
  t.notOk(room({ pods: '7' }, [], [pod()]));
  t.ok(room({ pods: '7' }, [pod()], [pod()]), 'one of them is a generic pod');
  t.ok(room({ 'limits.memory': '768Mi' }, [], [pod(), pod()]));
  t.notOk(room({ 'limits.memory': '768Mi' }, [], [pod('512Mi')]), 'they would take more than there is');
  t.notOk(room({ 'requests.cpu': '800m' }, [], [pod()]));
  t.ok(hasRoom({}, { existing: [], desired: [pod()] }), 'no quota');
  t.end();
});

t.test('an environment has at most four pools, those of most functions', (t) => {
  const template = (digest: string) => ({ digest, spec: {} as never });
  const names = (digests: string) => poolsOf(digests.split('').map(template)).map(({ digest }) => digest);
  t.same(names(''), []);
  t.same(names('abacaada'), ['a', 'b', 'c', 'd']);
  t.same(names('edcbaee'), ['e', 'a', 'b', 'c']);
  t.end();
});
