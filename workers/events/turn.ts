import type { Pool } from 'pg';
import type { Clock } from '../../runtime/domain/clock.ts';
import {
  beginPoll,
  deadBytesMax,
  deadMax,
  endPoll,
  eventIdBytesMax,
  listDelivered,
  recallUnmarked,
  recordMarked,
  recordMarkFailures,
  takeEvents,
  undoneMax,
  type EventSourceState,
} from '../../runtime/records/function-events.ts';
import { SourceError, type EventSource } from './source.ts';

export interface TurnDependencies {
  pool: Pool;
  clock: Clock;
  /** Called by name at each step, where a test may kill the process. */
  failpoint: (name: string) => void;
  /** A source that was read completely is not read again before that, in ms. */
  intervalMs: number;
}

/** What one turn did. */
export interface Turn {
  /** Events that were found. */
  added: number;
  /** Whether another turn is to follow at once. */
  more: boolean;
  /** Why something could not be marked as done; the turn went well otherwise. */
  problem?: string;
}

/** For so long one function keeps a worker busy before others have their turn. */
const sliceMs = 5_000;
/** Reading a source from its beginning to its end takes no longer. */
const readLimitMs = 30_000;
const markBatch = 200;
/** While a source is busy its connection stays open for this long, looking so often. */
const quietLooksMax = 4;
const quietMs = 50;

/** A newer turn has begun, or the source is another one by now. */
const overtaken = Symbol('overtaken');

/**
 * One turn with an open source. First marks as done what was delivered, since that makes room; then reads, if it is time
 * or there was more than fitted; and so on while there is something to do. @throws SourceError when the source fails
 */
export async function takeTurn(
  dependencies: TurnDependencies,
  source: EventSource,
  state: EventSourceState,
  signal: AbortSignal,
): Promise<Turn> {
  const { clock, intervalMs } = dependencies;
  const started = clock.monotonic();
  const ageMs = state.polledAt === null ? Infinity : state.readAt.getTime() - state.polledAt.getTime();
  let wanted = state.more || ageMs >= intervalMs / 2;
  let added = 0;
  let problem: string | undefined;
  let quiet = 0;
  let { unmarkedLeft } = state;
  const turn = (more: boolean): Turn => ({ added, more, ...(problem !== undefined && { problem }) });

  while (!signal.aborted && clock.monotonic() - started < sliceMs) {
    if (unmarkedLeft) unmarkedLeft = await recallUnmarked(dependencies.pool, state, markBatch);
    const marked = await markDelivered(dependencies, source, state);
    problem = marked.problem ?? problem;
    let found = 0;
    if (wanted) {
      const polled = await readOnce(dependencies, source, state, signal);
      if (polled === overtaken) return turn(true);
      if (polled) {
        found = polled.added;
        wanted = polled.more;
        problem = polled.problem ?? problem;
      }
    }
    added += found;
    quiet = found + marked.count > 0 ? 0 : quiet + 1;
    // Without work there is nothing to wait for; after some, acknowledgements are on their way.
    if (quiet > 0 && (added === 0 || quiet > quietLooksMax)) return turn(false);
    if (quiet > 0) await clock.sleep(quietMs, signal);
  }
  return turn(true);
}

/** Marks one batch of what was delivered as done in the source. */
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

/** Reads the source from its beginning, for as long as there is room. @returns undefined while there is too little of it */
async function readOnce(
  { pool, failpoint }: TurnDependencies,
  source: EventSource,
  state: EventSourceState,
  signal: AbortSignal,
): Promise<{ added: number; more: boolean; problem?: string } | typeof overtaken | undefined> {
  const poll = await beginPoll(pool, state);
  if (!poll) return overtaken;
  if (poll.full) return { added: 0, more: true, problem: tooManyDead(state.name) };
  // What is kept is read again each time, so that reading for a few would cost too much.
  if (poll.room < undoneMax / 2) return undefined;
  const seen = new Set<string>();
  const limit = AbortSignal.any([signal, AbortSignal.timeout(readLimitMs)]);
  let { room } = poll;
  let more = false;
  for await (const page of source.read(limit)) {
    checkIds(page);
    const taken = await takeEvents(pool, poll, page, room);
    if (!taken) return overtaken;
    failpoint('events.taken');
    await source.taken(taken.events);
    for (const { id } of page) seen.add(id);
    room -= taken.added;
    more = room === 0 || taken.events.length < page.length;
    if (more) break;
    if (limit.aborted) throw new SourceError(`Reading the source took longer than ${readLimitMs / 1000} s.`);
  }
  await endPoll(pool, poll, { more, complete: !more || source.consumed === true }, seen);
  return { added: poll.room - room, more };
}

function tooManyDead(name: string): string {
  const most = `${deadMax.toLocaleString('en')} dead letters, or ${deadBytesMax / 1024 ** 2} MiB of them`;
  return `Nothing more is read: with ${most}, they have to be redriven or purged first; see \`svc function dead-letters list ${name}\`.`;
}

function checkIds(page: readonly { id: string }[]): void {
  const long = page.find(({ id }) => Buffer.byteLength(id) > eventIdBytesMax);
  if (!long) return;
  throw new SourceError(`The id "${long.id.slice(0, 40)}…" is longer than ${eventIdBytesMax} bytes.`);
}
