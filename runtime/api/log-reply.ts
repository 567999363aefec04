import { Readable } from 'node:stream';
import { sinceDefaultSeconds, tailOf, type LogLinesQuery } from '../contracts/api/logs.ts';
import type { Clock } from '../domain/clock.ts';
import { createFairPlaces, PlacesFull, type FairPlaces } from '../domain/fair-places.ts';
import { createLogPosition, type LogPosition } from '../domain/log-position.ts';
import { Problem } from '../domain/problem.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import type { LogReader } from '../logs/log-store.ts';
import { followLines } from './follow-reply.ts';
import { createHeldLines } from './held-lines.ts';
import { byTime, readLogLines, type LogLine } from './pod-log-lines.ts';
import { createStall, watched } from './stall.ts';
import { readStoredLines, selects, type LogSelection, type WorkloadLogSource } from './stored-log-lines.ts';

/** Interval of empty lines, in ms: proxies close a silent stream, most of them after 60 s. */
const heartbeatMs = 15_000;
/** Maximum duration of a stream, in ms. The client reconnects, and its rights are checked again. */
const followMaxMs = 30 * 60_000;
/** A client that takes nothing for this long is cut off, in ms: until then, the stream holds what it has not taken. */
const defaultStalledMs = 5 * 60_000;
/** How long a stream may still take after that before it is cut. */
const endMs = 5_000;
/** Maximum characters of the store's lines in a response that is no stream. */
const storedMaxLength = 4 * 1024 * 1024;
/** How long the store is searched for a response that is no stream. It begins with the newest lines. */
const searchMaxMs = 15_000;

/** What all routes for logs share. */
export interface LogServices {
  /** The log store; undefined without one. */
  store?: LogReader | undefined;
  /** Bounds the reading of logs, by project. */
  reads: FairPlaces;
  /** Bounds the streams, by user. */
  streams: FairPlaces;
}

export function createLogServices(store?: LogReader): LogServices {
  return {
    store,
    reads: createFairPlaces({ total: 16, perKey: 4, waitingPerKey: 16, waitingTotal: 64 }),
    streams: createFairPlaces({ total: 300, perKey: 30, waitingPerKey: 0, waitingTotal: 0 }),
  };
}

/** What a route for logs uses. */
export interface LogAccess {
  kube: Pick<KubeClient, 'list' | 'stream'>;
  clock: Clock;
  logs: LogServices;
}

/** A request for logs. */
interface LogRequest {
  query: LogLinesQuery;
  signal: AbortSignal;
  /** The caller's user and project, for the limits. */
  user: string;
  project: string;
}

/**
 * The log lines of a workload, by time: those that its pods have, and those that the store has of pods that are gone. With
 * `follow`, a stream of JSON lines that continues across rollouts and restarts; with `all`, a stream of the whole range.
 */
export async function logReply(access: LogAccess, source: WorkloadLogSource, request: LogRequest) {
  const { clock, logs } = access;
  const { query, signal, user, project } = request;
  if (query.until !== undefined && query.follow) {
    throw new Problem('invalid_request', 'A stream that follows has no end: use either `until` or `follow`.');
  }
  const selection = selectionOf(query, clock.now());
  if (!query.follow && !query.all) {
    const leave = await enter(logs.reads, project, signal);
    try {
      return { status: 200 as const, body: await readLines(access, source, selection, request) };
    } finally {
      leave();
    }
  }
  const leave = await enter(logs.streams, user, signal);
  signal.addEventListener('abort', leave, { once: true });
  const reply = streamReply(clock, signal, async function* (stop): AsyncGenerator<object> {
    try {
      if (query.follow) {
        const options = { tail: tailOf(query), range: podRange(selection), reader: user, signal: stop };
        yield* followLines({ kube: access.kube, clock, store: logs.store }, source, selection, options);
      } else yield* allLines(access, source, selection, { project, user, signal: stop });
    } finally {
      leave();
    }
  });
  // The stream of a HEAD is never read.
  reply.body.once('close', leave);
  return reply;
}

async function enter(places: FairPlaces, key: string, signal: AbortSignal): Promise<() => void> {
  try {
    return await places.enter(key, signal);
  } catch (error) {
    if (!(error instanceof PlacesFull)) throw error;
    throw new Problem('too_many_requests', 'Too many logs are being read. Wait until one of them has ended.', {
      details: { retryAfterSeconds: 1 },
    });
  }
}

function selectionOf(query: LogLinesQuery, now: Date): LogSelection {
  const {
    sinceSeconds = query.previous ? undefined : sinceDefaultSeconds,
    sinceTime,
    until,
    search,
    level,
    pod,
  } = query;
  const start = new Date(sinceSeconds === undefined ? 0 : now.getTime() - sinceSeconds * 1000);
  const from = sinceTime === undefined ? start : new Date(sinceTime);
  return { from, ...(until !== undefined && { to: new Date(until) }), search, level, pod };
}

/** How pods are read: `sinceTime` only, when every line is selected. */
function podRange(selection: LogSelection) {
  const { from, to, pod, search, level } = selection;
  const isPart = [to, pod, search, level].some((value) => value !== undefined);
  return { since: from.getTime() === 0 ? undefined : from, ...(isPart && { selects: selects(selection) }) };
}

