import t from 'tap';
import { alertWatchId, housekeepingId, imageCleanupId } from '../../../runtime/queues/catalogue.ts';
import { ensureRegularWork } from '../../../runtime/records/work.ts';
import { testDatabase } from '../../support/postgres.ts';

t.test('regular work exists once after every start, and is due', async (t) => {
  const { pool } = await testDatabase(t);
  const rows = async () =>
    (await pool.query(`SELECT kind, record_id, state, due_at <= now() AS due FROM work ORDER BY kind`))
      .rows as unknown[];
  const expected = [
    { kind: 'alerts', record_id: alertWatchId, state: 'pending', due: true },
    { kind: 'housekeeping', record_id: housekeepingId, state: 'pending', due: true },
    { kind: 'images', record_id: imageCleanupId, state: 'pending', due: true },
  ];
  await ensureRegularWork(pool);
  t.same(await rows(), expected);
  await Promise.all([ensureRegularWork(pool), ensureRegularWork(pool)]);
  t.same(await rows(), expected);
  await pool.query(`UPDATE work SET state = 'done', done_at = now()`);
  await ensureRegularWork(pool);
  t.same(await rows(), expected);
});
