import t, { type Test } from 'tap';
import type { Attempt } from '../../../runtime/bus/runner.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { newId, type Id } from '../../../runtime/domain/ids.ts';
import { idLabel } from '../../../runtime/domain/labels.ts';
import { createCompletionWatch } from '../../../runtime/kube/completion-watch.ts';
import { createInformer } from '../../../runtime/kube/informer.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';
import { createRolloutProcessor } from '../../../workers/rollouts/process.ts';
import { isReleaseCompletion } from '../../../workers/rollouts/completion.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { fakeKube, saying } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { testDatabase } from '../../support/postgres.ts';
import { appObject, namespace, testApp } from './rollout-world.ts';

async function world(t: Test) {
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  const app = await testApp(pool, kube, 'api');
  const process = createRolloutProcessor({ pool, kube, failpoint: () => undefined });
  const step = (recordId: Id, attempt: Partial<Attempt> = {}) =>
    process({ recordId, attempt: 1, last: false, signal: new AbortController().signal, log: silentLog, ...attempt });
  /** Simulates that a deployment was accepted `minutes` minutes earlier. */
  const age = (minutes: number) =>
    pool.query(`UPDATE deployments SET accepted_at = accepted_at - $1 * interval '1 minute'`, [minutes]);
  const replaces = () => kube.calls.filter(({ verb }) => verb === 'replace').length;
  return { pool, kube, app, step, age, replaces };
}

t.test('a rollout applies its release, sleeps until the deadline, and succeeds when the pods serve', async (t) => {
  const { app, step, replaces } = await world(t);
  const id = await app.accept('r/api:1');
  const outcome = await step(id);
  const release = { generation: 1, deploymentId: id, image: 'r/api:1', lingerSeconds: 10 };
  t.match((await app.object()).spec, { release });
  const [entry] = await app.history();
  t.match(entry, { state: 'rolling_out' });
  t.type(entry?.startedAt, Date);
  t.same(outcome, { again: new Date((entry?.acceptedAt.getTime() ?? 0) + 600_000) });
  t.same(await step(id), outcome, 'nothing has happened yet');
  await app.report({ phase: 'progressing' });
  t.same(await step(id), outcome);
  await app.report({ phase: 'available' });
  t.equal(await step(id), 'done');
  t.match(await app.history(), [{ state: 'succeeded', current: true, reason: null }]);
  t.equal(await step(id), 'done', 'a repeated step does nothing');
  t.equal(await step(newId()), 'done', 'a record that no longer exists');
  t.equal(replaces(), 1);
});

t.test('a failed release fails the deployment with its message', async (t) => {
  const { app, step } = await world(t);
  const id = await app.accept('r/api:1');
  await step(id);
  await app.report({ phase: 'failed', message: 'The image r/api:1 could not be pulled.' });
  t.equal(await step(id), 'done');
  t.match(await app.history(), [{ state: 'failed', reason: 'The image r/api:1 could not be pulled.' }]);
});

t.test('a rollback works like any other deployment', async (t) => {
  const { app, step } = await world(t);
  for (const [image, trigger] of [
    ['r/api:1', 'webhook'],
    ['r/api:2', 'webhook'],
    ['r/api:1', 'rollback'],
  ] as const) {
    const id = await app.accept(image, trigger);
    await step(id);
    await app.report({ phase: 'available' });
    await step(id);
  }
  t.match((await app.object()).spec.release, { generation: 3, image: 'r/api:1' });
  t.match(await app.history(), [
    { revision: 3, trigger: 'rollback', state: 'succeeded', current: true },
    { revision: 2, state: 'succeeded', current: false },
    { revision: 1, state: 'succeeded', current: false },
  ]);
});

t.test('an older rollout never overwrites a newer release', async (t) => {
  const { pool, app, kube, step, replaces } = await world(t);
  const first = await app.accept('r/api:1');
  const second = await app.accept('r/api:2');
  await step(second);
  t.equal(await step(first), 'done', 'it is superseded in its record');

  // Even if the record did not say so, the fence in Kubernetes holds.
  await pool.query(`UPDATE deployments SET state = 'accepted', ended_at = NULL WHERE id = $1`, [first]);
  t.equal(await step(first), 'done');
  t.match((await app.object()).spec.release, { generation: 2, deploymentId: second });
  t.match((await app.history())[1], { state: 'superseded', reason: 'Superseded by revision 2.' });
  t.equal(replaces(), 1);

  // Stopped between its read and its write, which follows the newer one's: refused by the object's version.
  const third = await app.accept('r/api:3');
  const fourth = await app.accept('r/api:4');
  await pool.query(`UPDATE deployments SET state = 'accepted', ended_at = NULL WHERE id = $1`, [third]);
  kube.intercept = async ({ verb }) => {
    if (verb !== 'replace') return;
    kube.intercept = undefined;
    await step(fourth);
  };
  t.equal(await step(third), 'done');
  t.match((await app.object()).spec.release, { generation: 4, deploymentId: fourth });
  t.match(await app.history(), [{ state: 'rolling_out' }, { state: 'superseded' }, {}, {}]);
});

