import t, { type Test } from 'tap';
import { buildJob } from '../../../infra/manifests/build.ts';
import type { Attempt } from '../../../runtime/bus/runner.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import type { Build } from '../../../runtime/contracts/resources/build.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { transaction } from '../../../runtime/db/pool.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { newId, type Id } from '../../../runtime/domain/ids.ts';
import { buildNamespace } from '../../../runtime/domain/labels.ts';
import { createCompletionWatch } from '../../../runtime/kube/completion-watch.ts';
import { createInformer } from '../../../runtime/kube/informer.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';
import { acceptDeployment } from '../../../runtime/records/acceptance.ts';
import { restartTarget } from '../../../runtime/records/deployments.ts';
import {
  findGitSource,
  keepHostKeys,
  projectGitSource,
  recordPollFailure,
  renewGitSource,
} from '../../../runtime/records/git-sources.ts';
import { insertDeploymentSource } from '../../../runtime/records/sources.ts';
import { markWorkloadDeleted } from '../../../runtime/records/workloads.ts';
import { isBuildCompletion } from '../../../workers/builds/completion.ts';
import { createBuildProcessor } from '../../../workers/builds/process.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { testDatabase } from '../../support/postgres.ts';
import { namespace, testApp } from '../rollouts/rollout-world.ts';

const git = { url: 'https://git.example.com/shop/api.git', branch: 'main', path: 'services/api' };
const commit = 'a'.repeat(40);
const digest = `sha256:${'d'.repeat(64)}`;
const ref = { apiVersion: 'platform.svc/v1', kind: 'App', namespace, name: 'api' };

async function world(t: Test, builds: { atOnce?: number; timeoutSeconds?: number } = {}) {
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  kube.seed({
    apiVersion: 'platform.svc/v1',
    kind: 'PlatformConfig',
    metadata: { name: 'platform' },
    spec: {
      appsDomain: 'apps.test',
      cluster: 'local',
      scheme: 'http',
      entryPoints: ['web'],
      runtimeImages: { node: 'r/node:1' },
      builds: { image: 'r/builder:1', registry: 'r.test/builds', baseImages: {}, ...builds },
    },
  });
  const app = await testApp(pool, kube, 'api');
  await kube.mergePatch<App>(ref, { spec: { git } });
  const kept: Id[] = [];
  const process = createBuildProcessor({ pool, kube, saveLog: ({ id }) => Promise.resolve(void kept.push(id)) });
  const step = (recordId: Id, attempt: Partial<Attempt> = {}) =>
    process({ recordId, attempt: 1, last: false, signal: new AbortController().signal, log: silentLog, ...attempt });
  const accept = async (more: { commit?: string; workloadId?: Id; commitMessage?: string } = {}) =>
    (
      await transaction(pool, (client) =>
        acceptDeployment(client, { workloadId: app.id, trigger: 'git', commit, ...more }),
      )
    ).id;
  const buildObjects = () => kube.all<Build>(kinds.Build);
  /** Sets the status as the Build controller reports it. */
  const report = async (status: NonNullable<Build['status']>, id?: Id) => {
    const build = buildObjects().find(({ spec }) => id === undefined || spec.deploymentId === id);
    if (!build) throw new Error('there is no build');
    await kube.replaceStatus({ ...build, status });
  };
  const built = (tag: number): NonNullable<Build['status']> => ({
    phase: 'succeeded',
    image: `r/shop-prod/api:${tag}`,
    digest,
    commit,
  });
  /** Kinds of the pending work on a deployment, and whether it is due. */
  const work = async (id: Id) => {
    const { rows } = await pool.query<{ kind: string; due: boolean }>(
      `SELECT kind, due_at <= now() AS due FROM work WHERE record_id = $1 AND state = 'pending' ORDER BY kind`,
      [id],
    );
    return rows;
  };
  return { pool, kube, app, step, accept, builds: buildObjects, report, built, work, kept };
}

