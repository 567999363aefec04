import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { isPodLive, isPodReady, type Pod } from '../../../runtime/contracts/pod.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { setCondition } from '../../../runtime/kube/conditions.ts';
import type { ControllerDefinition } from '../../../runtime/kube/controller.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../../runtime/kube/status.ts';
import { timestamp, type BatchJob } from './objects.ts';
import { childrenOf, controlled, podOf, randomSuffix, remove } from './pods.ts';

/** Wait before the try after the n-th failure. */
const defaultRetry = { baseMs: 10_000, maxMs: 360_000 };

type Status = NonNullable<BatchJob['status']>;
type End = { type: 'Complete' | 'Failed'; reason: string; message: string };

/** How a Job has ended, and when; undefined while it has not. */
export function endOf({ status }: BatchJob): { type: string; lastTransitionTime: string } | undefined {
  return status?.conditions?.find(
    ({ type, status: holds }) => ['Complete', 'Failed'].includes(type) && holds === 'True',
  );
}

/** Runs one pod of a Job to its end, and another one after each failure, up to `backoffLimit`. */
export function jobController(kube: KubeClient, clock: Clock, retry = defaultRetry): ControllerDefinition<BatchJob> {
  const msUntil = (time: number) => time - clock.now().getTime();

  const end = async (job: Stored<BatchJob>, status: Status, { type, reason, message }: End) => {
    const now = clock.now();
    const conditions = setCondition(status.conditions, { type, status: 'True', reason, message }, now);
    const { active: _active, ready: _ready, ...rest } = status;
    const completionTime = type === 'Complete' ? { completionTime: timestamp(now) } : {};
    await writeStatus(kube, job, { ...rest, ...completionTime, conditions });
  };

  /** Removes a Job that ended when its time to live is over. */
  const clean = async (job: Stored<BatchJob>, endedAt: string) => {
    const ttl = job.spec.ttlSecondsAfterFinished;
    if (ttl === undefined) return {};
    const left = msUntil(Date.parse(endedAt) + ttl * 1000);
    if (left <= 0) await remove(kube, job);
    return left > 0 ? { requeueAfterMs: left } : {};
  };

  return {
    name: 'job',
    kind: kinds.BatchJob,
    watches: [childrenOf(kinds.Pod, kinds.BatchJob)],
    async reconcile({ object: job }) {
      if (!job || job.metadata.deletionTimestamp !== undefined) return {};
      const ended = endOf(job);
      if (ended) return clean(job, ended.lastTransitionTime);
      const { backoffLimit = 6, activeDeadlineSeconds = Infinity } = job.spec;
      const pods = await controlled<Pod>(kube, kinds.Pod, job);
      const live = pods.filter(isPodLive);
      const failed = pods.filter(({ status }) => status?.phase === 'Failed');
      const startTime = job.status?.startTime ?? timestamp(clock.now());
      const status = {
        ...job.status,
        startTime,
        active: live.length,
        ready: live.filter(isPodReady).length,
        succeeded: pods.filter(({ status }) => status?.phase === 'Succeeded').length,
        // A pod that somebody deleted has still ended.
        failed: Math.max(failed.length, job.status?.failed ?? 0),
      };
      if (status.succeeded > 0) {
        const message = 'Reached expected number of succeeded pods';
        await end(job, status, { type: 'Complete', reason: 'CompletionsReached', message });
        return {};
      }
      const left = msUntil(Date.parse(startTime) + activeDeadlineSeconds * 1000);
      const fault = faultOf(left <= 0, status.failed > backoffLimit);
      if (fault) {
        for (const pod of live) await remove(kube, pod);
        await end(job, { ...status, failed: status.failed + live.length }, fault);
        return {};
      }
      const wait = Math.min(retry.maxMs, retry.baseMs * 2 ** (failed.length - 1));
      const pause = failed.length === 0 ? 0 : msUntil(Math.max(...failed.map(endedAt)) + wait);
      if (live.length === 0 && pause <= 0) await kube.create(jobPod(job));
      await writeStatus(kube, job, status);
      const next = Math.min(left, pause > 0 ? pause : Infinity);
      return next === Infinity ? {} : { requeueAfterMs: next + 50 };
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

function faultOf(late: boolean, tooMany: boolean): End | undefined {
  const type = 'Failed';
  if (late) return { type, reason: 'DeadlineExceeded', message: 'Job was active longer than specified deadline' };
  if (!tooMany) return undefined;
  return { type, reason: 'BackoffLimitExceeded', message: 'Job has reached the specified backoff limit' };
}

/** When the last container of a pod ended, in ms. */
function endedAt({ status, metadata }: Pod): number {
  const ends = (status?.containerStatuses ?? []).map(({ state }) => Date.parse(state?.terminated?.finishedAt ?? ''));
  return Math.max(...ends.filter(Number.isFinite), Date.parse(metadata.creationTimestamp ?? '') || 0);
}
