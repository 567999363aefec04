import { Registry } from 'prom-client';
import t from 'tap';
import type { FunctionEvents } from '../../../runtime/contracts/resources/function.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { leaseEvents, recordDelivered, recordFailed } from '../../../runtime/records/event-deliveries.ts';
import { listEventLoads, listEventTotals } from '../../../runtime/records/event-backlog.ts';
import {
  beginPoll,
  findEventSource,
  projectEventSource,
  recordPass,
  addEvents,
} from '../../../runtime/records/function-events.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import { watchEvents } from '../../../workers/events/metrics.ts';
import { testDatabase } from '../../support/postgres.ts';

const settings: FunctionEvents = { type: 'postgres', source: 'db', query: 'SELECT 1 AS id', markDone: 'SELECT {{id}}' };

t.test('the events that a pod has or will deliver soon are its load; totals count the rest', async (t) => {
  const { pool } = await testDatabase(t);
  const [id, other] = [newId(), newId()];
  for (const [each, name] of [
    [id, 'intake'],
    [other, 'quiet'],
  ] as const) {
    const place = { namespace: 'shop-prod', project: 'shop', environment: 'prod', environmentId: newId() };
    await projectWorkload(pool, { id: each, name, kind: 'Function', gated: false, ...place });
    await projectEventSource(pool, each, settings);
  }
  const state = await findEventSource(pool, id);
  const poll = state && (await beginPoll(pool, state));
  if (!poll) throw new Error('a poll');
  const events = ['1', '2', '3', '4'].map((number) => ({ id: number, payload: number }));
  await addEvents(pool, poll, events, 10);
  const load = async () => (await listEventLoads(pool)).get(id);
  const totals = async () => (await listEventTotals(pool)).find(({ name }) => name === 'intake');
  t.same(await load(), { backlog: 4, problem: null });
  t.same((await listEventLoads(pool)).get(other), { backlog: 0, problem: null });

  const [delivered, refused, failed, held] = (await leaseEvents(pool, id, { max: 10, leaseMs: 60_000 })).events;
  if (!delivered || !refused || !failed || !held) throw new Error('four leases');
  t.equal((await load())?.backlog, 4, 'leased events are work');
  await recordDelivered(pool, id, [delivered]);
  await recordFailed(pool, id, [
    { ...refused, status: 400, message: '' },
    { ...failed, message: 'refused' },
  ]);
  t.equal((await load())?.backlog, 2, 'it is retried a second later');
  await pool.query(`UPDATE function_events SET due_at = now() + interval '1 min' WHERE id = $1`, [failed.id]);
  t.equal((await load())?.backlog, 1, 'no pod is kept for a retry in a minute');
  await recordDelivered(pool, id, [held]);
  await recordPass(pool, id, 'Cannot reach the service.');
  t.same(await load(), { backlog: 0, problem: 'Cannot reach the service.' });
  const { oldestSeconds = 0, ...counts } = (await totals()) ?? {};
  t.same(counts, { namespace: 'shop-prod', name: 'intake', backlog: 1, unmarked: 2, dead: 1 });
  t.ok(oldestSeconds > 0 && oldestSeconds < 60, `found ${oldestSeconds} s ago`);

  const registry = new Registry();
  watchEvents(registry, pool);
  const scraped = await registry.metrics();
  for (const [metric, value] of [
    ['function_events_backlog', 1],
    ['function_events_unmarked', 2],
    ['function_dead_letters', 1],
  ] as const) {
    t.match(scraped, `${metric}{namespace="shop-prod",function="intake"} ${value}\n`);
  }
  t.match(scraped, 'function_dead_letters{namespace="shop-prod",function="quiet"} 0\n');

  await projectEventSource(pool, id, undefined);
  t.equal(await load(), undefined);
  t.equal(await totals(), undefined);
});
