import t from 'tap';
import { settle } from '../../../support/clock.ts';
import type { BatchJob, Deployment, ReplicaSet, StatefulSet } from '../../../../infra/local/controllers/objects.ts';
import { findCondition } from '../../../../runtime/kube/conditions.ts';
import type { Pod } from '../../../../runtime/contracts/pod.ts';
import type { Stored } from '../../../../runtime/contracts/kubernetes.ts';
import { refOf } from '../../../../runtime/kube/children.ts';
import { KubeError } from '../../../../runtime/kube/kube-client.ts';
import { kinds } from '../../../../runtime/contracts/resources/kinds.ts';
import { startControllers, template } from '../../../support/local-controllers.ts';

const labels = { app: 'web' };
const imageOf = (pod: Pod) => (pod.spec.containers[0] as { image?: string }).image;
const live = (pods: Stored<Pod>[]) => pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);

const deployment = (spec: Partial<Deployment['spec']> = {}): Deployment => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default' },
  spec: { replicas: 2, selector: { matchLabels: labels }, template: template(labels), ...spec },
});

t.test('a Deployment rolls to a new template, keeps its history and returns to an old one', async (t) => {
  const world = await startControllers(t);
  const { kube, all, until } = world;
  const rollTo = async (change: Partial<Deployment['spec']>) => {
    const [stored] = all<Deployment>(kinds.Deployment);
    if (!stored) throw new Error('no deployment');
    await kube.replace({ ...stored, spec: { ...stored.spec, ...change } });
  };
  const complete = (image: string) =>
    until(`all run ${image}`, () => {
      const [stored] = all<Deployment>(kinds.Deployment);
      const pods = all<Pod>(kinds.Pod);
      const done =
        findCondition(stored?.status?.conditions, 'Progressing')?.reason === 'NewReplicaSetAvailable' &&
        stored?.status?.observedGeneration === stored?.metadata.generation;
      return done && pods.length === 2 && pods.every((pod) => imageOf(pod) === image) && stored;
    });
  await world.create(deployment());
  const first = await complete('app:1');
  t.match(first.status, { replicas: 2, readyReplicas: 2, updatedReplicas: 2, unavailableReplicas: 0 });
  const [set] = all<ReplicaSet>(kinds.ReplicaSet);

  await rollTo({ template: template(labels, '2') });
  await complete('app:2');
  t.equal(all(kinds.ReplicaSet).length, 2);

  await rollTo({ template: template(labels, '1'), revisionHistoryLimit: 1 });
  await complete('app:1');
  const again = all<ReplicaSet>(kinds.ReplicaSet).find(({ metadata }) => metadata.uid === set?.metadata.uid);
  t.equal(again?.metadata.annotations?.['deployment.kubernetes.io/revision'], '3', 'the same set, newest again');

  await rollTo({ template: template(labels, '3') });
  await complete('app:3');
  await until('old sets go', () => all(kinds.ReplicaSet).length === 2 && 'yes');
});

t.test('a rollout whose pods never become ready keeps the old ones and is reported as failed', async (t) => {
  const world = await startControllers(t);
  const { kube, all, until } = world;
  const rollingUpdate = { maxSurge: 1, maxUnavailable: 0 };
  await world.create(deployment({ strategy: { type: 'RollingUpdate', rollingUpdate }, progressDeadlineSeconds: 3 }));
  await until('two serve', () => all<Deployment>(kinds.Deployment)[0]?.status?.readyReplicas === 2 && 'yes');
  world.fate = () => 'running';
  const stored = await until('it is settled', () => all<Deployment>(kinds.Deployment)[0]);
  await kube.replace({ ...stored, spec: { ...stored.spec, template: template(labels, 'bad') } });
  const failed = await until('its deadline is over', () => {
    const [now] = all<Deployment>(kinds.Deployment);
    return findCondition(now?.status?.conditions, 'Progressing')?.reason === 'ProgressDeadlineExceeded' && now;
  });
  t.match(failed.status, { readyReplicas: 2, updatedReplicas: 1, replicas: 3 });
  t.equal(findCondition(failed.status?.conditions, 'Available')?.status, 'True');
  t.equal(all<Pod>(kinds.Pod).filter((pod) => imageOf(pod) === 'app:1').length, 2);

  await kube.mergePatch(refOf(failed), { metadata: { annotations: { looked: 'again' } } });
  const other = deployment({ template: template({ app: 'other' }), selector: { matchLabels: { app: 'other' } } });
  await world.create({ ...other, metadata: { ...other.metadata, name: 'other' } });
  await until('the one that came later was seen to', () => all<Deployment>(kinds.Deployment)[1]?.status && 'yes');
  const [still] = all<Deployment>(kinds.Deployment);
  t.equal(
    findCondition(still?.status?.conditions, 'Progressing')?.reason,
    'ProgressDeadlineExceeded',
    'the failure is permanent',
  );
});

