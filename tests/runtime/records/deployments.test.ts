import type { Pool } from 'pg';
import t, { type Test } from 'tap';
import { transaction } from '../../../runtime/db/pool.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { acceptDeployment, type Acceptance, type NewDeployment } from '../../../runtime/records/acceptance.ts';
import {
  endDeployment,
  getDeployment,
  listDeployments,
  rollbackTarget,
  startDeployment,
  succeedDeployment,
} from '../../../runtime/records/deployments.ts';
import { disableWebhook, enableWebhook, findWebhook } from '../../../runtime/records/webhooks.ts';
import { nudgeRollouts } from '../../../runtime/records/work.ts';
import {
  findWorkload,
  markWorkloadDeleted,
  projectWorkload,
  type WorkloadProjection,
} from '../../../runtime/records/workloads.ts';
import { testDatabase } from '../../support/postgres.ts';

function newApp(): WorkloadProjection {
  return {
    id: newId(),
    kind: 'App',
    environmentId: newId(),
    project: 'shop',
    environment: 'prod',
    namespace: 'shop-prod',
    name: 'api',
    gated: false,
  };
}

async function world(t: Test) {
  const { pool } = await testDatabase(t);
  const app = newApp();
  await projectWorkload(pool, app);
  const accept = (request: Partial<NewDeployment> = {}): Promise<Acceptance> =>
    transaction(pool, (client) =>
      acceptDeployment(client, { workloadId: app.id, trigger: 'webhook', image: 'r/api:1', ...request }),
    );
  const succeed = async (id: string) => {
    t.equal(await startDeployment(pool, id), true);
    t.equal(await succeedDeployment(pool, id), true);
  };
  return { pool, app, accept, succeed };
}

async function workOf(pool: Pool) {
  const { rows } = await pool.query<{ revision: number; state: string; due: boolean }>(
    `SELECT revision, work.state, due_at <= now() AS due FROM work JOIN deployments d ON d.id = record_id
     WHERE kind = 'rollouts' ORDER BY revision`,
  );
  return rows;
}

async function feedVersion(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ version: string }>('SELECT version FROM feed_head');
  return Number(rows[0]?.version);
}

t.test('an acceptance writes record, revision and work together, or nothing', async (t) => {
  const { pool, app, accept } = await world(t);
  const first = await accept({ commit: 'abc', actor: 'ann@svc.local' });
  t.match(first, { revision: 1, state: 'accepted', created: true });
  t.match(await getDeployment(pool, first.id), {
    id: first.id,
    workloadId: app.id,
    namespace: 'shop-prod',
    app: 'api',
    revision: 1,
    state: 'accepted',
    trigger: 'webhook',
    image: 'r/api:1',
    commit: 'abc',
    actor: 'ann@svc.local',
    current: false,
    endedAt: null,
  });
  t.same(await workOf(pool), [{ revision: 1, state: 'pending', due: true }]);
  await t.rejects(
    transaction(pool, async (client) => {
      await acceptDeployment(client, { workloadId: app.id, trigger: 'manual', image: 'r/api:2' });
      throw new Error('crash before the commit');
    }),
    /crash/,
  );
  t.equal((await listDeployments(pool, app.id, { limit: 10 })).length, 1);
  t.same(await workOf(pool), [{ revision: 1, state: 'pending', due: true }], 'the older one is not superseded');
  t.match(await accept(), { revision: 2 }, 'no gap');
});

t.test('while deployments supersede each other, a rollout starts at most once a second', async (t) => {
  const { pool, accept } = await world(t);
  const dueIn = async () => {
    const { rows } = await pool.query<{ ms: number }>(
      `SELECT round(extract(epoch FROM LEAST(due_at, 'tomorrow') - d.accepted_at) * 1000)::integer AS ms FROM work
       JOIN deployments d ON d.id = record_id WHERE d.ended_at IS NULL`,
    );
    t.equal(rows.length, 1, 'a superseded one needs no work');
    return rows[0]?.ms ?? NaN;
  };
  const first = await accept();
  t.ok((await dueIn()) <= 0, 'the first at once');
  await accept();
  t.ok((await dueIn()) <= 0, 'a superseded rollout that has not started passes its due time on');
  const third = await accept();
  await startDeployment(pool, third.id);
  const fourth = await accept();
  const waits = await dueIn();
  t.ok(waits > 0 && waits <= 1_000, `a second after the one before has begun: in ${waits} ms`);
  await accept();
  const delay = await dueIn();
  t.ok(delay <= waits, `it runs in time, however many follow: in ${delay} ms`);
  await pool.query(
    `UPDATE work SET due_at = 'infinity', leased_until = now() + interval '15 s' WHERE state = 'pending'`,
  );
  await accept();
  t.ok((await dueIn()) <= 1_000, 'the due time of a rollout that a worker has just started is passed on');
  await pool.query(
    `UPDATE deployments SET started_at = now() - interval '1 minute', state = 'rolling_out' WHERE ended_at IS NULL`,
  );
  await accept();
  t.ok((await dueIn()) <= 0, 'one that began long ago delays nothing');
  t.match([first.revision, fourth.revision], [1, 4]);
});