t.test('a deployment without an image is built first, then rolled out', async (t) => {
  const { app, step, accept, builds, report, built, work, kept } = await world(t);
  const id = await accept();
  t.match(await app.history(), [{ state: 'accepted', image: '', commit }]);
  t.same(await work(id), [{ kind: 'builds', due: true }]);
  t.match(await step(id), { again: Date });
  t.match(await app.history(), [{ state: 'building', startedAt: Date }]);
  t.match(builds(), [
    {
      metadata: { name: `build-${id}`, namespace: buildNamespace },
      spec: { app: 'api', namespace, deploymentId: id, revision: 1, source: { ...git, commit } },
    },
  ]);
  t.match(await step(id), { again: Date }, 'it is still running');
  await report(built(1));
  t.equal(await step(id), 'done');
  t.match(await app.history(), [{ state: 'building', image: 'r/shop-prod/api:1', digest, commit }]);
  t.same((await work(id)).at(-1), { kind: 'rollouts', due: true });
  t.same(builds(), [], 'the pods are deleted with the build');
  t.same([...new Set(kept)], [id], 'its log was stored first');
  t.equal(await step(id), 'done', 'a repeated step does nothing');
  t.same((await work(id)).filter(({ kind }) => kind === 'rollouts').length, 1);
});

t.test('an uploaded folder is built without a git source, and keeps the commit that its user named', async (t) => {
  const { app, pool, kube, step, accept, builds, report } = await world(t);
  await kube.mergePatch<App>(ref, { spec: { git: null } });
  const dirty = `${commit}-dirty`;
  const id = await accept({ commit: dirty });
  const files = [{ path: 'package.json', kind: 'file', chunks: [], size: 0 }] as const;
  await transaction(pool, (client) =>
    insertDeploymentSource(client, id, {
      projectId: newId(),
      files: files.map((file) => ({ ...file, chunks: [] })),
      dockerfile: 'docker/Dockerfile',
    }),
  );
  await step(id);
  t.same(builds()[0]?.spec.source, { upload: true, dockerfile: 'docker/Dockerfile' });
  await report({ phase: 'succeeded', image: 'r/shop-prod/api:1', digest });
  t.equal(await step(id), 'done');
  t.match(await app.history(), [{ state: 'building', image: 'r/shop-prod/api:1', commit: dirty }]);
});

t.test('a build may use the dependencies of its own app’s last image, and of no other', async (t) => {
  const pushedAs = async (image: string, change?: string) => {
    const { pool, kube, step, accept, builds, report } = await world(t);
    const first = await accept();
    await step(first);
    t.notOk(builds()[0]?.spec.cacheDigest, 'the first build has none');
    await report({ phase: 'succeeded', image, digest, commit });
    await step(first);
    if (change !== undefined) await pool.query(`UPDATE images SET ${change}`);
    const build = async () => {
      const id = await accept();
      await step(id);
      return builds().find(({ spec }) => spec.deploymentId === id)?.spec.cacheDigest;
    };
    return { kube, build };
  };
  const image = `r.test/builds/${namespace}/api:1`;
  const { kube, build } = await pushedAs(image);
  t.equal(await build(), digest);
  const recent = await pushedAs(image, `installed_at = now() - interval '7 days' + interval '1 hour'`);
  t.equal(await recent.build(), digest);
  const platform = { apiVersion: 'platform.svc/v1', kind: 'PlatformConfig', name: 'platform' };
  await kube.mergePatch(platform, { spec: { builds: { atOnce: 9, pushAddress: 'http://127.0.0.1:5001' } } });
  t.equal(await build(), digest, 'on the embedded cluster, too');
  for (const change of [
    `state = 'deleted'`,
    'requested_at = now()',
    // The environment was deleted and created again, perhaps by another user.
    'environment_id = gen_random_uuid()',
    `app = 'other'`,
    `repository = 'old.test/builds/${namespace}/api'`,
    `installed_at = now() - interval '7 days' - interval '1 second'`,
    // An older version of the platform built it.
    'installed_at = NULL',
  ]) {
    t.equal(await (await pushedAs(image, change)).build(), undefined, change);
  }
});

t.test('dependencies are installed again after a week, however often builds took them over meanwhile', async (t) => {
  const { pool, step, accept, builds, report } = await world(t);
  let number = 0;
  const build = async () => {
    const id = await accept();
    await step(id);
    const offered = builds().find(({ spec }) => spec.deploymentId === id)?.spec.cacheDigest;
    const pushed = `sha256:${String(++number).padStart(64, '0')}`;
    await report({ phase: 'succeeded', image: `r.test/builds/${namespace}/api:${number}`, digest: pushed, commit }, id);
    t.equal(await step(id), 'done');
    return { offered, pushed };
  };
  const pass = (days: number) =>
    pool.query(`UPDATE images SET installed_at = installed_at - $1::interval, built_at = built_at - $1::interval`, [
      `${days} days`,
    ]);
  let last = await build();
  for (const days of [3, 3]) {
    await pass(days);
    const next = await build();
    t.equal(next.offered, last.pushed);
    last = next;
  }
  await pass(2);
  const fresh = await build();
  t.equal(
    fresh.offered,
    undefined,
    'the dependencies of the last image are eight days old, though the image is two days old',
  );
  t.equal((await build()).offered, fresh.pushed);
});

