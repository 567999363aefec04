import t, { type Test } from 'tap';
import { transaction } from '../../../runtime/db/pool.ts';
import type { Attempt } from '../../../runtime/bus/runner.ts';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import { newId, type Id } from '../../../runtime/domain/ids.ts';
import { imageCleanupId } from '../../../runtime/queues/catalogue.ts';
import { acceptDeployment } from '../../../runtime/records/acceptance.ts';
import { endDeployment, listDeployments } from '../../../runtime/records/deployments.ts';
import { awaitsDeletion, beginDeletion, requestDeletions } from '../../../runtime/records/image-deletions.ts';
import { markWorkloadDeleted } from '../../../runtime/records/workloads.ts';
import { createImageProcessor } from '../../../workers/images/process.ts';
import { buildRegistry, builtApp, digestOf, type BuiltApp } from '../../support/built-apps.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { registryFile, testRegistry } from '../../support/image-registry.ts';
import { recordingLog, silentLog } from '../../support/log.ts';
import { environmentId, platformConfigObject, readyProject, settings } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';

async function world(t: Test, { keepImages, pageSize }: { keepImages?: number; pageSize?: number } = {}) {
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  const registry = await testRegistry(t);
  const builds = {
    image: 'r/builder:1',
    registry: buildRegistry,
    pushAddress: registry.address,
    baseImages: {},
    ...(keepImages !== undefined && { keepImages }),
  };
  kube.seed({ ...platformConfigObject, spec: { ...settings, builds } }, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'svc-registry-delete', namespace: 'svc-builds' },
    data: { '.dockerconfigjson': Buffer.from(registryFile(registry.host)).toString('base64') },
  } as KubeObject);
  const clock = fakeClock();
  const process = createImageProcessor({ pool, kube, clock, ...(pageSize !== undefined && { pageSize }) });
  const step = (recordId: Id, attempt: Partial<Attempt> = {}) =>
    process({ recordId, attempt: 1, last: false, signal: new AbortController().signal, log: silentLog, ...attempt });
  const idOf = async (digest: string) => {
    const { rows } = await pool.query<{ id: Id }>('SELECT id FROM images WHERE digest = $1', [digest]);
    return rows[0]?.id ?? '';
  };
  const state = async (digest: string) => {
    const { rows } = await pool.query(
      `SELECT state, requested_by AS "requestedBy", problem, message FROM images WHERE digest = $1`,
      [digest],
    );
    return rows[0] as { state: string; requestedBy: string | null; problem: string | null; message: string | null };
  };
  const request = async (...digests: string[]) => {
    const ids = await Promise.all(digests.map(idOf));
    return transaction(pool, (client) => requestDeletions(client, ids, 'ann@svc.local'));
  };
  /** The images that have work. */
  const queued = async () => {
    const { rows } = await pool.query<{ digest: string }>(
      `SELECT digest FROM work JOIN images ON images.id = record_id WHERE kind = 'images' AND work.state = 'pending'
       ORDER BY digest`,
    );
    return rows.map(({ digest }) => digest);
  };
  const deletions = () => registry.requests.map(({ url }) => url.slice('/v2/builds/'.length));
  return { pool, kube, registry, clock, step, idOf, state, request, queued, deletions };
}

async function releases(app: BuiltApp, count: number, first = 1) {
  for (let number = first; number < first + count; number++) await app.release(digestOf(number));
}

const manifest = (name: string, digest: string) => `${name}/manifests/${digest}`;

t.test('the clean-up keeps the rollback history of each app and deletes the rest', async (t) => {
  const { pool, registry, step, state, queued, deletions, idOf } = await world(t, { keepImages: 3, pageSize: 2 });
  const app = await builtApp(pool);
  const other = await builtApp(pool, { name: 'api' });
  await releases(app, 5);
  await releases(other, 2, 10);
  t.match(await step(imageCleanupId), { again: Date });
  t.same(await queued(), [digestOf(1), digestOf(2)], 'found over several pages');
  for (const digest of [digestOf(1), digestOf(2), digestOf(3)]) await step(await idOf(digest));
  t.same(deletions(), [manifest('shop-prod/web', digestOf(1)), manifest('shop-prod/web', digestOf(2))]);
  t.equal(registry.requests[0]?.authorization, `Basic ${Buffer.from('cleaner:secret').toString('base64')}`);
  t.match(await state(digestOf(1)), { state: 'deleted', requestedBy: null });
  t.match(await state(digestOf(3)), { state: 'stored' });
  t.same(
    (await listDeployments(pool, app.id, { limit: 10 })).map(({ revision, imageState }) => [revision, imageState]),
    [
      [5, 'stored'],
      [4, 'stored'],
      [3, 'stored'],
      [2, 'deleted'],
      [1, 'deleted'],
    ],
  );
  await t.rejects(app.rollBack(2), { code: 'image_deleted', message: /was deleted/ });
  t.match(await app.rollBack(3), { state: 'accepted' });
});

