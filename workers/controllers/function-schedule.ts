import type { BatchJob } from '../../infra/manifests/batch.ts';
import {
  functionSchedule,
  testRun,
  testRunTtlSeconds,
  type ScheduledFunction,
} from '../../infra/manifests/function-run.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { idLabel, kindLabel, managedLabels, roleLabel } from '../../runtime/domain/labels.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { deleteChild, ensureChild, ownerOf, refOf } from '../../runtime/kube/children.ts';
import { releaseOtherHosts } from '../../runtime/kube/claims.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../runtime/kube/status.ts';
import { createOnly, endOf } from './batch-run.ts';
import { collectEnvironments, createScheduleChanges, staleScheduleMs } from './environment-secrets.ts';
import { noneSeen, refIn } from './function-child.ts';
import { collectCode, runWithOf } from './function-code.ts';

import { scheduleStatus } from './function-status.ts';
import type { WorkloadIdentity } from './workload.ts';

/** The objects of a cron function: a CronJob, its runs, and requested test runs. */
export function createSchedule({ kube, clock }: { kube: KubeClient; clock: Clock }) {
  const observe = async ({ id, namespace }: WorkloadIdentity) => {
    const selection = { namespace, labelSelector: `${idLabel}=${id},${roleLabel}` };
    const [runs, pods] = await Promise.all([
      kube.list<BatchJob>(kinds.BatchJob, selection),
      kube.list<Pod>(kinds.Pod, selection),
    ]);
    return { runs: runs.items, pods: pods.items };
  };

  /** Lets the cluster delete an ended test run that is no longer requested. */
  const letGo = async (run: Stored<BatchJob>): Promise<void> => {
    if (run.metadata.labels?.[roleLabel] !== 'test' || run.spec['ttlSecondsAfterFinished'] !== undefined) return;
    const { uid } = run.metadata;
    await kube.mergePatch(refOf(run), { metadata: { uid }, spec: { ttlSecondsAfterFinished: testRunTtlSeconds } });
  };

  const changes = createScheduleChanges();

  return {
    /** @returns milliseconds until the next check */
    async ensure(
      resource: Stored<FunctionResource>,
      identity: WorkloadIdentity,
      { config, envSecret }: { config: PlatformConfigSpec; envSecret: string | undefined },
    ): Promise<number | undefined> {
      const scheduled = scheduledSpec(resource);
      const runWith = { ...runWithOf(config, resource), envSecret };
      await ensureChild(kube, resource, functionSchedule(identity, scheduled, runWith), { cached: true });
      const { runRequests = [], ...spec } = resource.spec;
      for (const request of runRequests) {
        await ensureChild(kube, resource, testRun(identity, scheduled, runWith, request), createOnly);
      }
      const { runs, pods } = await observe(identity);
      const now = clock.now();
      const reported = await writeStatus<FunctionResource>(
        kube,
        resource,
        scheduleStatus({ resource, runs, pods, now }),
      );
      if (runRequests.length > 0) {
        // In this order, a run is always in the requests or in the status. The change causes the next reconcile.
        await kube.replace({ ...reported, spec });
        return undefined;
      }
      for (const run of runs) await letGo(run);
      await releaseOtherHosts(kube, identity.id, [], now);
      const templates = runs.filter((run) => !endOf(run));
      const codeInMs = await collectCode(kube, resource, identity, {
        image: runWith.image,
        templates,
        retention: { now, ms: staleScheduleMs },
      });
      const environmentInMs = changes.unsettledMs(reported, envSecret, now);
      if (environmentInMs === undefined) await collectEnvironments(kube, reported, envSecret, templates);
      const [soonest] = [codeInMs, environmentInMs].filter((ms) => ms !== undefined).sort((a, b) => a - b);
      return soonest;
    },

    /** Whether there may be objects to delete. A status with runs is that of a cron function. */
    mayExist(resource: Stored<FunctionResource>, identity: WorkloadIdentity): boolean {
      if (resource.status?.runs !== undefined) return true;
      return !(
        noneSeen(kube, kinds.CronJob, identity, managedLabels()) &&
        noneSeen(kube, kinds.BatchJob, identity, { [kindLabel]: 'Function' })
      );
    },

    /**
     * Deletes the CronJob before its runs, so that no new ones are created; active runs are stopped.
     * @returns whether all of it is deleted
     */
    async remove(resource: Stored<FunctionResource>, identity: WorkloadIdentity): Promise<boolean> {
      const { name, namespace } = identity;
      changes.forget(resource);
      const scheduleGone = await deleteChild(kube, resource, refIn(namespace, kinds.CronJob, name));
      const { runs } = await observe(identity);
      let runsGone = true;
      for (const run of runs) {
        // The schedule's runs are deleted with it.
        if (ownerOf(run)?.uid === resource.metadata.uid) {
          runsGone = (await deleteChild(kube, resource, refOf(run))) && runsGone;
        }
      }
      return scheduleGone && runsGone;
    },
  };
}

function scheduledSpec({ spec }: FunctionResource): ScheduledFunction {
  const { schedule } = spec;
  if (schedule === undefined) throw new Problem('invalid_value', 'A function with the trigger cron needs a schedule.');
  return { ...spec, schedule };
}
