import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { isPodLive, isPodReady, type Pod } from '../../../runtime/contracts/pod.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { setCondition } from '../../../runtime/kube/conditions.ts';
import type { ControllerDefinition } from '../../../runtime/kube/controller.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../../runtime/kube/status.ts';
import { timestamp, type BatchJob } from './objects.ts';
import { childrenOf, listControlled, podOf, randomSuffix, remove } from './pods.ts';

/** Wait after the first failure, doubling up to `maxMs`. */
const defaultRetry = { baseMs: 10_000, maxMs: 360_000 };

type Status = NonNullable<BatchJob['status']>;
type End = { type: 'Complete' | 'Failed'; reason: string; message: string };

/** The condition with which a Job ended; undefined while it runs. */
export function finishedCondition({ status }: BatchJob): { type: string; lastTransitionTime: string } | undefined {
  return status?.conditions?.find(
    ({ type, status: holds }) => ['Complete', 'Failed'].includes(type) && holds === 'True',
  );
}

/** Runs a Job's pod to completion, and a new pod after each failure, up to `backoffLimit`. */
export function jobController(kube: KubeClient, clock: Clock, retry = defaultRetry): ControllerDefinition<BatchJob> {
  const msUntil = (time: number) => time - clock.now().getTime();

  const end = async (job: Stored<BatchJob>, status: Status, { type, reason, message }: End) => {
    const now = clock.now();
    const conditions = setCondition(status.conditions, { type, status: 'True', reason, message }, now);
    const { active: _active, ready: _ready, ...rest } = status;
    const completionTime = type === 'Complete' ? { completionTime: timestamp(now) } : {};
    await writeStatus(kube, job, { ...rest, ...completionTime, conditions });
  };

  /** Deletes a finished Job when its time to live is over. */
  const clean = async (job: Stored<BatchJob>, endedAt: string) => {
    const ttl = job.spec.ttlSecondsAfterFinished;
    if (ttl === undefined) return {};
    const remaining = msUntil(Date.parse(endedAt) + ttl * 1000);
    if (remaining <= 0) await remove(kube, job);
    return remaining > 0 ? { requeueAfterMs: remaining } : {};
  };

  return {
    name: 'job',
    kind: kinds.BatchJob,
    watches: [childrenOf(kinds.Pod, kinds.BatchJob)],
    async reconcile({ object: job }) {
      if (!job || job.metadata.deletionTimestamp !== undefined) return {};
      const ended = finishedCondition(job);
      if (ended) return clean(job, ended.lastTransitionTime);
      const { backoffLimit = 6, activeDeadlineSeconds = Infinity } = job.spec;
      const pods = await listControlled<Pod>(kube, kinds.Pod, job);
      const live = pods.filter(isPodLive);
      const failed = pods.filter(({ status }) => status?.phase === 'Failed');
      const startTime = job.status?.startTime ?? timestamp(clock.now());
      const status = {
        ...job.status,
        startTime,
        active: live.length,
        ready: live.filter(isPodReady).length,
        succeeded: pods.filter(({ status }) => status?.phase === 'Succeeded').length,
        // Deleted pods still count as failed.
        failed: Math.max(failed.length, job.status?.failed ?? 0),
      };
      if (status.succeeded > 0) {
        const message = 'Reached expected number of succeeded pods';
        await end(job, status, { type: 'Complete', reason: 'CompletionsReached', message });
        return {};
      }
      const remainingMs = msUntil(Date.parse(startTime) + activeDeadlineSeconds * 1000);
      const failure = failureOf(remainingMs <= 0, status.failed > backoffLimit);
      if (failure) {
        for (const pod of live) await remove(kube, pod);
        await end(job, { ...status, failed: status.failed + live.length }, failure);
        return {};
      }
      const wait = Math.min(retry.maxMs, retry.baseMs * 2 ** (failed.length - 1));
      const pause = failed.length === 0 ? 0 : msUntil(Math.max(...failed.map(endedAt)) + wait);
      if (live.length === 0 && pause <= 0) await kube.create(jobPod(job));
      await writeStatus(kube, job, status);
      const next = Math.min(remainingMs, pause > 0 ? pause : Infinity);
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

function failureOf(late: boolean, tooMany: boolean): End | undefined {
  const type = 'Failed';
  if (late) return { type, reason: 'DeadlineExceeded', message: 'Job was active longer than specified deadline' };
  if (!tooMany) return undefined;
  return { type, reason: 'BackoffLimitExceeded', message: 'Job has reached the specified backoff limit' };
}

/** When the last container of a pod ended, in ms since 1970. */
function endedAt({ status, metadata }: Pod): number {
  const ends = (status?.containerStatuses ?? []).map(({ state }) => Date.parse(state?.terminated?.finishedAt ?? ''));
  return Math.max(...ends.filter(Number.isFinite), Date.parse(metadata.creationTimestamp ?? '') || 0);
}
