import t, { type Test } from 'tap';
import type { FunctionEvents } from '../../../runtime/contracts/resources/function.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { redrive } from '../../../runtime/records/dead-letters.ts';
import { extendLeases, leaseEvents, recordFailed } from '../../../runtime/records/event-deliveries.ts';
import {
  beginPoll,
  findEventSource,
  expediteEvents,
  projectEventSource,
  addEvents,
} from '../../../runtime/records/function-events.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import { testDatabase } from '../../support/postgres.ts';

const settings: FunctionEvents = { type: 'postgres', source: 'db', query: 'SELECT 1 AS id' };
const leaseMs = 60_000;

async function world(t: Test, ids: string[]) {
  const { pool } = await testDatabase(t);
  const id = newId();
  await projectWorkload(pool, {
    id,
    kind: 'Function',
    environmentId: newId(),
    project: 'shop',
    environment: 'prod',
    namespace: 'shop-prod',
    name: 'intake',
    gated: false,
  });
  await projectEventSource(pool, id, settings);
  const state = await findEventSource(pool, id);
  const poll = state && (await beginPoll(pool, state));
  if (!poll) throw new Error('a poll');
  await addEvents(
    pool,
    poll,
    ids.map((each) => ({ id: each, payload: '{}' })),
    ids.length,
  );
  /** The row version of each event, which changes with every write. */
  const versions = async () => {
    const { rows } = await pool.query<{ version: string }>(
      'SELECT ctid::text AS version FROM function_events WHERE workload_id = $1 ORDER BY id',
      [id],
    );
    return rows.map(({ version }) => version);
  };
  return { pool, id, versions };
}

t.test('a lease is written again only when some of its time has passed', async (t) => {
  const { pool, id, versions } = await world(t, ['a', 'b', 'c']);
  const { events } = await leaseEvents(pool, id, { max: 3, leaseMs });
  const [fresh, old, lost] = events;
  if (!fresh || !old || !lost) throw new Error('three leases');
  await pool.query(`UPDATE function_events SET due_at = now() + interval '30 s' WHERE id = $1`, [old.id]);
  await pool.query(`UPDATE function_events SET epoch = epoch + 1 WHERE id = $1`, [lost.id]);
  const before = await versions();
  t.same(await extendLeases(pool, id, [fresh, old, lost], leaseMs), [lost.id]);
  const after = await versions();
  t.same(
    after.map((version, at) => version !== before[at]),
    [false, true, false],
  );
  const { rows } = await pool.query<{ left: number }>(
    `SELECT extract(epoch FROM due_at - now())::float8 AS left FROM function_events WHERE id = $1`,
    [old.id],
  );
  t.ok((rows[0]?.left ?? 0) > 45, 'a whole lease again');
});

t.test("the day of retries begins with an event's first delivery", async (t) => {
  const { pool, id } = await world(t, ['a']);
  const before = (column: string) =>
    pool.query(`UPDATE function_events SET ${column} = now() - interval '2 days', due_at = now()`);
  const fail = async () => {
    const { events } = await leaseEvents(pool, id, { max: 1, leaseMs });
    const failed = events.map(({ id: event, epoch }) => ({ id: event, epoch, status: 503, message: '' }));
    return (await recordFailed(pool, id, failed)).dead;
  };
  await before('begun_at');
  t.same(await fail(), [], 'one that has waited for days');
  await pool.query('UPDATE function_events SET due_at = now()');
  t.same(await fail(), []);
  await before('begun_at');
  t.same(await fail(), ['a'], 'one that has failed for days');
  await redrive(pool, id, 'all');
  t.same(await fail(), [], 'one that was redriven');
});

t.test('no index contains the columns that every lease changes', async (t) => {
  const { pool } = await testDatabase(t);
  const { rows } = await pool.query<{ definition: string }>(
    `SELECT indexdef AS definition FROM pg_indexes WHERE tablename = 'function_events'`,
  );
  t.ok(rows.length > 0);
  for (const { definition } of rows) t.notMatch(definition, /due_at|epoch|leased|failures/);
});

t.test('work that is already due is not written and not notified again', async (t) => {
  const { pool, id } = await world(t, ['a']);
  const client = await pool.connect();
  const channels: string[] = [];
  client.on('notification', ({ channel }) => channels.push(channel));
  await client.query('LISTEN work');
  await pool.query(`UPDATE work SET due_at = 'infinity' WHERE record_id = $1`, [id]);
  const version = async () =>
    (await client.query<{ version: string }>('SELECT ctid::text AS version FROM work WHERE record_id = $1', [id]))
      .rows[0]?.version;
  const idle = await version();
  await expediteEvents(client, id);
  const due = await version();
  t.not(due, idle);
  await expediteEvents(client, id);
  t.equal(await version(), due);
  t.same(channels, ['work']);
  client.release(true);
});
