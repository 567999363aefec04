import { Readable } from 'node:stream';
import type { LogLinesQuery } from '../contracts/api/logs.ts';
import type { Clock } from '../domain/clock.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { followLogLines, readLogLines } from './pod-log-lines.ts';
import type { LogSource } from './pod-logs.ts';

/** An empty line so often, in ms, so that no proxy takes a silent stream for a dead one; most give up after 60 s. */
const heartbeatMs = 15_000;
/** A stream ends after this long, and whoever follows asks again: with the rights of then. */
const followMaxMs = 30 * 60_000;

/**
 * The answer to who asks what some pods printed: their lines by time, or with `follow` lines of JSON that go on, over
 * rollouts and restarts.
 */
export async function logAnswer(
  { kube, clock }: { kube: Pick<KubeClient, 'list' | 'stream'>; clock: Clock },
  source: LogSource,
  request: { query: LogLinesQuery; signal: AbortSignal },
) {
  const { follow, previous, tail, sinceSeconds, sinceTime } = request.query;
  const ago = sinceSeconds === undefined ? undefined : new Date(clock.now().getTime() - sinceSeconds * 1000);
  const since = sinceTime === undefined ? ago : new Date(sinceTime);
  if (!follow) {
    return { status: 200 as const, body: await readLogLines(kube, source, { tail, since, previous }) };
  }
  return followAnswer(clock, request.signal, (signal) =>
    followLogLines(kube, source, { tail, since }, { clock, signal }),
  );
}

/** The answer that goes on: each of `lines` as a line of JSON, until they or the client's patience end. */
export function followAnswer(
  clock: Clock,
  clientGone: AbortSignal,
  lines: (signal: AbortSignal) => AsyncGenerator<object>,
) {
  const signal = AbortSignal.any([clientGone, AbortSignal.timeout(followMaxMs)]);
  return {
    status: 200 as const,
    headers: { 'Content-Type': 'application/x-ndjson', 'X-Accel-Buffering': 'no' },
    body: Readable.from(withHeartbeat(lines(signal), clock), { objectMode: false }),
  };
}

async function* withHeartbeat(lines: AsyncGenerator<object>, clock: Clock): AsyncGenerator<Buffer> {
  try {
    // At once, so that the answer begins before the first line is there.
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