t.test('restarts and rollbacks of one image do not push others out of the history', async (t) => {
  const { pool, step, queued } = await world(t, { keepImages: 2 });
  const app = await builtApp(pool);
  await releases(app, 3);
  for (let round = 0; round < 4; round++) await app.succeed((await app.rollBack(3)).id);
  await step(imageCleanupId);
  t.same(await queued(), [digestOf(1)]);
});

t.test('images of deleted apps, and of builds that never succeeded, are deleted', async (t) => {
  const { pool, step, queued } = await world(t);
  const [app, gone] = [await builtApp(pool), await builtApp(pool, { name: 'old' })];
  await gone.release(digestOf('a'));
  await markWorkloadDeleted(pool, gone.id);
  const failed = await app.accept();
  await app.built(failed, digestOf('b'));
  await endDeployment(pool, failed, 'failed', 'It crashed.');
  await step(imageCleanupId);
  t.same(await queued(), [digestOf('a')], 'a restart would repeat the newest deployment, even though it failed');
  await app.release(digestOf('c'));
  await step(imageCleanupId);
  t.same(await queued(), [digestOf('a'), digestOf('b')]);
});

t.test('an image that another environment runs after a promotion stays', async (t) => {
  const { pool, step, idOf, state, request, deletions } = await world(t, { keepImages: 1 });
  const dev = await builtApp(pool, { environment: 'dev' });
  const image = await dev.release(digestOf(1));
  await dev.release(digestOf(2));
  const prod = await builtApp(pool, { environment: 'prod' });
  const promoted = await transaction(pool, (client) =>
    acceptDeployment(client, { workloadId: prod.id, trigger: 'promotion', image, digest: digestOf(1) }),
  );
  await step(imageCleanupId);
  await request(digestOf(1));
  t.equal(await step(await idOf(digestOf(1))), 'done');
  t.match(await state(digestOf(1)), {
    state: 'stored',
    requestedBy: null,
    problem: 'in_use',
    message: 'The image is in use by revision 1 of web in prod.',
  });
  await prod.succeed(promoted.id);
  await request(digestOf(1));
  await step(await idOf(digestOf(1)));
  t.match(await state(digestOf(1)), { state: 'stored' });
  t.same(deletions(), []);
});

