import type { BatchJob } from '../../infra/manifests/batch.ts';
import { jobSchedule, runJob, type RunEnvironment } from '../../infra/manifests/job.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import type { JobResource } from '../../runtime/contracts/resources/job.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import { checkImageProject } from '../../runtime/domain/built-image.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { appLabel, idLabel, kindLabel, roleLabel, workloadFinalizer } from '../../runtime/domain/labels.ts';
import { deleteChild, ensureChild, NotYetError, ownerOf, refOf } from '../../runtime/kube/children.ts';
import { releaseName } from '../../runtime/kube/claims.ts';
import { keyOf, type ControllerDefinition, type Key } from '../../runtime/kube/controller.ts';
import type { EventRecorder } from '../../runtime/kube/events.ts';
import { removeFinalizer } from '../../runtime/kube/finalizers.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../runtime/kube/status.ts';
import { checkClaims } from '../../runtime/kube/volume-claims.ts';
import type { WorkloadProjection } from '../../runtime/records/workloads.ts';
import { createOnly, endOf } from './batch-run.ts';
import { handOverBindings, type BindingRecords } from './bindings.ts';
import { collectEnvironments, createScheduleChanges } from './environment-secrets.ts';
import { ensureRunEnvironment, type RunWait } from './job-environment.ts';
import { pastRuns } from './run-history.ts';
import { observedStatus } from './job-status.ts';
import { createFailureReporter } from './reconcile-failure.ts';
import { ensureIdentity, holdClaims, identityOf, type WorkloadIdentity } from './workload.ts';

/** Retry without the installation's settings. A change of the settings also enqueues every job. */
const configRetryMs = 5_000;

/** Timers cannot wait as long as the longest retention. */
const lookAgainMs = 3_600_000;

/** How the next runs start. */
interface Start {
  environment: RunEnvironment;
  wait: RunWait | undefined;
}

export interface JobControllerOptions {
  kube: KubeClient;
  /** The active settings; undefined before there are any. */
  platformConfig: () => PlatformConfigSpec | undefined;
  /** Writes to PostgreSQL. Every call is idempotent. */
  records: BindingRecords & {
    project(workload: WorkloadProjection): Promise<void>;
    markDeleted(id: Id): Promise<void>;
  };
  events: Pick<EventRecorder, 'record'>;
  clock: Clock;
}

/**
 * Reconciles a Job: claims its name, updates its CronJob, starts each requested run exactly once, deletes ended ones
 * beyond the limits, and reports them. While a binding is not ready, requests wait and the CronJob is suspended, which
 * starts a run that is due meanwhile as soon as it is resumed (decision 0045). A request stays in `spec.runRequests` until its batch Job, whose name derives
 * from the request, exists and is reported. Only this controller deletes such a batch Job, and never before the request
 * is removed; so a crash neither repeats nor loses a run (decision 0007).
 */
