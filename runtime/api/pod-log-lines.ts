import type { Stored } from '../contracts/kubernetes.ts';
import { isPodEnded, type Pod } from '../contracts/pod.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { Clock } from '../domain/clock.ts';
import { createLogPosition, type LogPosition } from '../domain/log-position.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { lineMaxLength } from '../logs/record.ts';
import { kubeletLines, parseKubeletLine } from './kubelet-lines.ts';
import { findTailStart } from './tail-start.ts';
import { logMaxBytes, logPath, readLog, readLogTail, type LogSource } from '../workloads/pod-logs.ts';

/** One line that a container printed. */
export interface LogLine {
  pod: string;
  /**
   * RFC 3339 in UTC with nine decimals, so that times can be compared as text; empty when the kubelet reported none.
   */
  time: string;
  line: string;
}

export interface LogRange {
  /** Maximum lines from the end of each pod's log; undefined for all. */
  tail: number | undefined;
  /** Only lines from this time on. */
  since?: Date | undefined;
  /** Leaves out other lines. */
  selects?: ((line: LogLine) => boolean) | undefined;
}

/** Maximum characters of the logs of all pods together; the rest is left out, and the answer says so. */
const logsMaxLength = 8 * 1024 * 1024;
/** Maximum pods that have ended whose logs are read. */
const endedPodsMax = 30;
/** Interval between checks for new pods and restarted containers. */
const checkMs = 1_000;
/** Maximum buffered lines while the reader is slow; beyond it, reading from pods pauses. */
const waitingMax = 1_000;
/** And their maximum characters. */
const waitingMaxLength = lineMaxLength;
/** Time-out of finding where the last lines of a log begin, which can read all of it. */
const tailMaxMs = 30_000;

/**
 * The logs of all pods, sorted by time, with at most the last {@link logMaxBytes} of each. `truncated` is set when
 * earlier lines are missing.
 * @param previous reads the logs of each container's previous instance
 */
export async function readLogLines(
  kube: Pick<KubeClient, 'list' | 'stream'>,
  source: LogSource,
  { tail, since, previous, selects }: LogRange & { previous: boolean },
): Promise<{ items: LogLine[]; truncated?: true }> {
  const { namespace, labelSelector, container } = source;
  const { items } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector });
  const lines: LogLine[] = [];
  const pods = recentPods(items);
  let truncated = pods.length < items.length;
  let length = 0;
  for (const { metadata } of pods) {
    if (length > logsMaxLength) {
      truncated = true;
      break;
    }
    const query = queryOf(container, { since });
    if (previous) query.set('previous', 'true');
    // The last lines that are selected can be any of the log.
    const isWhole = selects !== undefined || tail === undefined;
    const log = isWhole
      ? await readLog(kube, namespace, metadata.name, query, logMaxBytes)
      : await readLogTail(kube, namespace, metadata.name, query, tail);
    truncated ||= log?.truncated ?? false;
    length += log?.text.length ?? 0;
    const parsed = linesOfText(metadata.name, log?.text);
    const selected = selects ? parsed.filter(selects) : parsed;
    lines.push(...(tail === undefined ? selected : selected.slice(-tail)));
  }
  lines.sort(byTime);
  return { items: lines, ...(truncated && { truncated }) };
}

/** By time; lines of one time stay in their order. */
export function byTime(a: Pick<LogLine, 'time'>, b: Pick<LogLine, 'time'>): number {
  return a.time < b.time ? -1 : a.time > b.time ? 1 : 0;
}

/**
 * The lines of `range`, then new lines of all pods, including pods that start later and restarted containers. No line
 * is repeated. Ends when `signal` aborts, or once `hasEnded` returns true and all lines before that were read.
 */
export async function* followLogLines(
  kube: Pick<KubeClient, 'list' | 'stream'>,
  source: LogSource,
  range: LogRange,
  { clock, signal, hasEnded }: { clock: Clock; signal: AbortSignal; hasEnded?: (() => Promise<boolean>) | undefined },
): AsyncGenerator<LogLine> {
  const returned = new AbortController();
  const stop = AbortSignal.any([signal, returned.signal]);
  const buffer = createLineBuffer(stop);
  const readers = createPodReaders(kube, source, range, { stop, add: (line) => buffer.add(line) });

  const watch = async () => {
    while (!stop.aborted) {
      // Checked before the pods are listed, so that the list contains every pod that printed something.
      const ended = (await hasEnded?.().catch(() => false)) ?? false;
      const checked = await readers.check(ended).then(
        () => true,
        () => false,
      );
      if (ended && checked && readers.allDone()) {
        buffer.close();
        return;
      }
      await clock.sleep(checkMs, stop).catch(() => undefined);
    }
  };

  void watch();
  try {
    for (let line = await buffer.next(); line; line = await buffer.next()) yield line;
  } finally {
    returned.abort();
  }
}