t.test('refused pods are reported up to the Deployment, and created once they are allowed', async (t) => {
  const world = await startControllers(t);
  const { kube, all, until } = world;
  kube.intercept = ({ verb, kind }) => {
    if (verb === 'create' && kind === 'Pod') throw new KubeError(403, 'Forbidden', 'exceeded quota: pods');
  };
  await world.create(deployment());
  const conditions = () => all<Deployment>(kinds.Deployment)[0]?.status?.conditions;
  const refused = await until('it says so', () => findCondition(conditions(), 'ReplicaFailure'));
  t.match(refused, { status: 'True', reason: 'FailedCreate', message: 'exceeded quota: pods' });
  kube.intercept = undefined;
  await until('both are there', () => all(kinds.Pod).length === 2 && 'yes');
  await until('it is over', () => findCondition(conditions(), 'ReplicaFailure') === undefined && 'yes');
});

t.test('with the strategy Recreate, all old pods are gone before a new one is created', async (t) => {
  const world = await startControllers(t);
  const { kube, all, until } = world;
  // A finalizer holds the old ones for a while.
  const held = template(labels);
  held.metadata = { labels, finalizers: ['test/hold'] };
  await world.create(deployment({ strategy: { type: 'Recreate' }, template: held }));
  await until('two serve', () => all<Deployment>(kinds.Deployment)[0]?.status?.readyReplicas === 2 && 'yes');
  const images: Set<string | undefined>[] = [];
  world.fate = () => {
    images.push(new Set(all<Pod>(kinds.Pod).map(imageOf)));
    return 'ready';
  };
  const stored = await until('it is settled', () => all<Deployment>(kinds.Deployment)[0]);
  await kube.replace({ ...stored, spec: { ...stored.spec, template: template(labels, '2') } });
  await until('all was looked at', () => {
    const [now] = all<Deployment>(kinds.Deployment);
    const allObserved = [...all<ReplicaSet>(kinds.ReplicaSet), ...(now ? [now] : [])].every(
      ({ metadata, status }) => status?.observedGeneration === metadata.generation,
    );
    const terminatingPods = all<Pod>(kinds.Pod).filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
    return allObserved && now?.metadata.generation === 2 && terminatingPods.length === 2 && 'yes';
  });
  for (const { metadata } of all(kinds.Pod)) {
    await kube.mergePatch(
      { ...kinds.Pod, namespace: 'default', name: metadata.name },
      { metadata: { finalizers: [] } },
    );
  }
  await until('two new ones', () => {
    const pods = all<Pod>(kinds.Pod);
    return pods.length === 2 && pods.every((pod) => imageOf(pod) === 'app:2') && 'yes';
  });
  t.ok(images.length > 0 && images.every((names) => !names.has('app:1')), 'never both');
});

t.test('a ReplicaSet replaces pods that end or are deleted, and scales down unready ones first', async (t) => {
  const world = await startControllers(t);
  const { kube, all, until, set } = world;
  await world.create(deployment({ replicas: 3 }));
  const three = () => {
    const pods = live(all<Pod>(kinds.Pod)).filter(({ status }) => status?.phase === 'Running');
    return pods.length === 3 && pods;
  };
  const [first, second, third] = await until('three', three);
  if (!first || !second || !third) throw new Error('three pods');
  await kube.delete({ apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: first.metadata.name });
  await set(second, 'Failed');
  const pods = await until('three again', three);
  t.notOk(pods.some(({ metadata }) => [first, second].some((gone) => gone.metadata.uid === metadata.uid)));
  await set(third, 'running');
  await kube.mergePatch({ ...kinds.Deployment, namespace: 'default', name: 'web' }, { spec: { replicas: 2 } });
  await until('the pod without requests is deleted', () => {
    const running = all<Pod>(kinds.Pod).filter(({ status }) => status?.phase === 'Running');
    return running.length === 2 && running.every(({ metadata }) => metadata.uid !== third.metadata.uid) && 'yes';
  });
});

