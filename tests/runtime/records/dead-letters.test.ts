import type { Pool } from 'pg';
import t, { type Test } from 'tap';
import type { FunctionEvents } from '../../../runtime/contracts/resources/function.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { countEvents, listDead, purgeDead, redrive } from '../../../runtime/records/dead-letters.ts';
import {
  beginPoll,
  endPoll,
  findEventSource,
  originOf,
  projectEventSource,
} from '../../../runtime/records/function-events.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import { testDatabase } from '../../support/postgres.ts';

const settings: FunctionEvents = { type: 'postgres', source: 'db', query: 'SELECT 1 AS id' };
const origin = originOf(settings);

/** A function with a data source, where no statement may change more than 5,000 of its events. */
async function world(t: Test) {
  const { pool } = await testDatabase(t);
  const id = newId();
  const place = {
    namespace: 'shop-prod',
    project: 'shop',
    environment: 'prod',
    environmentId: newId(),
    name: 'intake',
  };
  await projectWorkload(pool, { id, kind: 'Function', gated: false, ...place });
  await projectEventSource(pool, id, settings);
  await pool.query(
    `CREATE FUNCTION refuse_many() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
       IF (SELECT count(*) FROM changed) > 5000 THEN RAISE 'too many rows for one statement'; END IF;
       RETURN NULL;
     END $$`,
  );
  for (const action of ['UPDATE', 'DELETE']) {
    await pool.query(
      `CREATE TRIGGER few_${action} AFTER ${action} ON function_events REFERENCING OLD TABLE AS changed
       EXECUTE FUNCTION refuse_many()`,
    );
  }
  return { pool, id, count: () => countRows(pool) };
}

async function give(pool: Pool, workloadId: string, state: string, from: string, count: number): Promise<void> {
  await pool.query(
    `INSERT INTO function_events (workload_id, origin, event_id, payload, state, ended_at, found_at)
     SELECT $1, $2, $3 || n, '1', $3, now(), now() - interval '1 hour' FROM generate_series(1, $4::integer) n`,
    [workloadId, from, state, count],
  );
}

async function countRows(pool: Pool): Promise<number> {
  return (await pool.query('SELECT FROM function_events')).rowCount ?? 0;
}

t.test('any number of dead letters is redriven or purged, in parts, and each once', async (t) => {
  const { pool, id } = await world(t);
  await give(pool, id, 'dead', origin, 6_000);
  await pool.query(`UPDATE function_events SET payload = '' WHERE event_id = 'dead17'`);
  const [newest, next] = await listDead(pool, id, { limit: 2 });
  t.equal(await redrive(pool, id, [newest?.number ?? '', '0']), 1);
  t.equal(await purgeDead(pool, id, [next?.number ?? '', newest?.number ?? '']), 1);
  t.equal(await redrive(pool, id, 'all'), 5_997);
  t.match(await countEvents(pool, id), { waiting: 5_998, dead: 1 }, 'an event without content stays');
  t.equal(await redrive(pool, id, 'all'), 0);
  await pool.query(`UPDATE function_events SET state = 'dead' WHERE id IN (SELECT id FROM function_events LIMIT 4000)`);
  t.equal(
    await purgeDead(pool, id, 'all'),
    (await pool.query(`SELECT FROM function_events WHERE due_at = 'infinity'`)).rowCount,
  );
  t.match(await countEvents(pool, id), { dead: 0 });
});

t.test('any number of events is forgotten: of another source, of deleted rows, and with the source', async (t) => {
  const { pool, id, count } = await world(t);
  const begin = async () => {
    const state = await findEventSource(pool, id);
    const poll = state && (await beginPoll(pool, state));
    if (!poll) throw new Error('a source');
    return poll;
  };
  await give(pool, id, 'known', 'another', 11_000);
  await give(pool, id, 'known', origin, 12_000);
  const poll = await begin();
  t.equal(await count(), 12_000);
  await endPoll(pool, poll, { more: true, complete: false }, new Set());
  t.equal(await count(), 12_000, 'events that were not checked may still exist');
  await endPoll(pool, poll, { more: false, complete: true }, new Set(['known1', 'known2']));
  t.equal(await count(), 2);

  for (const state of ['known', 'dead', 'pending']) await give(pool, id, state, 'more', 4_000);
  await pool.query(
    `INSERT INTO event_objects (workload_id, origin, key, etag, modified, size) VALUES ($1, $2, 'a', '', '', 1)`,
    [id, origin],
  );
  await projectEventSource(pool, id, undefined);
  t.equal(await count(), 0);
  await give(pool, id, 'known', origin, 1);
  await projectEventSource(pool, id, undefined);
  t.equal(await count(), 0, 'the rest of an interrupted removal is removed with the next one');
  t.equal((await pool.query('SELECT FROM event_objects')).rowCount, 0);
});