t.test('a build that fails or is deleted fails the deployment with the reason', async (t) => {
  const { app, step, accept, builds, report, kube } = await world(t);
  const first = await accept();
  await step(first);
  await report({ phase: 'failed', message: 'The program exited with code 1: no such file' });
  t.equal(await step(first), 'done');
  t.same(builds(), []);
  const second = await accept();
  await step(second);
  const { apiVersion, kind } = kinds.Build;
  await kube.delete({ apiVersion, kind, namespace: buildNamespace, name: `build-${second}` });
  t.equal(await step(second), 'done');
  t.match(await app.history(), [
    { state: 'failed', reason: /was deleted before it finished/ },
    { state: 'failed', reason: 'The program exited with code 1: no such file' },
  ]);
});

t.test('a newer build wins: the older one is stopped, even if its image exists already', async (t) => {
  const { app, step, accept, builds, report, built, work, pool } = await world(t);
  const older = await accept();
  await step(older);
  const newer = await accept({ commit: 'b'.repeat(40) });
  t.same(await work(older), [{ kind: 'builds', due: true }], 'the end of the build makes the work due at once');
  await step(newer);
  await report(built(2), newer);
  t.equal(await step(newer), 'done');
  await report(built(1), older);
  t.equal(await step(older), 'done', 'later than the newer one');
  t.match(await app.history(), [
    { state: 'building', image: 'r/shop-prod/api:2' },
    { state: 'superseded', image: '' },
  ]);
  t.same(builds(), []);
  t.same((await work(older)).filter(({ kind }) => kind === 'rollouts').length, 0);
  const { rows } = await pool.query(`SELECT 1 FROM work WHERE kind = 'rollouts' AND record_id = $1`, [older]);
  t.same(rows, []);
});

t.test('a build that cannot start fails before any object is created', async (t) => {
  const { app, step, accept, builds, kube, pool } = await world(t);
  t.equal(await step(await accept({ commit: 'main; rm -rf /' })), 'done');
  await kube.mergePatch<App>(ref, { spec: { git: { ...git, url: 'file:///etc' } } });
  t.equal(await step(await accept()), 'done');
  await kube.mergePatch<App>(ref, { spec: { git: null } });
  t.equal(await step(await accept()), 'done');
  t.match(await app.history(), [
    { state: 'failed', reason: /git source was removed/ },
    { state: 'failed', reason: /is not a repository URL/ },
    { state: 'failed', reason: /The commit is invalid/ },
  ]);
  const late = await accept();
  await markWorkloadDeleted(pool, app.id);
  t.equal(await step(late), 'done');
  t.match(await app.history(), [{ state: 'cancelled' }, {}, {}, {}]);
  t.same(builds(), []);
});

t.test('a build that takes too long, or that Kubernetes refuses, fails', async (t) => {
  const { app, step, accept, builds, pool, kube } = await world(t);
  const id = await accept();
  await step(id);
  await pool.query(`UPDATE deployments SET started_at = started_at - interval '31 minutes'`);
  t.equal(await step(id), 'done');
  t.match(await app.history(), [{ state: 'failed', reason: 'The build did not finish within 25 minutes.' }]);
  t.same(builds(), []);
  const refused = await accept();
  kube.intercept = ({ verb }) => {
    if (verb === 'create') throw new KubeError(403, 'Forbidden', 'no');
  };
  await t.rejects(step(refused));
  t.match(await app.history(), [{ state: 'accepted' }, {}]);
  await t.rejects(step(refused, { last: true }));
  t.match(await app.history(), [{ state: 'failed', reason: /Kubernetes kept refusing the build/ }, {}]);
});