t.test('an acceptance scans no table, even with a plan from when the tables were small', async (t) => {
  const { pool, app, accept } = await world(t);
  await enableWebhook(pool, app.id, 1);
  await accept();
  const tables = ['deployments', 'work', 'workloads', 'webhooks'];
  await pool.query(`ANALYZE ${tables.join(', ')}`);
  await transaction(pool, async (client) => {
    for (const image of ['r/api:2', 'r/api:3']) {
      await acceptDeployment(client, {
        workloadId: app.id,
        trigger: 'webhook',
        image,
        dedupKey: image,
        proof: { version: 1 },
      });
    }
    const { rows } = await client.query<{ name: string; scans: string }>(
      `SELECT name, pg_stat_get_xact_numscans(name::regclass) AS scans FROM unnest($1::text[]) AS name`,
      [tables],
    );
    t.same(
      rows,
      tables.map((name) => ({ name, scans: '0' })),
    );
  });
});

t.test('a skipped deployment is recorded without a revision, and nothing else changes', async (t) => {
  const { pool, app, accept } = await world(t);
  const running = await accept();
  const about = { commit: 'c0ffee', commitMessage: 'Fix [skip ci]', commitAuthor: 'Ann', branch: 'main' };
  const skip = (dedupKey = 'd1') =>
    transaction(pool, (client) =>
      acceptDeployment(client, {
        skipped: true,
        workloadId: app.id,
        trigger: 'webhook',
        reason: 'Not wanted.',
        dedupKey,
        ...about,
      }),
    );
  const first = await skip();
  t.match(first, { revision: null, state: 'skipped', created: true });
  t.match(await skip(), { id: first.id, created: false }, 'the same delivery');
  t.match(await accept({ dedupKey: 'd1' }), { id: first.id, state: 'skipped', created: false });
  const entry = await getDeployment(pool, first.id);
  t.match(entry, { revision: null, state: 'skipped', image: '', reason: 'Not wanted.', current: false, ...about });
  t.type(entry?.endedAt, Date);
  t.equal((await getDeployment(pool, running.id))?.state, 'accepted', 'nothing is superseded');
  t.match(await accept({ ...about, commitMessage: undefined }), { revision: 2 }, 'no revision was taken');
  t.match((await listDeployments(pool, app.id, { limit: 1 }))[0], { branch: 'main', commitMessage: null });
  t.equal((await workOf(pool)).length, 2, 'no work');
});

t.test('twenty concurrent accepts number without gaps and leave one active', async (t) => {
  const { pool, app, accept } = await world(t);
  const accepted = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      // Every fourth fails after it has taken its number.
      index % 4 === 3
        ? transaction(pool, async (client) => {
            await acceptDeployment(client, { workloadId: app.id, trigger: 'webhook', image: 'r/api:0' });
            throw new Error('refused');
          }).catch(() => undefined)
        : accept({ image: `r/api:${index}` }),
    ),
  );
  const revisions = accepted.flatMap((each) => (each ? [each.revision ?? 0] : [])).sort((a, b) => a - b);
  t.same(
    revisions,
    Array.from({ length: 15 }, (_, index) => index + 1),
  );
  const history = await listDeployments(pool, app.id, { limit: 50 });
  t.same(
    history.map(({ revision }) => revision),
    revisions.toReversed(),
    'the newest first',
  );
  t.equal(history[0]?.state, 'accepted');
  for (const entry of history.slice(1)) {
    t.match(entry, { state: 'superseded', reason: `Superseded by revision ${(entry.revision ?? 0) + 1}.` });
    t.type(entry.endedAt, Date);
  }
  const work = await workOf(pool);
  t.same(
    work.map(({ state }) => state),
    [...Array.from({ length: 14 }, () => 'done'), 'pending'],
  );
});

