import type { Pod } from '../contracts/pod.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { Clock } from '../domain/clock.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { logMaxBytes, logPath, readLog, type LogSource } from './pod-logs.ts';

/** One line that a container printed. */
export interface LogLine {
  pod: string;
  /** RFC 3339 in UTC with nine decimals, so that times compare as texts do; empty where the node told none. */
  time: string;
  line: string;
}

export interface LogRange {
  /** Lines from the end, of each pod. */
  tail: number;
  /** Lines from this time on. */
  since?: Date | undefined;
}

/** Between two looks for pods that came, and containers that started again. */
const lookMs = 1_000;
/** Lines that wait for a slow reader; whoever prints more waits. */
const waitingMax = 1_000;

/**
 * What the pods have printed, in the order of its time: of each the last {@link logMaxBytes} at most. `truncated` when what
 * was before that is left out.
 * @param previous of each container's life before this one
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
 * What the pods print from now on, after the range of what they have printed: also those that come later, and after a
 * container started again. A line comes once. Ends when `signal` says so, and by itself only once `over` is true and what
 * was printed before that has been read.
 */
export async function* followLogLines(
  kube: Pick<KubeClient, 'list' | 'stream'>,
  source: LogSource,
  range: LogRange,
  { clock, signal, over }: { clock: Clock; signal: AbortSignal; over?: (() => Promise<boolean>) | undefined },
): AsyncGenerator<LogLine> {
  const { namespace, labelSelector, container } = source;
  const ended = new AbortController();
  const stop = AbortSignal.any([signal, ended.signal]);
  const waiting: LogLine[] = [];
  const readers = new Set<string>();
  /** The last line of each pod that came, and the life of its container that was read to its end. */
  const last = new Map<string, string>();
  const done = new Map<string, number>();
  let complete = false;
  let wake = Promise.withResolvers<void>();
  let room = Promise.withResolvers<void>();
  const rouse = () => {
    wake.resolve();
    room.resolve();
  };
  stop.addEventListener('abort', rouse, { once: true });

  const read = async (pod: string, known: boolean) => {
    const before = last.get(pod);
    const query = queryOf(container, before === undefined ? (known ? range : {}) : { since: new Date(before) });
    query.set('follow', 'true');
    for await (const text of linesOf(kube.stream(logPath(namespace, pod, query), stop))) {
      const line = parseLine(pod, text);
      // A log from a second on begins with what came before in that second.
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

  const look = async (first: boolean, ended: boolean) => {
    const { items } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector });
    for (const { metadata, status } of items) {
      const { name } = metadata;
      const state = status?.containerStatuses?.find((each) => each.name === container);
      const life = state?.restartCount ?? 0;
      const begun = state?.state?.running !== undefined || state?.state?.terminated !== undefined || life > 0;
      if (!begun || readers.has(name) || (done.get(name) === life && (ended || !state?.state?.running))) continue;
      readers.add(name);
      void read(name, first)
        // It may be gone, or its node away for a moment: the next look tells.
        .catch(() => undefined)
        .finally(() => {
          readers.delete(name);
          done.set(name, life);
        });
    }
  };

  const watch = async () => {
    for (let first = true; !stop.aborted && !complete; first = false) {
      // Before the look: what it finds is then all that there will be.
      const ended = (await over?.().catch(() => false)) ?? false;
      const looked = await look(first, ended).then(
        () => true,
        () => false,
      );
      complete = ended && looked && readers.size === 0;
      if (complete) rouse();
      else await clock.sleep(lookMs, stop).catch(() => undefined);
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
    ...{ container, timestamps: 'true' },
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