t.test('a build keeps the time-out that applied when it began, plus the same time again for an outage', async (t) => {
  const { app, step, accept, builds, pool, kube } = await world(t, { timeoutSeconds: 90 });
  const id = await accept();
  await step(id);
  t.match(builds(), [{ spec: { timeoutSeconds: 90 } }]);
  await kube.mergePatch(
    { apiVersion: 'platform.svc/v1', kind: 'PlatformConfig', name: 'platform' },
    { spec: { builds: { timeoutSeconds: 10 } } },
  );
  await pool.query(`UPDATE deployments SET started_at = started_at - interval '6 minutes'`);
  t.match(await step(id), { again: Date }, 'its Job may have ended without a report yet');
  await pool.query(`UPDATE deployments SET started_at = started_at - interval '1 minute'`);
  t.equal(await step(id), 'done');
  t.match(await app.history(), [{ state: 'failed', reason: 'The build did not finish within 90 seconds.' }]);
});

t.test('a restart after a failed build runs the last image that exists', async (t) => {
  const { app, step, accept, report, pool } = await world(t);
  await app.accept('r/api:1');
  await pool.query(`UPDATE deployments SET state = 'succeeded', ended_at = now()`);
  const id = await accept();
  await step(id);
  await report({ phase: 'failed', message: 'no' });
  await step(id);
  t.match(await transaction(pool, (client) => restartTarget(client, app.id)), { image: 'r/api:1' });
});

t.test('builds over the limit wait, run oldest first, and report that they wait', async (t) => {
  const { pool, kube, app, step, accept, builds, report, built, work } = await world(t);
  const others = [];
  for (const name of ['b', 'c', 'd']) {
    const other = await testApp(pool, kube, name);
    await kube.mergePatch<App>({ ...ref, name }, { spec: { git } });
    others.push(other);
  }
  const [b, c, d] = others;
  if (!b || !c || !d) throw new Error('an app is missing');
  const first = await accept();
  const second = await accept({ workloadId: b.id });
  const third = await accept({ workloadId: c.id });
  const fourth = await accept({ workloadId: d.id });
  await step(fourth);
  t.same(builds(), [], 'older builds have the places, although they have not begun');
  await step(first);
  await step(second);
  await step(third);
  t.equal(builds().length, 2, 'the default');
  const waiting = {
    state: 'accepted',
    startedAt: null,
    reason: 'Waiting for another build to finish: at most 2 builds run at a time.',
  };
  t.match(await c.history(), [waiting]);
  t.match(await d.history(), [waiting]);
  await pool.query(`UPDATE deployments SET accepted_at = accepted_at - interval '2 hours' WHERE state = 'accepted'`);
  await pool.query(`UPDATE work SET due_at = now() + interval '1 hour' WHERE record_id = ANY($1)`, [[third, fourth]]);

  await report(built(1), first);
  t.equal(await step(first), 'done');
  t.same(await work(third), [{ kind: 'builds', due: true }], 'the waiting build is woken');
  await step(fourth);
  t.match(await d.history(), [waiting], 'not before it is next');
  await step(third);
  t.match(
    await c.history(),
    [{ state: 'building', reason: null, startedAt: Date }],
    'waiting does not count towards the time-out',
  );
  await accept();
  t.equal(await step(first), 'done', 'superseded');
  await accept({ workloadId: d.id });
  t.match(await d.history(), [{ state: 'accepted' }, { state: 'superseded', reason: /^Superseded by/ }]);
  t.equal((await app.history()).length, 2);
});

t.test('a place that was taken before the worker was killed is kept', async (t) => {
  const { app, step, accept, builds, kube } = await world(t, { atOnce: 1 });
  const id = await accept();
  kube.intercept = ({ verb }) => {
    if (verb === 'create') throw new KubeError(503, 'ServiceUnavailable', 'no');
  };
  await t.rejects(step(id));
  kube.intercept = undefined;
  await step(id);
  t.equal(builds().length, 1);
  t.match(await app.history(), [{ state: 'building' }]);
});

t.test('what a build pushed is recorded with its size, also when its deployment was superseded', async (t) => {
  const { pool, step, accept, report, built } = await world(t);
  const images = async () => {
    const { rows } = await pool.query(
      `SELECT repository, size_bytes::float8 AS size, state, (SELECT count(*)::int FROM image_tags) AS tags FROM images`,
    );
    return rows;
  };
  const first = await accept();
  await step(first);
  await report({ ...built(1), sizeBytes: 700 }, first);
  const second = await accept();
  t.equal(await step(first), 'done', 'superseded');
  t.same(await images(), [{ repository: 'r/shop-prod/api', size: 700, state: 'stored', tags: 1 }]);
  await step(second);
  await report(built(2), second);
  await step(second);
  t.same(await images(), [{ repository: 'r/shop-prod/api', size: 700, state: 'stored', tags: 2 }], 'the same digest');
});

