import { tailOf } from '../contracts/api/logs.ts';
import type { RunLogsQuery, RunMark } from '../contracts/api/runs.ts';
import type { Clock } from '../domain/clock.ts';
import { idLabel, runLabel } from '../domain/labels.ts';
import type { Id } from '../domain/ids.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { readPodLogs } from '../workloads/pod-logs.ts';
import { streamReply } from './log-reply.ts';
import { followLogLines, type LogLine } from './pod-log-lines.ts';
import type { RunView } from './run-views.ts';

/** The run whose log a request reads. */
export interface RunLogSource {
  namespace: string;
  workloadId: Id;
  run: string;
  container: string;
  /** Reads the run; undefined once it was removed. */
  findRun: () => Promise<Pick<RunView<string>, 'status' | 'message'> | undefined>;
}

/**
 * The log of each of a run's attempts. With `follow`, a stream of JSON lines until the run has ended: a mark, each line of
 * the log, and a mark with the outcome. A stream without the last mark was cut.
 */
export async function runLogReply(
  { kube, clock }: { kube: Pick<KubeClient, 'list' | 'stream'>; clock: Clock },
  { namespace, workloadId, run, container, findRun }: RunLogSource,
  { query, signal }: { query: RunLogsQuery; signal: AbortSignal },
) {
  const labelSelector = `${idLabel}=${workloadId},${runLabel}=${run}`;
  const source = { namespace, labelSelector, container };
  const tail = tailOf(query);
  if (!query.follow) return { status: 200 as const, body: { run, pods: await readPodLogs(kube, source, tail) } };
  const since = query.sinceTime === undefined ? undefined : new Date(query.sinceTime);
  return streamReply(clock, signal, async function* (stop): AsyncGenerator<LogLine | RunMark> {
    let end: RunMark | undefined;
    const hasEnded = async () => {
      end = endMark(run, await findRun());
      return end !== undefined;
    };
    yield { run };
    yield* followLogLines(kube, source, { tail, since }, { clock, signal: stop, hasEnded });
    if (end && !stop.aborted) yield end;
  });
}

/** The last mark; undefined while the run is active. */
function endMark(run: string, current: Awaited<ReturnType<RunLogSource['findRun']>>): RunMark | undefined {
  if (!current) return { run, ended: 'removed' };
  const { status, message } = current;
  if (status !== 'succeeded' && status !== 'failed') return undefined;
  return { run, ended: status, ...(message !== undefined && { message }) };
}
