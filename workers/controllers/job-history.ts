import type { BatchJob } from '../../infra/manifests/batch.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { JobResource } from '../../runtime/contracts/resources/job.ts';
import { ownerOf } from '../../runtime/kube/children.ts';
import { endOf } from './batch-run.ts';

/** An ended run stays for so long at least: whoever waits for its end gets to see it. */
const shownMs = 60_000;

/**
 * Which ended runs are to go: those past the job's limit, of the succeeded and of the failed each, and those past their
 * time. Of the runs that were asked for; the schedule's own are the CronJob's. Pure.
 * @returns also in how many ms to look again
 */
export function pastRuns(
  job: Stored<JobResource>,
  runs: readonly Stored<BatchJob>[],
  now: Date,
): { past: Stored<BatchJob>[]; nextInMs: number | undefined } {
  const { historyLimit, retentionSeconds } = job.spec;
  const ended = runs
    .filter((run) => ownerOf(run)?.uid === job.metadata.uid)
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