t.test('a deployment that is superseded while it applies its release is ended by the newer one', async (t) => {
  const { app, kube, step } = await world(t);
  const first = await app.accept('r/api:1');
  let second = '';
  kube.intercept = async ({ verb }) => {
    if (verb !== 'replace') return;
    kube.intercept = undefined;
    second = await app.accept('r/api:2');
  };
  t.equal(await step(first), 'done');
  t.match(await app.history(), [{ state: 'accepted' }, { state: 'superseded' }]);
  await step(second);
  t.match((await app.object()).spec.release, { generation: 2, deploymentId: second });
});

t.test('conflicts with other writers of the App are not failures', async (t) => {
  const { app, kube, step } = await world(t);
  const id = await app.accept('r/api:1');
  let conflicts = 3;
  kube.intercept = async ({ verb }) => {
    if (verb !== 'replace' || conflicts-- <= 0) return;
    await kube.mergePatch(
      { ...kinds.App, namespace, name: 'api' },
      { metadata: { annotations: { n: String(conflicts) } } },
    );
  };
  await step(id);
  t.match(await app.object(), { metadata: { annotations: { n: '0' } }, spec: { release: { deploymentId: id } } });
});

t.test('a deployment is cancelled when its App is deleted, being deleted or a different one', async (t) => {
  const { pool, kube, step } = await world(t);
  const remove = async (name: string) => {
    const ref = { ...kinds.App, namespace, name };
    await kube.delete(ref);
    return ref;
  };
  const deletedApp = await testApp(pool, kube, 'going');
  const goingId = await deletedApp.accept('r/going:1');
  const ref = await remove('going');
  t.equal(await step(goingId), 'done');
  t.match(await deletedApp.history(), [{ state: 'cancelled', reason: 'The app was deleted.' }]);
  t.equal((await deletedApp.object()).spec.release, undefined);

  const goneId = await deletedApp.accept('r/going:2');
  await kube.mergePatch(ref, { metadata: { finalizers: null } });
  t.equal(await step(goneId), 'done');
  t.match(await deletedApp.history(), [{ state: 'cancelled' }, {}]);

  const laterId = await deletedApp.accept('r/going:3');
  kube.seed(appObject('going', newId()));
  t.equal(await step(laterId), 'done');
  t.match(await deletedApp.history(), [{ state: 'cancelled' }, {}, {}]);
  t.equal((await deletedApp.object()).spec.release, undefined, 'the new App of this name is not changed');

  const late = await testApp(pool, kube, 'late');
  const lateId = await late.accept('r/late:1');
  kube.intercept = async ({ verb }) => {
    if (verb !== 'replace') return;
    kube.intercept = undefined;
    await kube.mergePatch(await remove('late'), { metadata: { finalizers: null } });
  };
  t.equal(await step(lateId), 'done', 'between read and write');
  t.match(await late.history(), [{ state: 'cancelled' }]);
});

t.test('a release that is removed from the App is not restored', async (t) => {
  const { app, kube, step } = await world(t);
  const id = await app.accept('r/api:1');
  await step(id);
  await kube.mergePatch({ ...kinds.App, namespace, name: 'api' }, { spec: { release: null } });
  t.equal(await step(id), 'done');
  t.match(await app.history(), [{ state: 'failed', reason: /removed from the App/ }]);
});

t.test('a Kubernetes error is thrown, and fails the deployment on the last attempt', async (t) => {
  const { app, kube, step } = await world(t);
  const id = await app.accept('r/api:1');
  kube.intercept = () => {
    throw new KubeError(503, 'ServiceUnavailable', 'etcd 10.0.0.1 is away');
  };
  await t.rejects(step(id), /etcd/);
  t.match(await app.history(), [{ state: 'accepted' }]);
  kube.intercept = ({ verb }) => {
    if (verb === 'replace') throw new KubeError(403, 'Forbidden', 'svc-workers may not');
  };
  await t.rejects(step(id), /may not/);
  t.equal(await step(id, { last: true }), 'done');
  const [entry] = await app.history();
  t.match(entry, { state: 'failed', reason: /kept refusing .*403 Forbidden/ });
});

