import type { Pod } from '../contracts/pod.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { Clock } from '../domain/clock.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { logMaxBytes, logPath, readLog, type LogSource } from '../workloads/pod-logs.ts';

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
  /** Maximum lines from the end of each pod's log. */
  tail: number;
  /** Only lines from this time on. */
  since?: Date | undefined;
}

/** Interval between checks for new pods and restarted containers. */
const checkMs = 1_000;
/** Maximum buffered lines while the reader is slow; beyond it, reading from pods pauses. */
const waitingMax = 1_000;

/**
 * The logs of all pods, sorted by time, with at most the last {@link logMaxBytes} of each. `truncated` is set when
 * earlier lines are missing.
 * @param previous reads the logs of each container's previous instance
 */
export async function readLogLines(
  kube: Pick<KubeClient, 'list' | 'stream'>,
  source: LogSource,
  { tail, since, previous }: LogRange & { previous: boolean },
): Promise<{ items: LogLine[]; truncated?: true }> {
  const { namespace, labelSelector, container } = source;
  const { items } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector });
  const lines: LogLine[] = [];
  let truncated = false;
  for (const { metadata } of items) {
    const query = queryOf(container, { tail, since });
    if (previous) query.set('previous', 'true');
    const log = await readLog(kube, namespace, metadata.name, query, logMaxBytes);
    truncated ||= log?.truncated ?? false;
    for (const line of log?.text.split('\n') ?? []) if (line !== '') lines.push(parseLine(metadata.name, line));
  }
  lines.sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
  return { items: lines, ...(truncated && { truncated }) };
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
  const { namespace, labelSelector, container } = source;
  const ended = new AbortController();
  const stop = AbortSignal.any([signal, ended.signal]);
  const waiting: LogLine[] = [];
  const readers = new Set<string>();
  /**
   * The time of the last line read from each pod, and the restart count of its container whose log was read to the end.
   */
  const last = new Map<string, string>();
  const finished = new Map<string, number>();
  let complete = false;
  let wake = Promise.withResolvers<void>();
  let room = Promise.withResolvers<void>();
  const wakeAll = () => {
    wake.resolve();
    room.resolve();
  };
  stop.addEventListener('abort', wakeAll, { once: true });

  const read = async (pod: string, wasListed: boolean) => {
    const before = last.get(pod);
    const query = queryOf(container, before === undefined ? (wasListed ? range : {}) : { since: new Date(before) });
    query.set('follow', 'true');
    for await (const text of linesOf(kube.stream(logPath(namespace, pod, query), stop))) {
      const line = parseLine(pod, text);
      // `sinceTime` has a resolution of one second, so that lines of that second are repeated.
      if (before !== undefined && line.time <= before) continue;
      last.set(pod, line.time);
      waiting.push(line);
      wake.resolve();
      while (waiting.length >= waitingMax && !stop.aborted) {
        room = Promise.withResolvers();
        await room.promise;
      }
    }
  };

  const checkPods = async (first: boolean, ended: boolean) => {
    const { items } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector });
    for (const { metadata, status } of items) {
      const { name } = metadata;
      const state = status?.containerStatuses?.find((candidate) => candidate.name === container);
      const life = state?.restartCount ?? 0;
      const started = state?.state?.running !== undefined || state?.state?.terminated !== undefined || life > 0;
      if (!started || readers.has(name) || (finished.get(name) === life && (ended || !state?.state?.running))) continue;
      readers.add(name);
      void read(name, first)
        // The pod was deleted or its node is unavailable; the next check decides.
        .catch(() => undefined)
        .finally(() => {
          readers.delete(name);
          finished.set(name, life);
        });
    }
  };

  const watch = async () => {
    for (let first = true; !stop.aborted && !complete; first = false) {
      // Checked before the pods are listed, so that the list contains every pod that printed something.
      const ended = (await hasEnded?.().catch(() => false)) ?? false;
      const checked = await checkPods(first, ended).then(
        () => true,
        () => false,
      );
      complete = ended && checked && readers.size === 0;
      if (complete) wakeAll();
      else await clock.sleep(checkMs, stop).catch(() => undefined);
    }
  };

  void watch();
  try {
    while (!stop.aborted) {
      const line = waiting.shift();
      room.resolve();
      if (line) yield line;
      else {
        if (complete) return;
        wake = Promise.withResolvers();
        if (waiting.length === 0 && !stop.aborted) await wake.promise;
      }
    }
  } finally {
    ended.abort();
  }
}

function queryOf(container: string, { tail, since }: Partial<LogRange>): URLSearchParams {
  return new URLSearchParams({
    container,
    timestamps: 'true',
    ...(tail !== undefined && { tailLines: String(tail) }),
    ...(since && { sinceTime: since.toISOString() }),
  });
}

const stamped = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z ?(.*)$/s;

function parseLine(pod: string, text: string): LogLine {
  const [, second, fraction = '', line = ''] = stamped.exec(text) ?? [];
  if (second === undefined) return { pod, time: '', line: text };
  return { pod, time: `${second}.${fraction.padEnd(9, '0')}Z`, line };
}

async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = parts.pop() ?? '';
    yield* parts;
  }
  if (rest !== '') yield rest;
}