t.test('a StatefulSet creates its pods in order, each with its claim, and rolls from the last one', async (t) => {
  const world = await startControllers(t);
  const { kube, all, until } = world;
  const created: string[] = [];
  world.fate = ({ metadata }) => {
    created.push(metadata.name);
    return created.length === 1 ? undefined : 'ready';
  };
  const set: StatefulSet = {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db', namespace: 'default' },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: template(labels),
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'] } }],
    },
  };
  await world.create(set);
  const waiting = await until('the first one is there', () => all<Pod>(kinds.Pod)[0]);
  const passes = () => kube.calls.filter(({ verb, kind }) => verb === 'get' && kind === 'StatefulSet').length;
  const before = passes();
  await world.set(waiting, 'running');
  while (passes() === before) await settle();
  await settle();
  t.same(created, ['db-0'], 'the second one waits until the first serves');
  await world.set(waiting, 'ready');
  const ready = (revision?: string) => () => {
    const [now] = all<StatefulSet>(kinds.StatefulSet);
    const status = now?.status ?? {};
    const done = status['readyReplicas'] === 2 && status['updatedReplicas'] === 2;
    return done && status['currentRevision'] !== revision && now;
  };
  const first = await until('both serve', ready());
  t.same(created, ['db-0', 'db-1']);
  t.same(
    all(kinds.PersistentVolumeClaim).map(({ metadata }) => metadata.name),
    ['data-db-0', 'data-db-1'],
  );
  const [zero] = all<Pod>(kinds.Pod);
  t.match(zero?.spec.volumes, [{ name: 'data', persistentVolumeClaim: { claimName: 'data-db-0' } }]);
  await kube.replace({ ...first, spec: { ...first.spec, template: template(labels, '2') } });
  await until('both are new', ready(first.status?.['currentRevision'] as string));
  t.same(created.slice(2), ['db-1', 'db-0']);
  t.equal(all(kinds.PersistentVolumeClaim).length, 2);
});

const job = (spec: Partial<BatchJob['spec']>): BatchJob => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'run', namespace: 'default' },
  spec: { template: template({ role: 'run' }, '1', { restartPolicy: 'Never' }), ...spec },
});
const ended = (jobs: Stored<BatchJob>[], type: 'Complete' | 'Failed') =>
  jobs.find(({ status }) => findCondition(status?.conditions, type)?.status === 'True');

t.test('a Job completes when a pod succeeds after failures', async (t) => {
  const world = await startControllers(t);
  world.fate = () => (world.all(kinds.Pod).length < 3 ? 'Failed' : 'Succeeded');
  await world.create(job({}));
  const done = await world.until('it completes', () => ended(world.all(kinds.BatchJob), 'Complete'));
  t.match(done.status, { succeeded: 1, failed: 2, completionTime: String });
  t.equal(world.all(kinds.Pod).length, 3);
});

t.test('a Job fails at its backoff limit or deadline; running pods are deleted', async (t) => {
  const world = await startControllers(t);
  world.fate = () => 'Failed';
  await world.create(job({ backoffLimit: 2 }));
  const failed = await world.until('it fails', () => ended(world.all(kinds.BatchJob), 'Failed'));
  t.equal(findCondition(failed.status?.conditions, 'Failed')?.reason, 'BackoffLimitExceeded');
  t.equal(failed.status?.failed, 3);
  t.equal(world.all(kinds.Pod).length, 3, 'the pods of all failures stay, with their logs');

  world.fate = () => 'running';
  await world.create({ ...job({ activeDeadlineSeconds: 1 }), metadata: { name: 'slow', namespace: 'default' } });
  const late = await world.until('it is late', () =>
    ended(
      world.all<BatchJob>(kinds.BatchJob).filter(({ metadata }) => metadata.name === 'slow'),
      'Failed',
    ),
  );
  t.equal(findCondition(late.status?.conditions, 'Failed')?.reason, 'DeadlineExceeded');
  await world.until('its pod goes', () => world.all(kinds.Pod).length === 3 && 'yes');
});

t.test('a Job that has ended is deleted with its pods after its time to live', async (t) => {
  const world = await startControllers(t);
  world.fate = () => 'Succeeded';
  await world.create(job({ ttlSecondsAfterFinished: 0 }));
  await world.until(
    'a pod has run',
    () => world.kube.calls.some(({ verb, kind }) => verb === 'create' && kind === 'Pod') && 'yes',
  );
  await world.until('all is gone', () => world.all(kinds.BatchJob).length + world.all(kinds.Pod).length === 0 && 'yes');
});
