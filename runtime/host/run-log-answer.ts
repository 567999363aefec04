import type { RunLogsQuery, RunMark } from '../contracts/api/runs.ts';
import type { Clock } from '../domain/clock.ts';
import { idLabel } from '../domain/labels.ts';
import type { Id } from '../domain/ids.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { followAnswer } from './log-answer.ts';
import { followLogLines, type LogLine } from './pod-log-lines.ts';
import { readPodLogs } from './pod-logs.ts';
import type { ShownRun } from './run-views.ts';

/** A run whose log is asked for. */
export interface LoggedRun {
  namespace: string;
  workloadId: Id;
  run: string;
  container: string;
  /** The run as it is now; undefined when there is no such run any more. */
  look: () => Promise<Pick<ShownRun<string>, 'status' | 'message'> | undefined>;
}

/**
 * The answer to who asks what a run's pods printed: the log of each attempt, or with `follow` lines of JSON that go on until
 * the run has ended, with a mark of it before and after them. A stream that ends without the last mark was cut.
 */
export async function runLogAnswer(
  { kube, clock }: { kube: Pick<KubeClient, 'list' | 'stream'>; clock: Clock },
  { namespace, workloadId, run, container, look }: LoggedRun,
  { query: { tail, follow, sinceTime }, signal }: { query: RunLogsQuery; signal: AbortSignal },
) {
  const labelSelector = `${idLabel}=${workloadId},batch.kubernetes.io/job-name=${run}`;
  const source = { namespace, labelSelector, container };
  if (!follow) return { status: 200 as const, body: { run, pods: await readPodLogs(kube, source, tail) } };
  const since = sinceTime === undefined ? undefined : new Date(sinceTime);
  return followAnswer(clock, signal, async function* (stop): AsyncGenerator<LogLine | RunMark> {
    let ended: RunMark | undefined;
    const over = async () => {
      ended = endOf(run, await look());
      return ended !== undefined;
    };
    yield { run };
    yield* followLogLines(kube, source, { tail, since }, { clock, signal: stop, over });
    if (ended && !stop.aborted) yield ended;
  });
}

function endOf(run: string, now: Awaited<ReturnType<LoggedRun['look']>>): RunMark | undefined {
  if (!now) return { run, ended: 'removed' };
  const { status, message } = now;
  if (status !== 'succeeded' && status !== 'failed') return undefined;
  return { run, ended: status, ...(message !== undefined && { message }) };
}