t.test('a deadline passes', async (t) => {
  const { app, kube, step, age, replaces } = await world(t);
  const never = await app.accept('r/api:1');
  await age(11);
  t.equal(await step(never), 'done');
  t.match(await app.history(), [{ state: 'failed', reason: /did not start within 10 minutes/ }]);
  t.equal(replaces(), 0);

  const stuckDeployment = await app.accept('r/api:2');
  await step(stuckDeployment);
  await age(9);
  t.match(await step(stuckDeployment), { again: Date });
  await age(1.1);
  kube.intercept = () => {
    throw new Error('connection refused');
  };
  await t.rejects(step(stuckDeployment), /connection refused/, 'check first');
  kube.intercept = undefined;
  t.equal(await step(stuckDeployment), 'done');
  t.match((await app.history())[0], { state: 'failed', reason: /did not become ready within 10 minutes/ });

  const late = await app.accept('r/api:3');
  await step(late);
  await age(11);
  await app.report({ phase: 'available' });
  t.equal(await step(late), 'done');
  t.match(
    (await app.history())[0],
    { state: 'succeeded' },
    'a release that serves has succeeded, even if that is seen late',
  );

  const blind = await app.accept('r/api:4');
  await step(blind);
  await age(12);
  kube.intercept = () => {
    throw new Error('connection refused');
  };
  t.equal(await step(blind), 'done');
  t.match(await app.history(), [
    { state: 'accepted', automatic: true, rollbackOf: 3 },
    { state: 'failed', reason: /kept failing and was stopped/, rolledBackTo: 3 },
    {},
    {},
    {},
  ]);
});

t.test('rollouts are woken by changes of their App, once each, until it worked', async (t) => {
  const { pool, kube, app, step } = await world(t);
  await step(await app.accept('r/api:1'));
  await app.report({ phase: 'available' });
  const nudged: Id[] = [];
  let arrived = Promise.withResolvers<void>();
  let refuse = true;
  const next = async () => {
    await arrived.promise;
    arrived = Promise.withResolvers<void>();
  };
  const informer = createInformer<App>({ kube, kind: kinds.App, clock: systemClock, log: silentLog });
  const watch = createCompletionWatch({
    informer,
    isCompletion: isReleaseCompletion,
    clock: { ...systemClock, sleep: async () => undefined },
    log: silentLog,
    wake: async (workloadId) => {
      refuse = !refuse;
      if (!refuse) throw new Error('the database is away');
      nudged.push(workloadId);
      arrived.resolve();
    },
  });
  watch.start();
  informer.start();
  t.teardown(async () => {
    await informer.stop();
    await watch.stop();
  });
  await next();
  t.same(nudged, [app.id], 'an App that had ended before');

  await step(await app.accept('r/api:2'));
  await app.report({ phase: 'progressing' });
  const other = await testApp(pool, kube, 'other');
  await step(await other.accept('r/other:1'));
  await other.report({ phase: 'failed' });
  await next();
  t.same(nudged, [app.id, other.id], 'neither a new App nor one in progress');
  await app.report({ phase: 'available' });
  await next();
  await kube.mergePatch(
    { ...kinds.App, namespace, name: 'api' },
    { metadata: { annotations: { touched: 'yes' }, labels: { [idLabel]: app.id } } },
  );
  await kube.delete({ ...kinds.App, namespace, name: 'other' });
  await next();
  t.same(nudged, [app.id, other.id, app.id, other.id]);
});

t.test('a new image brings the release command along, a rollback and a restart do not', async (t) => {
  const { kube, app, step } = await world(t);
  const releaseCommand = ['npm', 'run', 'migrate'];
  await kube.mergePatch({ ...(await app.object()), name: 'api', namespace }, { spec: { releaseCommand } });
  const commands: unknown[] = [];
  for (const trigger of ['webhook', 'rollback', 'restart', 'manual'] as const) {
    await step(await app.accept('r/api:1', trigger));
    commands.push((await app.object()).spec.release?.command);
  }
  t.same(commands, [releaseCommand, undefined, undefined, releaseCommand]);
});

t.test('the log of a failed release command is kept, one of a command that succeeded is not', async (t) => {
  const { kube, app, step } = await world(t);
  const id = await app.accept('r/api:1');
  await step(id);
  const seedPod = (name: string, phase: string) =>
    kube.seed({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name,
        namespace,
        labels: { [idLabel]: app.id, 'platform.svc/role': 'run' },
        annotations: { 'platform.svc/release': '1' },
      },
      spec: { containers: [{ name: 'app' }] },
      status: { phase },
    });
  seedPod('api-release-1-a', 'Succeeded');
  seedPod('api-release-1-b', 'Failed');
  kube.stream = saying((path) =>
    path.includes('-1-b') ? 'migrating\nrelation "orders" does not exist\n' : 'all done\n',
  );
  await app.report({ phase: 'failed', message: 'The release command failed: The program exited with code 1.' });
  await step(id);
  t.match(await app.history(), [{ state: 'failed', reason: /code 1[^]*relation "orders" does not exist/ }]);
});
