import { setImmediate } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { claimDue } from '../../../runtime/bus/work-table.ts';
import { transaction } from '../../../runtime/db/pool.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { cancelDeployment, failDeployment } from '../../../runtime/records/automatic-rollback.ts';
import { acceptDeployment, type NewDeployment } from '../../../runtime/records/acceptance.ts';
import {
  getDeployment,
  listDeployments,
  restartTarget,
  rollbackTarget,
  startDeployment,
  succeedDeployment,
} from '../../../runtime/records/deployments.ts';
import { markWorkloadDeleted, projectWorkload } from '../../../runtime/records/workloads.ts';
import { testDatabase } from '../../support/postgres.ts';

async function world(t: Test) {
  const { pool } = await testDatabase(t);
  const workloadId = newId();
  await projectWorkload(pool, {
    id: workloadId,
    kind: 'App',
    environmentId: newId(),
    project: 'shop',
    environment: 'prod',
    namespace: 'shop-prod',
    name: 'api',
    gated: false,
  });
  const accept = (image: string, request: Partial<NewDeployment> = {}) =>
    transaction(pool, (client) => acceptDeployment(client, { workloadId, trigger: 'webhook', image, ...request })).then(
      ({ id }) => id,
    );
  const start = async (image: string, request: Partial<NewDeployment> = {}) => {
    const id = await accept(image, request);
    await startDeployment(pool, id, { settings: { port: 8080 }, envSecret: `app-api-env-${image}` });
    return id;
  };
  const succeed = async (image: string, request: Partial<NewDeployment> = {}) => {
    const id = await start(image, request);
    await succeedDeployment(pool, id, `sha256:${image}`);
    return id;
  };
  const newest = async () => (await listDeployments(pool, workloadId, { limit: 1 }))[0];
  const work = async (id: string | undefined) =>
    (await pool.query('SELECT state, attempt FROM work WHERE record_id = $1', [id])).rows[0];
  return { pool, workloadId, accept, start, succeed, newest, work };
}

t.test('a failure that quotes a program’s zero characters ends the deployment', async (t) => {
  const { pool, start, succeed, newest, workloadId } = await world(t);
  await succeed('one');
  const failing = await start('two');
  const reason = 'It crashes: \0HOME=/\0PATH=/bin\nlast \0 line';
  const end = await failDeployment(pool, failing, reason, { applied: true, autoRollback: true });
  t.match(end, { ended: true, rollback: { revision: 3, to: 1 } });
  t.match(await newest(), { reason: 'Automatic: revision 2 failed: It crashes: HOME=/PATH=/bin' });
  const [, failed] = await listDeployments(pool, workloadId, { limit: 2 });
  t.match(failed, { state: 'failed', reason: 'It crashes: HOME=/PATH=/bin\nlast  line' });
});

t.test('a failure rolls the app back to its last good revision, once', async (t) => {
  const { pool, start, succeed, newest, work } = await world(t);
  await succeed('one');
  const about = { commit: 'c0ffee', commitMessage: 'Two', commitAuthor: 'Kim', branch: 'main' };
  await succeed('two', about);
  const failing = await start('three');
  const end = await failDeployment(pool, failing, 'It crashes.\nlines of its log', {
    applied: true,
    autoRollback: true,
  });
  t.match(end, { ended: true, rollback: { revision: 4, to: 2 } });
  const back = await newest();
  t.match(back, {
    revision: 4,
    trigger: 'rollback',
    state: 'accepted',
    image: 'two',
    digest: 'sha256:two',
    actor: 'svc',
    rollbackOf: 2,
    automatic: true,
    restores: 'environment',
    ...about,
    reason: 'Automatic: revision 3 failed: It crashes.',
  });
  t.match(await work(back?.id), { state: 'pending' });
  t.match(await getDeployment(pool, failing), {
    state: 'failed',
    reason: 'It crashes.\nlines of its log',
    rolledBackTo: 2,
  });
  t.same(
    await failDeployment(pool, failing, 'again', { applied: true, autoRollback: true }),
    { ended: false },
    'a repetition writes nothing',
  );
  t.match(await newest(), { id: back?.id });

  await startDeployment(pool, back?.id ?? '');
  t.match(await failDeployment(pool, back?.id ?? '', 'It crashes, too.', { applied: true, autoRollback: true }), {
    ended: true,
  });
  t.match(await newest(), { id: back?.id, state: 'failed', rolledBackTo: null }, 'no endless rollbacks');
});