t.test('an ended deployment is not superseded; every transition happens once', async (t) => {
  const { pool, accept, succeed } = await world(t);
  const first = await accept();
  await succeed(first.id);
  t.equal(await startDeployment(pool, first.id), false);
  t.equal(await succeedDeployment(pool, first.id), false);
  t.equal(await endDeployment(pool, first.id, 'failed', 'late'), false);
  const second = await accept();
  t.equal(await succeedDeployment(pool, second.id), false, 'only one that rolls out succeeds');
  t.equal(await startDeployment(pool, second.id), true);
  const third = await accept();
  t.match(await getDeployment(pool, first.id), { state: 'succeeded', current: true });
  t.match(await getDeployment(pool, second.id), { state: 'superseded', current: false });
  t.equal(await succeedDeployment(pool, second.id), false, 'a superseded one stays so');
  t.equal(await endDeployment(pool, third.id, 'failed', 'The image is missing.'), true);
  t.match(await getDeployment(pool, third.id), { state: 'failed', reason: 'The image is missing.' });
  t.match(await getDeployment(pool, first.id), { current: true }, 'a failed one does not become current');
});

t.test('one key is one deployment, also when it arrives twice at once', async (t) => {
  const { pool, app, accept } = await world(t);
  const both = await Promise.all([accept({ dedupKey: 'delivery:1' }), accept({ dedupKey: 'delivery:1' })]);
  t.equal(both[0].id, both[1].id);
  t.equal(both.filter(({ created }) => created).length, 1);
  const other = await accept({ dedupKey: 'delivery:2' });
  t.match(other, { revision: 2, created: true });
  const repeated = await accept({ dedupKey: 'delivery:1' });
  t.match(repeated, { id: both[0].id, revision: 1, state: 'superseded', created: false });
  t.match(await getDeployment(pool, other.id), { state: 'accepted' }, 'a redelivery supersedes nothing');
  t.match(await accept({ dedupKey: 'initial', onlyFirst: true }), { id: other.id, created: false });
  t.equal((await listDeployments(pool, app.id, { limit: 10 })).length, 2);

  const fresh = { ...newApp(), name: 'other' };
  await projectWorkload(pool, fresh);
  t.match(await accept({ workloadId: fresh.id, dedupKey: 'initial', onlyFirst: true }), { revision: 1, created: true });
});

t.test('only existing apps deploy', async (t) => {
  const { pool, app, accept } = await world(t);
  t.match(await accept(), { revision: 1 });
  await t.rejects(accept({ workloadId: newId() }), { code: 'not_ready' });
  const job: WorkloadProjection = { ...newApp(), kind: 'Function', name: 'job' };
  await projectWorkload(pool, job);
  await t.rejects(accept({ workloadId: job.id }), { code: 'not_ready' });
  await markWorkloadDeleted(pool, app.id);
  await t.rejects(accept(), { code: 'not_found' });
});

t.test('the proof is checked under the lock, before anything is written', async (t) => {
  const { pool, app, accept } = await world(t);
  await t.rejects(enableWebhook(pool, newId(), 1), { code: 'not_ready' });
  t.equal(await findWebhook(pool, app.id), undefined);
  t.equal(await enableWebhook(pool, app.id, 1), true);
  t.match(await accept({ proof: { version: 1 } }), { revision: 1 });
  t.equal(await enableWebhook(pool, app.id, 2), true);
  t.equal(await enableWebhook(pool, app.id, 2), false, 'a version counts once');
  t.match(await findWebhook(pool, app.id), { enabled: true, version: 2 });
  await t.rejects(accept({ proof: { version: 1 } }), { code: 'invalid_webhook_token' });
  t.equal(await disableWebhook(pool, app.id), true);
  t.equal(await disableWebhook(pool, app.id), false);
  await t.rejects(accept({ proof: { version: 2 } }), { code: 'invalid_webhook_token' });
  t.equal(await enableWebhook(pool, app.id, 2), false, 'a disabled token stays disabled');
  t.equal(await enableWebhook(pool, app.id, 3), true);
  t.match(await accept({ proof: { version: 3 } }), { revision: 2 }, 'refusals took no number');
});