t.test('a build waits while an image of its app is being deleted', async (t) => {
  const { pool, app, step, accept, builds, report, built } = await world(t);
  const first = await accept();
  await step(first);
  await report(built(1), first);
  await step(first);
  await pool.query(`UPDATE images SET state = 'deleting'`);
  const second = await accept();
  t.match(await step(second), { again: Date });
  t.same(builds(), []);
  t.match(await app.history(), [{ state: 'accepted' }, { state: 'superseded' }]);
  await pool.query(`UPDATE images SET state = 'deleted'`);
  await step(second);
  t.equal(builds().length, 1);
});

t.test('the commit’s details from git are recorded on the deployment unless the sender gave them', async (t) => {
  const { app, step, accept, report, built } = await world(t);
  const says = { commitMessage: 'Fix the till', commitAuthor: 'ada' };
  const first = await accept();
  await step(first);
  await report({ ...built(1), ...says });
  await step(first);
  t.match(await app.history(), [says]);
  const second = await accept({ commitMessage: 'Fix the till\n\nIt lost a cent.' });
  await step(second);
  await report({ ...built(2), ...says });
  await step(second);
  t.match(await app.history(), [{ commitMessage: /lost a cent/, commitAuthor: 'ada' }, says]);
});

t.test('the end of a build wakes the work on its deployment', async (t) => {
  const { kube, step, accept, report, built } = await world(t);
  const informer = createInformer<Build>({ kube, kind: kinds.Build, clock: systemClock, log: silentLog });
  let arrived = Promise.withResolvers<Id>();
  const watch = createCompletionWatch({
    informer,
    isCompletion: isBuildCompletion,
    clock: systemClock,
    log: silentLog,
    wake: async (id) => arrived.resolve(id),
  });
  watch.start();
  informer.start();
  t.teardown(async () => {
    await informer.stop();
    await watch.stop();
  });
  const first = await accept();
  await step(first);
  await report({ phase: 'running' });
  await report(built(1));
  t.equal(await arrived.promise, first);
  arrived = Promise.withResolvers();
  t.equal(await step(first), 'done');
  t.equal(await arrived.promise, first, 'so does its deletion');
});

t.test('over ssh a build waits until the server’s host key is stored, and receives it', async (t) => {
  const { app, kube, pool, step, accept, builds } = await world(t);
  const url = 'git@git.example.com:shop/api.git';
  const hostKey = `ssh-ed25519 ${'A'.repeat(68)}`;
  await kube.mergePatch<App>(ref, { spec: { git: { url } } });
  await projectGitSource(pool, app.id, { url, branch: 'main' });
  const id = await accept();
  t.match(await step(id), { again: Date });
  t.same(builds(), [], 'the host key is unknown');
  const source = async () => {
    const state = await findGitSource(pool, app.id);
    if (!state) throw new Error('the source is not projected');
    return state;
  };
  await keepHostKeys(pool, await source(), [hostKey]);
  await step(id);
  t.match(builds(), [{ spec: { source: { url, hostKeys: [hostKey] } } }]);

  const serverKey = `ssh-ed25519 ${'B'.repeat(68)}`;
  await kube.mergePatch<App>(ref, { spec: { git: { url, hostKeys: [serverKey] } } });
  const next = await accept();
  await step(next);
  const build = builds().find(({ spec }) => spec.deploymentId === next);
  t.same(build?.spec.source.hostKeys, [serverKey]);
  t.match(
    build && JSON.stringify(buildJob(build, { image: 'r/b:1', registry: 'r.test/b', baseImages: {} })),
    serverKey,
  );

  await kube.mergePatch<App>(ref, { spec: { git: { url, hostKeys: null } } });
  await renewGitSource(pool, app.id, { forgetHostKeys: true });
  await recordPollFailure(pool, await source(), {
    error: 'The git server refused the deploy key.',
    problem: 'credentials',
  });
  await step(await accept());
  t.match((await app.history())[0], { state: 'failed', reason: 'The git server refused the deploy key.' });
});