t.test('a job, a function or a pod that names the image by tag, digest or another spelling keeps it', async (t) => {
  const { pool, kube, step, idOf, state, request, deletions } = await world(t);
  const app = await builtApp(pool);
  const image = await app.release(digestOf(1));
  await app.release(digestOf(2));
  const repository = image.slice(0, image.lastIndexOf(':'));
  const job = (name: string) => ({
    apiVersion: 'platform.svc/v1',
    kind: 'Job',
    metadata: { name: 'migrate', namespace: 'shop-prod' },
    spec: { image: name },
  });
  const ref = { apiVersion: 'platform.svc/v1', kind: 'Job', namespace: 'shop-prod', name: 'migrate' };
  for (const name of [
    image,
    `${repository}@${digestOf(1)}`,
    `${image}@${digestOf(1)}`,
    image.replace('localhost', '127.0.0.1'),
  ]) {
    kube.seed(job(name));
    await request(digestOf(1));
    await step(await idOf(digestOf(1)));
    t.match(await state(digestOf(1)), { state: 'stored', message: 'The image is in use by job migrate in shop-prod.' });
    await kube.delete(ref);
  }
  const pod = (phase: string, deletionTimestamp?: string) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web-1', namespace: 'shop-prod', ...(deletionTimestamp && { deletionTimestamp }) },
    spec: { containers: [{ name: 'app', image: `${repository}@${digestOf(1)}` }] },
    status: { phase },
  });
  kube.seed(pod('Running'));
  await request(digestOf(1));
  await step(await idOf(digestOf(1)));
  t.match(await state(digestOf(1)), { message: 'The image is in use by pod web-1 in shop-prod.' });
  const stopping = pod('Running', '2026-01-01T00:00:00Z');
  kube.seed(stopping, job(image));
  await request(digestOf(1));
  await step(await idOf(digestOf(1)));
  t.match(await state(digestOf(1)), { message: 'The image is in use by job migrate in shop-prod.' });
  await kube.delete(ref);
  kube.seed(stopping);
  await request(digestOf(1));
  t.match(await step(await idOf(digestOf(1))), { again: Date }, 'it waits for a pod that is being stopped');
  t.match(await state(digestOf(1)), {
    state: 'stored',
    requestedBy: 'ann@svc.local',
    problem: null,
    message: 'It waits until pod web-1 in shop-prod has ended.',
  });
  t.same(deletions(), []);
  kube.seed(pod('Succeeded'), job(`${repository}@${digestOf(2)}`));
  await request(digestOf(1));
  await step(await idOf(digestOf(1)));
  t.match(await state(digestOf(1)), { state: 'deleted' });
});

t.test('while an image is being deleted, nothing deploys it and no build of its app starts', async (t) => {
  const { pool, registry, step, idOf, state, request } = await world(t);
  const app = await builtApp(pool);
  await releases(app, 2);
  registry.answer = (_, response) => response.writeHead(503).end();
  await request(digestOf(1));
  await t.rejects(step(await idOf(digestOf(1))), { message: /answered 503/ });
  t.match(await state(digestOf(1)), { state: 'deleting' });
  await t.rejects(app.rollBack(1), { code: 'image_deleted', message: /is being deleted\. .*svc app history/ });
  const waits = (name: string) =>
    transaction(pool, (client) => awaitsDeletion(client, { namespace: 'shop-prod', app: name }));
  t.equal(await waits('web'), true);
  t.equal(await waits('api'), false, 'only of the same app');
  const build = await app.accept();
  registry.answer = (_, response) => response.writeHead(202).end();
  t.equal(await step(await idOf(digestOf(1))), 'done', 'a deletion that has begun goes on');
  t.match(await state(digestOf(1)), { state: 'deleted' });
  t.equal(await waits('web'), false);
  await app.built(build, digestOf(1), 700);
  t.match(await state(digestOf(1)), { state: 'stored', problem: null }, 'the same content was built again');
  t.equal(await waits('web'), false, 'and does not count as being deleted');
  await app.succeed(build);
  t.match(await app.rollBack(1), { state: 'accepted' }, 'the first revision has its image again');
});

t.test('a deletion is in the audit log of the project that the environment belongs to', async (t) => {
  const { pool, kube, step, idOf, request } = await world(t);
  const [app, old] = [await builtApp(pool, { environmentId }), await builtApp(pool, { name: 'old' })];
  await releases(app, 2);
  await releases(old, 2, 10);
  await request(digestOf(1), digestOf(10));
  const projectId = newId();
  const [project] = readyProject('shop');
  if (project) kube.seed({ ...project, metadata: { ...project.metadata, labels: { 'platform.svc/id': projectId } } });
  const recorded = recordingLog();
  for (const digest of [digestOf(1), digestOf(10)]) await step(await idOf(digest), { log: recorded.log });
  const line = { action: 'image.delete', actor: 'ann@svc.local', project: 'shop' };
  t.match(
    recorded.entries.filter(({ msg }) => msg === 'audit'),
    [{ ...line, projectId, environment: 'prod', app: 'web', digest: digestOf(1) }, line],
  );
  const { rows } = await pool.query(
    `SELECT action, actor, project, project_id AS "projectId", environment, object FROM audit_entries ORDER BY object DESC`,
  );
  t.same(rows, [
    { ...line, projectId, environment: 'prod', object: 'web' },
    // Its environment, of the same name, was deleted since.
    { ...line, projectId: null, environment: null, object: 'old' },
  ]);
});

