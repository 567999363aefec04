import { Readable } from 'node:stream';
import { tailOf, type LogLinesQuery } from '../contracts/api/logs.ts';
import type { Clock } from '../domain/clock.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { followLogLines, readLogLines } from './pod-log-lines.ts';
import type { LogSource } from '../workloads/pod-logs.ts';

/** Interval of empty lines, in ms: proxies close a silent stream, most of them after 60 s. */
const heartbeatMs = 15_000;
/** Maximum duration of a stream, in ms. The client reconnects, and its rights are checked again. */
const followMaxMs = 30 * 60_000;

/** The log lines of pods, by time. With `follow`, a stream of JSON lines that continues across rollouts and restarts. */
export async function logReply(
  { kube, clock }: { kube: Pick<KubeClient, 'list' | 'stream'>; clock: Clock },
  source: LogSource,
  request: { query: LogLinesQuery; signal: AbortSignal },
) {
  const { follow, previous, sinceSeconds, sinceTime } = request.query;
  const tail = tailOf(request.query);
  const start = sinceSeconds === undefined ? undefined : new Date(clock.now().getTime() - sinceSeconds * 1000);
  const since = sinceTime === undefined ? start : new Date(sinceTime);
  if (!follow) {
    return { status: 200 as const, body: await readLogLines(kube, source, { tail, since, previous }) };
  }
  return streamReply(clock, request.signal, (signal) =>
    followLogLines(kube, source, { tail, since }, { clock, signal }),
  );
}

/** A streamed response with one JSON line for each of `lines`, until they end or the client disconnects. */
export function streamReply(
  clock: Clock,
  clientSignal: AbortSignal,
  lines: (signal: AbortSignal) => AsyncGenerator<object>,
) {
  const signal = AbortSignal.any([clientSignal, AbortSignal.timeout(followMaxMs)]);
  return {
    status: 200 as const,
    headers: { 'Content-Type': 'application/x-ndjson', 'X-Accel-Buffering': 'no' },
    body: Readable.from(withHeartbeat(lines(signal), clock), { objectMode: false }),
  };
}

async function* withHeartbeat(lines: AsyncGenerator<object>, clock: Clock): AsyncGenerator<Buffer> {
  try {
    // So that the response begins before the first line.
    yield Buffer.from('\n');
    let next = lines.next();
    for (;;) {
      const timer = new AbortController();
      const silence = clock.sleep(heartbeatMs, timer.signal).catch(() => undefined);
      const result = await Promise.race([next, silence]);
      timer.abort();
      if (result === undefined) yield Buffer.from('\n');
      else if (result.done) return;
      else {
        yield Buffer.from(`${JSON.stringify(result.value)}\n`);
        next = lines.next();
      }
    }
  } finally {
    await lines.return(undefined);
  }
}
