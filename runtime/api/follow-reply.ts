import type { LogNotice } from '../contracts/api/logs.ts';
import type { Pod } from '../contracts/pod.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { Clock } from '../domain/clock.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import type { LogCursor, LogReader } from '../logs/log-store.ts';
import { logTime } from '../logs/record.ts';
import { followLogLines, type LogLine, type LogRange } from './pod-log-lines.ts';
import { readStoredLines, type LogSelection, type WorkloadLogSource } from './stored-log-lines.ts';

/** A line of a followed log. */
export interface FollowedLine extends LogLine {
  /** Set when the store was late, so that newer lines were sent before this one. */
  late?: true;
}

/** How long the lines of pods wait for the lines of the store. */
const patienceMs = 5_000;
/** Pause before the store is read again. */
const retryMs = 10_000;
/** Clocks of nodes differ by less. */
const skewMs = 1_000;
/** Maximum characters of the stored lines that are in memory. */
const storedMaxLength = 1024 * 1024;

interface FollowOptions {
  tail: number | undefined;
  range: Pick<LogRange, 'since' | 'selects'>;
  /** The user for whom the store is read. */
  reader: string;
  signal: AbortSignal;
}

/**
 * The stored lines that pods no longer have, and then what the pods have and print. While the store does not answer, the
 * pods are followed without it, after a notice; its lines follow late, and then another notice.
 */
export async function* followLines(
  { kube, clock, store }: { kube: Pick<KubeClient, 'list' | 'stream'>; clock: Clock; store: LogReader | undefined },
  source: WorkloadLogSource,
  selection: LogSelection,
  { tail, range, reader, signal }: FollowOptions,
): AsyncGenerator<FollowedLine | LogNotice> {
  const returned = new AbortController();
  const stop = AbortSignal.any([signal, returned.signal]);
  const followed = new Set<string>();
  const isStoredOnly = await createStoredOnly(kube, clock, source, followed);
  const read = createStoredReader(store, source, selection, { tail, reader, now: clock.now(), isStoredOnly });
  const stored = repeated(read, clock, stop);
  const live = followLogLines(kube, source, { tail, ...range }, { clock, signal: stop });
  const patience = createPatience(clock, stop);
  const next = createNext(stored, live, patience.exhausted);
  try {
    let isLate = false;
    for (;;) {
      const { from, line, isDone } = await next(isLate);
      if (from === 'store' && isDone) break;
      if (from === 'store' && line === undefined) {
        if (!isLate) yield { store: 'unavailable' };
        isLate = true;
        continue;
      }
      if (!line) return;
      if (from === 'pods') followed.add(line.pod);
      patience.pause();
      yield from === 'store' && isLate ? { ...line, late: true } : line;
      patience.resume();
    }
    if (isLate) yield { store: 'ok' };
    for (let step = await next(true); step.line; step = await next(true)) yield step.line;
  } finally {
    returned.abort();
  }
}

interface Step {
  from: 'store' | 'pods';
  /** Undefined when the store does not answer in time, and at the end. */
  line?: LogLine | undefined;
  isDone?: boolean | undefined;
}

/**
 * The next of two sources: of the store first, and of pods only `withPods`. Pods are read from the first call on, so
 * that none ends unread while the store answers.
 */
function createNext(
  stored: AsyncGenerator<LogLine | 'unavailable'>,
  live: AsyncGenerator<LogLine>,
  exhausted: Promise<void>,
): (withPods: boolean) => Promise<Step> {
  const ready: { store?: Step | undefined; pods?: Step | undefined } = {};
  const pending = { store: false, pods: false };
  let changed = Promise.withResolvers<void>();
  let isExhausted = false;
  let failure: { error: unknown } | undefined;
  const ask = async (from: Step['from'], source: AsyncGenerator<LogLine | 'unavailable'>) => {
    if (pending[from]) return;
    pending[from] = true;
    try {
      const { done = false, value } = await source.next();
      ready[from] = { from, isDone: done, ...(!done && value !== 'unavailable' && { line: value as LogLine }) };
      pending[from] = done;
    } catch (error) {
      failure = { error };
    }
    changed.resolve();
  };
  const wait = async () => {
    await exhausted;
    isExhausted = true;
    changed.resolve();
  };
  void wait();
  const take = (from: Step['from']) => {
    const step = ready[from];
    ready[from] = undefined;
    return step;
  };
  return async (withPods) => {
    for (;;) {
      if (!ready.store) void ask('store', stored);
      if (!ready.pods) void ask('pods', live);
      const step = take('store') ?? (withPods ? take('pods') : undefined);
      if (step) return step;
      if (isExhausted && !withPods) return { from: 'store' };
      if (failure) throw failure.error;
      await changed.promise;
      changed = Promise.withResolvers();
    }
  };
}