t.test('a deletion waits for a build of the same app, which may push the same image', async (t) => {
  const { pool, step, idOf, state, request, deletions } = await world(t);
  const app = await builtApp(pool);
  await releases(app, 2);
  const build = await app.accept();
  await request(digestOf(1));
  t.match(await step(await idOf(digestOf(1))), { again: Date });
  t.match(await state(digestOf(1)), { problem: null, message: 'It waits for a build of its app.' });
  t.same(deletions(), []);
  await app.built(build, digestOf(1));
  await step(await idOf(digestOf(1)));
  t.match(await state(digestOf(1)), { state: 'stored' }, 'it is deployed now');
  t.same(deletions(), []);
});

t.test('a deletion and an acceptance of the same image never both succeed', async (t) => {
  const { pool, idOf } = await world(t);
  const app = await builtApp(pool);
  for (let round = 1; round <= 12; round++) {
    await releases(app, 2, round * 2);
    const id = await idOf(digestOf(round * 2));
    await transaction(pool, (client) => requestDeletions(client, [id], 'ann@svc.local'));
    const [begun, accepted] = await Promise.allSettled([
      transaction(pool, (client) => beginDeletion(client, id, 10)),
      // A round has three revisions.
      app.rollBack(round * 3 - 2),
    ]);
    const deletes = begun.status === 'fulfilled' && begun.value !== undefined && 'state' in begun.value;
    t.not(deletes, accepted.status === 'fulfilled', `round ${round}`);
    if (accepted.status === 'fulfilled') await app.succeed(accepted.value.id);
    else await app.release(digestOf(`${round}x`));
  }
});

t.test('an app of the same name in a new environment takes over an image that it builds again', async (t) => {
  const { pool, step, queued, idOf, state } = await world(t);
  const app = await builtApp(pool);
  await app.release(digestOf(1));
  await markWorkloadDeleted(pool, app.id);
  await step(imageCleanupId);
  const successor = await builtApp(pool);
  const build = await successor.accept();
  t.match(await step(await idOf(digestOf(1))), { again: Date }, 'its build is seen');
  await successor.built(build, digestOf(1));
  t.equal(await step(await idOf(digestOf(1))), 'done');
  t.match(await state(digestOf(1)), { state: 'stored' });
  t.same(await queued(), [digestOf(1)]);
});

t.test('a registry that refuses keeps the image, with the reason', async (t) => {
  const { pool, registry, step, idOf, state, request } = await world(t);
  const app = await builtApp(pool);
  await releases(app, 2);
  for (const [status, problem] of [
    [405, 'image_deletion_disabled'],
    [403, 'registry_denied'],
    [302, 'registry_refused'],
  ] as const) {
    registry.answer = (_, response) => response.writeHead(status, { location: 'http://127.0.0.1:1/' }).end();
    await request(digestOf(1));
    t.equal(await step(await idOf(digestOf(1))), 'done');
    t.match(await state(digestOf(1)), { state: 'stored', requestedBy: null, problem });
  }
  registry.answer = (_, response) => response.destroy();
  await request(digestOf(1));
  await t.rejects(step(await idOf(digestOf(1))));
  t.match(await state(digestOf(1)), { state: 'deleting' }, 'it is not known whether it exists');
  t.equal(await step(await idOf(digestOf(1)), { last: true }), 'done');
  t.match(await state(digestOf(1)), { state: 'stored', problem: 'registry_unavailable' });
  registry.answer = (_, response) => response.writeHead(404).end();
  await request(digestOf(1));
  await step(await idOf(digestOf(1)));
  t.match(await state(digestOf(1)), { state: 'deleted' }, 'an image that does not exist is deleted');
});

t.test('an image in a registry that builds pushed to before is left alone', async (t) => {
  const { pool, step, idOf, state, request, deletions } = await world(t);
  const app = await builtApp(pool);
  await releases(app, 2);
  await pool.query(`UPDATE images SET repository = 'old.test/builds/shop-prod/web'`);
  await request(digestOf(1));
  await step(await idOf(digestOf(1)));
  t.match(await state(digestOf(1)), { state: 'stored', problem: 'registry_changed' });
  t.same(deletions(), []);
});