t.test('a reason that is cut inside a character is stored all the same', async (t) => {
  const { pool, start, succeed, newest } = await world(t);
  await succeed('one');
  const reason = `${'x'.repeat(299)}\u{1f600}`;
  await failDeployment(pool, await start('two'), reason, { applied: true, autoRollback: true });
  t.match(await newest(), { rollbackOf: 1, reason: `Automatic: revision 2 failed: ${'x'.repeat(299)}\ufffd…` });
});

t.test('there is no rollback where it is off, or without a revision to roll back to', async (t) => {
  const { pool, workloadId, start, succeed, accept, newest } = await world(t);
  const first = await start('one');
  t.same(
    await failDeployment(pool, first, 'No.', { applied: true, autoRollback: true }),
    { ended: true },
    'nothing to roll back to',
  );
  await succeed('two');
  const off = await start('three');
  t.same(await failDeployment(pool, off, 'No.', { applied: true, autoRollback: false }), { ended: true });
  const superseded = await start('four');
  const newer = await accept('five');
  t.same(
    await failDeployment(pool, superseded, 'No.', { applied: true, autoRollback: true }),
    { ended: false },
    'a newer one exists',
  );
  t.match(await newest(), { id: newer, state: 'accepted' });
  await markWorkloadDeleted(pool, workloadId);
  t.same(
    await failDeployment(pool, newer, 'No.', { applied: true, autoRollback: true }),
    { ended: false },
    'the app is deleted',
  );
});

t.test('a superseded deployment that was applied is undone when its successor ends without success', async (t) => {
  const { pool, accept, succeed, newest } = await world(t);
  const applied = async (image: string) => {
    const id = await accept(image);
    await pool.query('UPDATE work SET attempt = 1 WHERE record_id = $1', [id]);
  };
  await succeed('one');
  t.same(await failDeployment(pool, await accept('two'), 'No.', { applied: false, autoRollback: true }), {
    ended: true,
  });
  await applied('three');
  t.match(await failDeployment(pool, await accept('four'), 'No.', { applied: false, autoRollback: true }), {
    rollback: { revision: 5, to: 1 },
  });
  await cancelDeployment(pool, (await newest())?.id ?? '', 'ann@svc.local');
  t.match(await newest(), { revision: 6, automatic: true, rollbackOf: 1 }, 'a rollback that is cancelled as well');
  await succeed('seven');
  await applied('eight');
  await cancelDeployment(pool, await accept('nine'), 'ann@svc.local');
  t.match(await newest(), { revision: 10, rollbackOf: 7 });
});

t.test('a rollback that was superseded before it began is replaced when the next one ends', async (t) => {
  const { pool, accept, succeed, start, newest } = await world(t);
  await succeed('one');
  const failing = await start('two');
  await pool.query('UPDATE work SET attempt = 1 WHERE record_id = $1', [failing]);
  await failDeployment(pool, failing, 'It crashes.', { applied: true, autoRollback: true });
  t.match(await newest(), { revision: 3, automatic: true });
  const fixed = await accept('four');
  t.match(await failDeployment(pool, fixed, 'The build failed.', { applied: false, autoRollback: true }), {
    rollback: { revision: 5, to: 1 },
  });
});