/** The last lines of pods and store together. A line that both have is there once. */
async function readLines(
  { kube, clock, logs }: LogAccess,
  source: WorkloadLogSource,
  selection: LogSelection,
  { query, signal, user }: LogRequest,
) {
  const tail = tailOf(query) ?? 1_000;
  const read = await readLogLines(kube, source, { tail, previous: query.previous, ...podRange(selection) });
  // The log of a previous container is what a pod has beside its log; the store does not tell containers apart.
  if (query.previous) return read;
  const now = clock.now();
  const [late, done] = [new AbortController(), new AbortController()];
  const stop = AbortSignal.any([signal, late.signal]);
  void clock.sleep(searchMaxMs, done.signal).then(
    () => late.abort(new Error('the search took too long')),
    () => undefined,
  );
  const options = { limit: tail, direction: 'backward' as const, reader: user, signal: stop, now };
  const stored = await readStoredLines(logs.store, source, selection, options);
  const isHeld = createHeldLines(read.items);
  const missing: LogLine[] = [];
  let length = 0;
  for await (const { pod, time, line } of stored.lines) {
    const item = { pod, time, line };
    if (!isHeld(item)) missing.push(item);
    length += line.length;
    if (length > storedMaxLength) break;
  }
  done.abort(new Error('the search has ended'));
  const merged = missing.toReversed().concat(read.items).sort(byTime);
  const isLate = late.signal.aborted;
  const isCut = read.truncated || isLate || length > storedMaxLength;
  const items = merged.slice(-tail);
  const { keptSince } = stored;
  const state = isLate ? ('ok' as const) : stored.state;
  return { items, ...(isCut && { truncated: true }), store: state, ...(keptSince !== undefined && { keptSince }) };
}

/** All stored lines of a range, then the newer lines that pods have, and an end. */
async function* allLines(
  { kube, clock, logs }: LogAccess,
  source: WorkloadLogSource,
  selection: LogSelection,
  { project, user, signal }: { project: string; user: string; signal: AbortSignal },
): AsyncGenerator<object> {
  const now = clock.now();
  const stored = await readStoredLines(logs.store, source, selection, {
    limit: undefined,
    direction: 'forward',
    reader: user,
    signal,
    now,
  });
  const positions = new Map<string, LogPosition>();
  for await (const { pod, time, line } of stored.lines) {
    const position = positions.get(pod) ?? createLogPosition();
    positions.set(pod, position);
    position.isNew(time);
    yield { pod, time, line };
  }
  signal.throwIfAborted();
  for (const position of positions.values()) position.reopen();
  const { since, selects: selectsLine } = podRange(selection);
  const range = { tail: undefined, since, selects: selectsLine, previous: false };
  // What pods hold is read at once, so it takes a place of the readings that do not stream.
  const leave = await enter(logs.reads, project, signal);
  let isCut = false;
  try {
    const { items, truncated = false } = await readLogLines(kube, source, range);
    isCut = truncated;
    for (const item of items) {
      if (positions.get(item.pod)?.isNew(item.time) ?? true) yield item;
    }
  } finally {
    leave();
  }
  const { state, keptSince } = stored;
  // With a store, what a pod no longer has is stored.
  const cut = isCut && state !== 'ok' && { truncated: true };
  yield { end: true, store: state, ...(keptSince !== undefined && { keptSince }), ...cut };
}

/**
 * A streamed response with one JSON line for each of `lines`, until they end or the client disconnects.
 * @param stalledMs how long a client may take nothing; default five minutes, in which a person reads a page
 */
export function streamReply(
  clock: Clock,
  clientSignal: AbortSignal,
  lines: (signal: AbortSignal) => AsyncGenerator<object>,
  stalledMs = defaultStalledMs,
) {
  const signal = AbortSignal.any([clientSignal, AbortSignal.timeout(followMaxMs)]);
  const stall = createStall(clock);
  const body = Readable.from(watched(withHeartbeat(lines(signal), clock), stall), { objectMode: false });
  const closed = new AbortController();
  void stall.lasts(stalledMs, closed.signal).then(
    () => body.destroy(),
    () => undefined,
  );
  // A stream ends by itself, unless its client takes nothing.
  const endLater = () =>
    void clock.sleep(endMs, closed.signal).then(
      () => body.destroy(),
      () => undefined,
    );
  signal.addEventListener('abort', endLater, { once: true });
  body.once('close', () => {
    closed.abort(new Error('the stream has ended'));
    signal.removeEventListener('abort', endLater);
  });
  return { status: 200 as const, headers: { 'Content-Type': 'application/x-ndjson', 'X-Accel-Buffering': 'no' }, body };
}

async function* withHeartbeat(lines: AsyncGenerator<object>, clock: Clock): AsyncGenerator<Buffer> {
  const ended = new AbortController();
  let isSilent = false;
  let changed = Promise.withResolvers<undefined>();
  const pause = async () => {
    try {
      await clock.sleep(heartbeatMs, ended.signal);
    } catch {
      return;
    }
    isSilent = true;
    changed.resolve(undefined);
  };
  try {
    // So that the response begins before the first line.
    yield Buffer.from('\n');
    void pause();
    let next = lines.next();
    for (;;) {
      const result = await Promise.race([next, isSilent ? undefined : changed.promise]);
      // A promise keeps the results of all races that it takes part in, so one for the whole pause would keep every line.
      changed = Promise.withResolvers();
      if (result === undefined) {
        isSilent = false;
        yield Buffer.from('\n');
        void pause();
      } else if (result.done) return;
      else {
        yield Buffer.from(`${JSON.stringify(result.value)}\n`);
        next = lines.next();
      }
    }
  } finally {
    ended.abort();
    await lines.return(undefined);
  }
}