/** A test for stored lines of pods that are gone and of earlier containers: no pod has them. */
async function createStoredOnly(
  kube: Pick<KubeClient, 'list'>,
  clock: Clock,
  { namespace, labelSelector, container }: WorkloadLogSource,
  followed: ReadonlySet<string>,
): Promise<(line: LogLine) => boolean> {
  const end = logTime(new Date(clock.now().getTime() + skewMs));
  const { items } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector });
  /** Since when each pod's log is that of its current container. */
  const started = new Map<string, string>();
  for (const { metadata, status } of items) {
    const state = status?.containerStatuses?.find(({ name }) => name === container)?.state;
    const startedAt = state?.running?.startedAt ?? state?.terminated?.startedAt;
    started.set(metadata.name, startedAt === undefined ? '' : logTime(new Date(startedAt)));
  }
  return ({ pod, time }) => {
    const start = started.get(pod);
    if (start !== undefined) return time < start;
    // A pod that has started since then is followed from its first line on.
    return time < end && !followed.has(pod);
  };
}

/** Reads the stored lines; after a failure, those that are left. Each reading returns whether it was complete. */
function createStoredReader(
  store: LogReader | undefined,
  source: WorkloadLogSource,
  selection: LogSelection,
  options: { tail: number | undefined; reader: string; now: Date; isStoredOnly: (line: LogLine) => boolean },
) {
  const { tail: limit, reader, now, isStoredOnly } = options;
  let after: LogCursor | undefined;
  return async function* read(signal: AbortSignal): AsyncGenerator<LogLine, boolean> {
    const direction = limit === undefined ? 'forward' : 'backward';
    const stored = await readStoredLines(store, source, selection, { limit, direction, reader, after, signal, now });
    const last: LogLine[] = [];
    let length = 0;
    for await (const { id, pod, time, line } of stored.lines) {
      if (limit === undefined) after = { time, id };
      const item = { pod, time, line };
      if (!isStoredOnly(item)) continue;
      if (limit === undefined) yield item;
      else last.push(item);
      length += line.length;
      if (limit !== undefined && length > storedMaxLength) break;
    }
    if (stored.state === 'unavailable') return false;
    yield* last.toReversed();
    return true;
  };
}

/** All lines, from as many readings as that takes. */
async function* repeated(
  read: (signal: AbortSignal) => AsyncGenerator<LogLine, boolean>,
  clock: Clock,
  stop: AbortSignal,
): AsyncGenerator<LogLine | 'unavailable'> {
  try {
    while (!(yield* read(stop))) {
      yield 'unavailable';
      await clock.sleep(retryMs, stop);
    }
  } catch (error) {
    if (!stop.aborted) throw error;
  }
}

/** A time limit that does not run while it is paused. */
function createPatience(clock: Clock, stop: AbortSignal) {
  let since = clock.monotonic();
  let isPaused = false;
  const run = async () => {
    while (!stop.aborted) {
      const left = isPaused ? patienceMs : since + patienceMs - clock.monotonic();
      if (left <= 0) return;
      await clock.sleep(left, stop).catch(() => undefined);
    }
  };
  return {
    exhausted: run(),
    pause: () => void (isPaused = true),
    resume() {
      isPaused = false;
      since = clock.monotonic();
    },
  };
}