/** Passes lines from several readers, which wait while it is full, to one consumer, which waits while it is empty. */
function createLineBuffer(stop: AbortSignal) {
  const lines: LogLine[] = [];
  let length = 0;
  let closed = false;
  let changed = Promise.withResolvers<void>();
  const signalChange = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  const isFull = () => lines.length >= waitingMax || length >= waitingMaxLength;
  stop.addEventListener('abort', signalChange, { once: true });
  return {
    /** Resolves once there is room for another line. */
    async add(line: LogLine): Promise<void> {
      lines.push(line);
      length += line.line.length;
      signalChange();
      while (isFull() && !stop.aborted) await changed.promise;
    },
    /** Call it when all lines were added. */
    close() {
      closed = true;
      signalChange();
    },
    /** @returns undefined after the last line, or when stopped */
    async next(): Promise<LogLine | undefined> {
      for (;;) {
        const line = stop.aborted ? undefined : lines.shift();
        length -= line?.line.length ?? 0;
        if (line) signalChange();
        if (line || closed || stop.aborted) return line;
        await changed.promise;
      }
    },
  };
}

/** Reads the logs of a workload's pods, each by a reader of its own. */
function createPodReaders(
  kube: Pick<KubeClient, 'list' | 'stream'>,
  { namespace, labelSelector, container }: LogSource,
  range: LogRange,
  { stop, add }: { stop: AbortSignal; add: (line: LogLine) => Promise<void> },
) {
  /** The pods whose logs are being read. */
  const reading = new Set<string>();
  const positions = new Map<string, LogPosition>();
  /** The restart count of each pod's container whose log was read to the end. */
  const finished = new Map<string, number>();
  /** The pods of the first check; a later pod's log is read from its start. */
  let initial: Set<string> | undefined;

  /** Where the first reading of a log begins. */
  const begin = async (pod: string, position: LogPosition): Promise<URLSearchParams> => {
    if (initial?.has(pod) !== true) return queryOf(container, {});
    const { tail, since, selects } = range;
    // The last lines that are selected can be any of the log.
    if (selects === undefined && tail !== undefined) {
      const signal = AbortSignal.any([stop, AbortSignal.timeout(tailMaxMs)]);
      const lines = (limit: number | undefined) =>
        kube.stream(logPath(namespace, pod, queryOf(container, { since, tail: limit })), signal);
      const start = await findTailStart(lines, tail);
      if (start) {
        position.startAfter(start);
        return queryOf(container, { since: new Date(start.time) });
      }
    }
    return queryOf(container, { since });
  };

  const read = async (pod: string) => {
    const position = positions.get(pod) ?? createLogPosition();
    positions.set(pod, position);
    position.reopen();
    const before = position.time();
    const query = before === undefined ? await begin(pod, position) : queryOf(container, { since: new Date(before) });
    query.set('follow', 'true');
    for await (const text of kubeletLines(kube.stream(logPath(namespace, pod, query), stop))) {
      const line = { pod, ...parseKubeletLine(text) };
      // `sinceTime` has a resolution of one second, so that lines of that second are repeated.
      if (position.isNew(line.time) && (range.selects?.(line) ?? true)) await add(line);
    }
  };

  return {
    /** Starts to read the logs of new pods and restarted containers. @param ended whether no pod prints any more */
    async check(ended: boolean): Promise<void> {
      const { items } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector });
      const pods = recentPods(items);
      initial ??= new Set(pods.map(({ metadata }) => metadata.name));
      for (const pod of pods) {
        const { name } = pod.metadata;
        const { started, running, restarts } = containerState(pod, container);
        const isRead = finished.get(name) === restarts && (ended || !running);
        if (!started || isRead || reading.has(name)) continue;
        reading.add(name);
        void read(name)
          // The pod was deleted or its node is unavailable; the next check decides.
          .catch(() => undefined)
          .finally(() => {
            reading.delete(name);
            finished.set(name, restarts);
          });
      }
    },
    allDone: () => reading.size === 0,
  };
}

/**
 * All live pods and the newest that have ended: a job keeps the pods of 40 runs, each with up to 11 attempts, and a request
 * holds up to {@link logMaxBytes} of each.
 */
function recentPods(pods: readonly Stored<Pod>[]): Stored<Pod>[] {
  const age = ({ metadata }: Stored<Pod>) => metadata.creationTimestamp ?? '';
  const ended = pods.filter(isPodEnded).toSorted((a, b) => age(b).localeCompare(age(a)));
  return [...pods.filter((pod) => !isPodEnded(pod)), ...ended.slice(0, endedPodsMax)];
}

/** Whether a container runs, and whether it has ever been started. */
function containerState({ status }: Pod, container: string) {
  const current = status?.containerStatuses?.find(({ name }) => name === container);
  const restarts = current?.restartCount ?? 0;
  const running = current?.state?.running !== undefined;
  return { running, restarts, started: running || current?.state?.terminated !== undefined || restarts > 0 };
}

function linesOfText(pod: string, text = ''): LogLine[] {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => ({ pod, ...parseKubeletLine(line) }));
}

function queryOf(container: string, { tail, since }: Partial<LogRange>): URLSearchParams {
  return new URLSearchParams({
    container,
    timestamps: 'true',
    ...(tail !== undefined && { tailLines: String(tail) }),
    ...(since && { sinceTime: since.toISOString() }),
  });
}