export function jobController(options: JobControllerOptions): ControllerDefinition<JobResource> {
  const { kube, platformConfig, records, clock } = options;
  const reportFailure = createFailureReporter(options);
  const changes = createScheduleChanges();

  const reconcileObject = async (object: Stored<JobResource>, { builds }: PlatformConfigSpec) => {
    const { workload, identity } = await ensureIdentity(kube, object);
    checkImageProject(workload.spec.image, identity, builds);
    await checkClaims(kube, identity.namespace, workload.spec.volumes);
    await holdClaims(kube, workload);
    await records.project({ ...identity, kind: 'Job', gated: false });
    await handOverBindings(kube, records, workload, identity);
    const { job, ...start } = await ensureRunEnvironment(kube, workload);
    await ensureSchedule(job, identity, start);
    if (!start.wait) {
      for (const request of job.spec.runRequests ?? []) {
        await ensureChild(kube, job, runJob(identity, job.spec, start.environment, request), createOnly);
      }
    }
    return report(job, identity, start);
  };

  const report = async (job: Stored<JobResource>, identity: WorkloadIdentity, { environment, wait }: Start) => {
    const { runs, pods } = await observe(identity);
    const now = clock.now();
    const { runRequests = [], ...spec } = job.spec;
    if (runRequests.length > 0) {
      // In this order, a run is always in the requests or in the status. The change causes the next reconcile, as does
      // the report of a binding for which the requests wait.
      const reported = await writeStatus<JobResource>(kube, job, observedStatus({ job, runs, pods, wait, now }));
      if (!wait) await kube.replace({ ...reported, spec });
      return undefined;
    }
    const { past, nextInMs } = pastRuns(job, job.spec, runs, now);
    for (const run of past) await deleteChild(kube, job, refOf(run));
    const remaining = runs.filter((run) => !past.includes(run));
    const status = observedStatus({ job, runs: remaining, pods, wait, now });
    const reported = await writeStatus<JobResource>(kube, job, status);
    const settledInMs = wait ? undefined : changes.unsettledMs(reported, environment.envSecret, now);
    if (!wait && settledInMs === undefined) {
      await collectEnvironments(
        kube,
        reported,
        environment.envSecret,
        remaining.filter((run) => !endOf(run)),
      );
    }
    const waits = [nextInMs, settledInMs].filter((ms) => ms !== undefined);
    return waits.length === 0 ? undefined : { requeueAfterMs: Math.min(...waits, lookAgainMs) };
  };

  const ensureSchedule = async (
    job: Stored<JobResource>,
    identity: WorkloadIdentity,
    { environment, wait }: Start,
  ): Promise<void> => {
    const { schedule } = job.spec;
    if (schedule === undefined) {
      await deleteChild(kube, job, scheduleRef(identity));
      return;
    }
    const spec = { ...job.spec, schedule, suspended: job.spec.suspended || wait !== undefined };
    await ensureChild(kube, job, jobSchedule(identity, spec, environment));
  };

  const observe = async ({ id, namespace }: WorkloadIdentity) => {
    const selection = { namespace, labelSelector: `${idLabel}=${id}` };
    const [runs, pods] = await Promise.all([
      kube.list<BatchJob>(kinds.BatchJob, selection),
      kube.list<Pod>(kinds.Pod, selection),
    ]);
    return { runs: runs.items, pods: pods.items };
  };

  /** Deletes the CronJob first, so that no new runs are created; active runs are stopped. */
  const finalize = async (job: Stored<JobResource>): Promise<void> => {
    const identity = identityOf(job);
    if (identity) {
      const scheduleGone = await deleteChild(kube, job, scheduleRef(identity));
      const { runs } = await observe(identity);
      let runsGone = true;
      for (const run of runs) {
        // The schedule's runs are deleted with it.
        if (ownerOf(run)?.uid === job.metadata.uid) runsGone = (await deleteChild(kube, job, refOf(run))) && runsGone;
      }
      if (!scheduleGone || !runsGone) throw new NotYetError('objects of the job are still being deleted');
      // Deletes the job's users from services; databases are kept.
      if (job.spec.bindings || job.status?.bindings) await records.projectBindings(identity.id, []);
      await records.markDeleted(identity.id);
      await releaseName(kube, job);
    }
    changes.forget(job);
    await removeFinalizer(kube, job, workloadFinalizer);
  };

  return {
    name: 'Job',
    kind: kinds.Job,
    owns: [kinds.CronJob],
    watches: [
      // The schedule's runs are owned by the CronJob, and a run's pods by the run.
      { kind: kinds.BatchJob, selection: { labelSelector: `${kindLabel}=Job` }, keysOf: workloadKey },
      { kind: kinds.Pod, selection: { labelSelector: `${kindLabel}=Job,${roleLabel}` }, keysOf: workloadKey },
      // A job may wait for a name that is released.
      { kind: kinds.WorkloadName, ignoreAdded: true, keysOf: ({ metadata }) => [keyOf(metadata)] },
    ],
    async reconcile({ object: job }) {
      if (!job) return undefined;
      if (job.metadata.deletionTimestamp !== undefined) return finalize(job);
      const config = platformConfig();
      if (!config) return { requeueAfterMs: configRetryMs };
      try {
        return await reconcileObject(job, config);
      } catch (error) {
        await reportFailure(kinds.Job, job, error);
        throw error;
      }
    },
  };
}

function scheduleRef({ name, namespace }: WorkloadIdentity) {
  const { apiVersion, kind } = kinds.CronJob;
  return refOf({ apiVersion, kind, metadata: { name, namespace } });
}

function workloadKey({ metadata: { labels, namespace } }: Stored<KubeObject>): Key[] {
  const name = labels?.[appLabel];
  return name === undefined || namespace === undefined ? [] : [{ name, namespace }];
}
