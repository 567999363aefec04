import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { isPodLive, isPodReady, type Pod } from '../../../runtime/contracts/pod.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { findCondition, setCondition } from '../../../runtime/kube/conditions.ts';
import type { ControllerDefinition } from '../../../runtime/kube/controller.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../../runtime/kube/status.ts';
import { timestamp, type BatchJob } from './objects.ts';
import { childrenOf, controlled, podOf, randomSuffix, remove } from './pods.ts';

/** Wait before the try after the n-th failure. */
const retry = { baseMs: 10_000, maxMs: 360_000 };

type Status = NonNullable<BatchJob['status']>;

/** Whether a Job has ended, and how. */
export function endOf({ status }: BatchJob): 'Complete' | 'Failed' | undefined {
  return (['Complete', 'Failed'] as const).find((type) => findCondition(status?.conditions, type)?.status === 'True');
}

/** Runs a Job's pods to their end: `completions` of them, `parallelism` at a time, `backoffLimit` failures at most. */
export function jobController(
  kube: KubeClient,
  clock: Clock,
  options: { retry?: { baseMs: number; maxMs: number } } = {},
): ControllerDefinition<BatchJob> {
  const { baseMs, maxMs } = options.retry ?? retry;

  const end = async (job: Stored<BatchJob>, status: Status, type: 'Complete' | 'Failed', why: [string, string]) => {
    const now = clock.now();
    const [reason, message] = why;
    const conditions = setCondition(status.conditions, { type, status: 'True', reason, message }, now);
    const { active: _active, ready: _ready, ...rest } = status;
    const completionTime = type === 'Complete' ? { completionTime: timestamp(now) } : {};
    await writeStatus(kube, job, { ...rest, ...completionTime, conditions });
  };

  /** Ms until a Job that ended is removed; it is when that is over. */
  const clean = async (job: Stored<BatchJob>): Promise<number | undefined> => {
    const ttl = job.spec.ttlSecondsAfterFinished;
    if (ttl === undefined) return undefined;
    const ended = job.status?.conditions?.find(({ type }) => type === 'Complete' || type === 'Failed');
    const left = Date.parse(ended?.lastTransitionTime ?? '') + ttl * 1000 - clock.now().getTime();
    if (left > 0) return left;
    await remove(kube, job);
    return undefined;
  };

  /** Ms until the next try is due after failures; the last one's end is what counts. */
  const backOff = (failed: readonly Pod[]): number => {
    if (failed.length === 0) return 0;
    const last = Math.max(...failed.map(endedAt));
    return last + Math.min(maxMs, baseMs * 2 ** (failed.length - 1)) - clock.now().getTime();
  };

  return {
    name: 'job',
    kind: kinds.BatchJob,
    watches: [childrenOf(kinds.Pod, kinds.BatchJob)],
    async reconcile({ object: job }) {
      if (!job || job.metadata.deletionTimestamp !== undefined) return {};
      if (endOf(job)) {
        const left = await clean(job);
        return left === undefined ? {} : { requeueAfterMs: left };
      }
      const { spec } = job;
      const pods = await controlled<Pod>(kube, kinds.Pod, job);
      const live = pods.filter(isPodLive);
      const failed = pods.filter(({ status }) => status?.phase === 'Failed');
      const succeeded = pods.filter(({ status }) => status?.phase === 'Succeeded').length;
      const { completions = 1, parallelism = 1, backoffLimit = 6, suspend = false } = spec;
      const startTime = job.status?.startTime ?? (suspend ? undefined : timestamp(clock.now()));
      const status: Status = {
        ...job.status,
        ...(startTime !== undefined && { startTime }),
        active: live.length,
        ready: live.filter(isPodReady).length,
        // A pod that somebody deleted has still ended.
        succeeded: Math.max(succeeded, job.status?.succeeded ?? 0),
        failed: Math.max(failed.length, job.status?.failed ?? 0),
      };
      if ((status.succeeded ?? 0) >= completions) {
        await end(job, status, 'Complete', ['CompletionsReached', 'Reached expected number of succeeded pods']);
        return {};
      }
      const deadline = deadlineOf(job, startTime);
      const fault = faultOf(status, backoffLimit, deadline !== undefined && clock.now().getTime() >= deadline);
      if (fault || suspend) {
        for (const pod of live) await remove(kube, pod);
        if (fault) await end(job, { ...status, failed: (status.failed ?? 0) + live.length }, 'Failed', fault);
        else await writeStatus(kube, job, status);
        return {};
      }
      const wait = backOff(failed);
      const missing = Math.min(parallelism, completions - (status.succeeded ?? 0)) - live.length;
      const due = wait > 0 ? 0 : missing;
      for (let n = 0; n < due; n++) await kube.create(jobPod(job));
      for (const pod of live.slice(0, Math.max(0, -missing))) await remove(kube, pod);
      await writeStatus(kube, job, status);
      const times = [
        deadline === undefined ? undefined : deadline - clock.now().getTime(),
        wait > 0 ? wait : undefined,
      ];
      const next = times.filter((ms) => ms !== undefined);
      return next.length > 0 ? { requeueAfterMs: Math.max(0, Math.min(...next)) + 50 } : {};
    },
  };
}

function jobPod(job: Stored<BatchJob>): Pod {
  const { name, uid } = job.metadata;
  const pod = podOf(job, job.spec.template, `${name}-${randomSuffix()}`);
  const labels = {
    ...pod.metadata.labels,
    'batch.kubernetes.io/job-name': name,
    'batch.kubernetes.io/controller-uid': uid,
    'job-name': name,
    'controller-uid': uid,
  };
  return { ...pod, metadata: { ...pod.metadata, labels } };
}

function deadlineOf({ spec }: BatchJob, startTime: string | undefined): number | undefined {
  if (spec.activeDeadlineSeconds === undefined || startTime === undefined) return undefined;
  return Date.parse(startTime) + spec.activeDeadlineSeconds * 1000;
}

function faultOf(status: Status, backoffLimit: number, late: boolean): [string, string] | undefined {
  if (late) return ['DeadlineExceeded', 'Job was active longer than specified deadline'];
  if ((status.failed ?? 0) <= backoffLimit) return undefined;
  return ['BackoffLimitExceeded', 'Job has reached the specified backoff limit'];
}

/** When the last container of a pod ended, in ms. */
function endedAt({ status, metadata }: Pod): number {
  const ends = (status?.containerStatuses ?? []).map(({ state }) => Date.parse(state?.terminated?.finishedAt ?? ''));
  return Math.max(...ends.filter(Number.isFinite), Date.parse(metadata.creationTimestamp ?? '') || 0);
}
