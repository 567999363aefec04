import type { BatchJob } from '../../infra/manifests/batch.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { ownerOf } from '../../runtime/kube/children.ts';
import { endOf } from './batch-run.ts';

/** Ended runs are kept for at least this long, so that clients that wait for a run see its end. */
const shownMs = 60_000;

/** How many ended runs are kept, of those that succeeded and of those that failed, and how long. */
export interface RunLimits {
  historyLimit: number;
  retentionSeconds: number;
}

/**
 * The ended runs to delete: succeeded and failed ones beyond the limits, and those past their retention. Only requested
 * runs; the CronJob deletes those of the schedule. Pure.
 * @returns also the milliseconds until the next check
 */
export function pastRuns(
  workload: Stored<KubeObject>,
  { historyLimit, retentionSeconds }: RunLimits,
  runs: readonly Stored<BatchJob>[],
  now: Date,
): { past: Stored<BatchJob>[]; nextInMs: number | undefined } {
  const ended = runs
    .filter((run) => ownerOf(run)?.uid === workload.metadata.uid)
    .flatMap((run) => {
      const end = endOf(run);
      return end ? [{ run, ...end }] : [];
    })
    .sort((a, b) => b.at.localeCompare(a.at) || b.run.metadata.name.localeCompare(a.run.metadata.name));
  const due = (['succeeded', 'failed'] as const).flatMap((state) =>
    ended
      .filter((run) => run.state === state)
      .map(({ run, at }, index) => {
        const keptMs = index < historyLimit ? retentionSeconds * 1000 : shownMs;
        return { run, inMs: Date.parse(at) + keptMs - now.getTime() };
      }),
  );
  const waits = due.filter(({ inMs }) => inMs > 0).map(({ inMs }) => inMs);
  return {
    past: due.filter(({ inMs }) => inMs <= 0).map(({ run }) => run),
    nextInMs: waits.length === 0 ? undefined : Math.min(...waits),
  };
}
