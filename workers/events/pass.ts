import type { Pool } from 'pg';
import type { Clock } from '../../runtime/domain/clock.ts';
import { eventIdBytesMax, type SourceEvent } from '../../runtime/domain/events.ts';
import {
  beginPoll,
  deadBytesMax,
  deadMax,
  endPoll,
  listDelivered,
  recallUnmarked,
  recordMarked,
  recordMarkFailures,
  addEvents,
  undoneMax,
  type EventSourceState,
} from '../../runtime/records/function-events.ts';
import { SourceError, type EventSource } from './source.ts';

export interface TurnDependencies {
  pool: Pool;
  clock: Clock;
  /** Called with the name of each step, at which tests kill the process. */
  failpoint: (name: string) => void;
  /** The minimum time between two complete readings of a source, in ms. */
  intervalMs: number;
}

/** The result of one pass. */
export interface PassResult {
  /** New events. */
  added: number;
  /** Whether another pass has to follow at once. */
  more: boolean;
  /** Why events could not be marked as done or read; the pass succeeded otherwise. */
  problem?: string;
}

/** The time after which a pass ends, so that other functions are not delayed. */
const sliceMs = 5_000;
/** Time-out of one complete reading. */
const readLimitMs = 30_000;
const markBatch = 200;
/** A pass that found events checks this many times more, at this interval, before it closes the connection. */
const idleChecksMax = 4;
const idleCheckMs = 50;

/** A newer pass began, or the settings of the source changed. */
const overtaken = Symbol('overtaken');

/**
 * Runs one pass over an open source: marks delivered events as done, which makes room, and then reads, if a reading is
 * due or the last one left events in the source. Repeats both until nothing is left to do or the time is up.
 * @throws SourceError when the source fails
 */
export async function runPass(
  dependencies: TurnDependencies,
  source: EventSource,
  state: EventSourceState,
  signal: AbortSignal,
): Promise<PassResult> {
  const { clock, intervalMs } = dependencies;
  const started = clock.monotonic();
  const ageMs = state.polledAt === null ? Infinity : state.readAt.getTime() - state.polledAt.getTime();
  let readDue = state.more || ageMs >= intervalMs / 2;
  let added = 0;
  let problem: string | undefined;
  let idleChecks = 0;
  let { unmarkedLeft } = state;
  const result = (more: boolean): PassResult => ({ added, more, ...(problem !== undefined && { problem }) });

  while (!signal.aborted && clock.monotonic() - started < sliceMs) {
    if (unmarkedLeft) unmarkedLeft = await recallUnmarked(dependencies.pool, state, markBatch);
    const marked = await markDelivered(dependencies, source, state);
    problem = marked.problem ?? problem;
    let polledCount = 0;
    if (readDue) {
      const polled = await readOnce(dependencies, source, state, signal);
      if (polled === overtaken) return result(true);
      if (polled) {
        polledCount = polled.added;
        readDue = polled.more;
        problem = polled.problem ?? problem;
      }
    }
    added += polledCount;
    idleChecks = polledCount + marked.count > 0 ? 0 : idleChecks + 1;
    // After events were added, their acknowledgements follow soon.
    if (idleChecks > 0 && (added === 0 || idleChecks > idleChecksMax)) return result(false);
    if (idleChecks > 0) await clock.sleep(idleCheckMs, signal);
  }
  return result(true);
}

/** Marks one batch of delivered events as done in the source. */
async function markDelivered(
  { pool, failpoint }: TurnDependencies,
  source: EventSource,
  state: EventSourceState,
): Promise<{ count: number; problem?: string }> {
  if (state.settings.markDone === undefined) return { count: 0 };
  const delivered = await listDelivered(pool, state, markBatch);
  if (delivered.length === 0) return { count: 0 };
  const failures = await source.markDone(delivered.map(({ eventId }) => eventId));
  failpoint('events.marked');
  await recordMarked(
    pool,
    delivered.filter(({ eventId }) => !failures.has(eventId)).map(({ id }) => id),
  );
  const failed = delivered.flatMap(({ id, eventId }) => {
    const error = failures.get(eventId);
    return error === undefined ? [] : [[id, error] as const];
  });
  await recordMarkFailures(pool, new Map(failed));
  const [first] = failed;
  return {
    count: delivered.length - failed.length,
    ...(first && { problem: `Marking as done failed for ${failed.length} of ${delivered.length} events: ${first[1]}` }),
  };
}

/** Reads the source from its beginning until there is no room left. @returns undefined where there is too little room */
async function readOnce(
  { pool, failpoint }: TurnDependencies,
  source: EventSource,
  state: EventSourceState,
  signal: AbortSignal,
): Promise<{ added: number; more: boolean; problem?: string } | typeof overtaken | undefined> {
  const poll = await beginPoll(pool, state);
  if (!poll) return overtaken;
  if (poll.full) return { added: 0, more: true, problem: tooManyDead(state.name) };
  // Each reading returns the stored events again, so that reading for a few new ones costs too much.
  if (poll.room < undoneMax / 2) return undefined;
  const readIds = new Set<string>();
  const limit = AbortSignal.any([signal, AbortSignal.timeout(readLimitMs)]);
  let { room } = poll;
  let more = false;
  for await (const page of source.read(limit)) {
    checkEvents(page);
    const accepted = await addEvents(pool, poll, page, room);
    if (!accepted) return overtaken;
    failpoint('events.taken');
    await source.confirm(accepted.events);
    for (const { id } of page) readIds.add(id);
    room -= accepted.added;
    more = room === 0 || accepted.events.length < page.length;
    if (more) break;
    if (limit.aborted) throw new SourceError(`Reading the source took longer than ${readLimitMs / 1000} s.`);
  }
  await endPoll(pool, poll, { more, complete: !more || source.consumed === true }, readIds);
  return { added: poll.room - room, more };
}

function tooManyDead(name: string): string {
  const limit = `${deadMax.toLocaleString('en')} dead letters or ${deadBytesMax / 1024 ** 2} MiB`;
  return `Reading is paused: the limit of ${limit} is reached. Redrive or purge dead letters: svc function dead-letters list ${name}`;
}

/** @throws SourceError for what PostgreSQL cannot store */
function checkEvents(page: readonly SourceEvent[]): void {
  for (const { id, payload } of page) {
    if (Buffer.byteLength(id) > eventIdBytesMax) {
      throw new SourceError(`The id "${id.slice(0, 40)}…" is longer than ${eventIdBytesMax} bytes.`);
    }
    if (!id.includes('\0') && payload?.includes('\0') !== true) continue;
    throw new SourceError(`The event with the id "${id.slice(0, 40).replaceAll('\0', '')}" contains a NUL character.`);
  }
}