t.test('a rollback targets the last success before the newest deployment, or the given revision', async (t) => {
  const { pool, app, accept, succeed } = await world(t);
  const target = (revision?: number) => rollbackTarget(pool, app.id, revision);
  await t.rejects(target(), { code: 'no_earlier_revision' });
  await succeed((await accept({ image: 'r/api:1', commit: 'one' })).id);
  await t.rejects(target(), { code: 'no_earlier_revision' });
  await succeed((await accept({ image: 'r/api:2' })).id);
  t.match(await target(), { revision: 1, image: 'r/api:1', commit: 'one' });
  await endDeployment(pool, (await accept({ image: undefined })).id, 'failed', 'The build failed.');
  t.match(await target(), { revision: 1 }, 'a failed build left revision 2 running');
  const third = await accept({ image: 'r/api:3' });
  t.match(await target(), { revision: 2 }, 'one that still rolls out is undone');
  await startDeployment(pool, third.id, { settings: { port: 8080 }, envSecret: undefined });
  await endDeployment(pool, third.id, 'failed', 'no');
  t.match(await target(), { revision: 2 }, 'a failed one too');
  t.match(await target(1), { revision: 1, image: 'r/api:1' });
  await t.rejects(target(3), { code: 'conflict' });
  await t.rejects(target(9), { code: 'not_found' });
  const fourth = await accept({ image: 'r/api:1', trigger: 'rollback', rollbackOf: 1 });
  await succeed(fourth.id);
  t.match(await getDeployment(pool, fourth.id), { trigger: 'rollback', rollbackOf: 1, current: true });
  t.match(await target(), { revision: 2 }, 'and back again');
});

t.test('history comes in pages', async (t) => {
  const { pool, app, accept } = await world(t);
  for (let index = 0; index < 5; index++) await accept();
  const first = await listDeployments(pool, app.id, { limit: 2 });
  const rest = await listDeployments(pool, app.id, { limit: 10, before: first[1]?.id });
  t.same(
    [...first, ...rest].map(({ revision }) => revision),
    [5, 4, 3, 2, 1],
  );
  t.same(await listDeployments(pool, app.id, { limit: 10, before: newId() }), []);
});

t.test('a projection writes only changes, and a recreated app inherits nothing', async (t) => {
  const { pool, app, accept } = await world(t);
  const before = await feedVersion(pool);
  await projectWorkload(pool, app);
  await accept();
  t.equal(await feedVersion(pool), before, 'neither a repetition nor a deployment creates a version for the gate');
  await projectWorkload(pool, { ...app, gated: true });
  t.equal(await feedVersion(pool), before + 1);
  t.match(await findWorkload(pool, 'shop-prod', 'api'), { id: app.id, gated: true, kind: 'App' });

  await markWorkloadDeleted(pool, app.id);
  await markWorkloadDeleted(pool, app.id);
  await markWorkloadDeleted(pool, newId());
  t.equal(await feedVersion(pool), before + 2);
  t.equal(await findWorkload(pool, 'shop-prod', 'api'), undefined);
  t.match(await listDeployments(pool, app.id, { limit: 5 }), [{ state: 'cancelled', reason: 'The app was deleted.' }]);
  t.match(await workOf(pool), [{ state: 'done' }]);
  await projectWorkload(pool, app);
  t.equal(await findWorkload(pool, 'shop-prod', 'api'), undefined, 'a late pass does not restore it');

  const second = newApp();
  await projectWorkload(pool, second);
  t.match(await findWorkload(pool, 'shop-prod', 'api'), { id: second.id, gated: false });
  t.same(await listDeployments(pool, second.id, { limit: 5 }), []);
  const third = newApp();
  await projectWorkload(pool, third);
  t.match(
    await findWorkload(pool, 'shop-prod', 'api'),
    { id: third.id },
    'one that was deleted without a pass makes room',
  );
});

t.test('a status change makes the work on active deployments due', async (t) => {
  const { pool, app, accept } = await world(t);
  await accept();
  await pool.query(`UPDATE work SET due_at = 'infinity'`);
  t.equal(await nudgeRollouts(pool, newId()), 0);
  t.match(await workOf(pool), [{ due: false }]);
  t.equal(await nudgeRollouts(pool, app.id), 1);
  t.match(await workOf(pool), [{ due: true }]);
});