t.test('cancelling waits for a concurrent hand-over of the deployment, and undoes it', async (t) => {
  const { pool, accept, succeed } = await world(t);
  await succeed('one');
  const id = await accept('two');
  const dispatcher = await pool.connect();
  try {
    await dispatcher.query('BEGIN');
    await claimDue(dispatcher, 'rollouts', { limit: 10, leaseMs: 60_000 });
    const cancelled = cancelDeployment(pool, id, 'ann@svc.local');
    const waits = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    while ((await pool.query(waits)).rowCount === 0) await setImmediate();
    await dispatcher.query('COMMIT');
    t.match(await cancelled, { rollback: { to: 1 } });
  } finally {
    dispatcher.release();
  }
});

t.test('an automatically restored revision keeps its name and its place', async (t) => {
  const { pool, workloadId, start, succeed, newest } = await world(t);
  await succeed('one');
  await succeed('two');
  await failDeployment(pool, await start('three'), 'No.', { applied: true, autoRollback: true });
  const back = (await newest())?.id ?? '';
  t.match(await rollbackTarget(pool, workloadId), { revision: 1 }, 'during the rollback too');
  await startDeployment(pool, back);
  await succeedDeployment(pool, back);
  t.match(await newest(), { current: true, reason: /Automatic: revision 3 failed/ }, 'its reason stays');
  t.match(await rollbackTarget(pool, workloadId), { revision: 1 }, 'revision 2 runs');
  await failDeployment(pool, await start('five'), 'No.', { applied: true, autoRollback: true });
  t.match(await newest(), { revision: 6, rollbackOf: 2, image: 'two' });
});

t.test('cancelling ends a deployment, and undoes it if it may have begun', async (t) => {
  const { pool, accept, start, succeed, newest, work } = await world(t);
  const first = await start('one');
  t.same(await cancelDeployment(pool, first, 'ann@svc.local'), { ended: true });
  t.match(await newest(), { id: first, state: 'cancelled', reason: /^Cancelled by ann@svc.local. No earlier/ });
  await succeed('two');

  const waiting = await accept('three');
  t.same(await cancelDeployment(pool, waiting, 'ann@svc.local'), { ended: true }, 'it has not begun');
  t.match(await newest(), { id: waiting, reason: 'Cancelled by ann@svc.local.', rolledBackTo: null });
  t.match(await work(waiting), { state: 'done' });
  await t.rejects(cancelDeployment(pool, waiting, 'bob@svc.local'), { code: 'conflict' });

  const takenUp = await accept('four');
  await pool.query('UPDATE work SET attempt = 1 WHERE record_id = $1', [takenUp]);
  t.match(await cancelDeployment(pool, takenUp, 'ann@svc.local'), { rollback: { revision: 5, to: 2 } });
  const running = await start('five');
  t.match(await cancelDeployment(pool, running, 'ann@svc.local'), { rollback: { revision: 7, to: 2 } });
  t.match(await newest(), {
    actor: 'ann@svc.local',
    automatic: true,
    image: 'two',
    state: 'accepted',
    reason: 'Automatic: ann@svc.local cancelled revision 6.',
  });
  t.match(await getDeployment(pool, running), { state: 'cancelled', rolledBackTo: 2 });
  await t.rejects(cancelDeployment(pool, newId(), 'ann@svc.local'), { code: 'not_found' });
});

t.test('a restart deploys the failed image again; after a rollback, the good one', async (t) => {
  const { pool, workloadId, start, succeed, newest } = await world(t);
  const target = () => transaction(pool, (client) => restartTarget(client, workloadId));
  await succeed('one');
  const failing = await start('two');
  await failDeployment(pool, failing, 'A variable is missing.', { applied: true, autoRollback: false });
  t.match(await target(), { image: 'two' }, 'there was no rollback, and the variable may exist now');
  const nextFailing = await start('three');
  await failDeployment(pool, nextFailing, 'It crashes.', { applied: true, autoRollback: true });
  t.match(await newest(), { automatic: true, image: 'one' });
  t.match(await target(), { image: 'one', digest: 'sha256:one' });
});
