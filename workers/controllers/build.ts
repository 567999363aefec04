import type { BatchJob } from '../../infra/manifests/batch.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import type { Build, BuildStatus } from '../../runtime/contracts/resources/build.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { buildNamespace, managedLabels, roleLabel, runLabel, workloadFinalizer } from '../../runtime/domain/labels.ts';
import { deleteChild, NotYetError, readChild, refOf } from '../../runtime/kube/children.ts';
import {
  childrenAdoptedState,
  findCondition,
  mergeConditions,
  type ConditionState,
} from '../../runtime/kube/conditions.ts';
import type { ControllerDefinition, Key } from '../../runtime/kube/controller.ts';
import type { EventRecorder } from '../../runtime/kube/events.ts';
import { ensureMarks, removeFinalizer } from '../../runtime/kube/finalizers.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../runtime/kube/status.ts';
import { runProgress } from './batch-run.ts';
import {
  beginBuild,
  dropCredentials,
  failureOf,
  resultOf,
  timeOutOf,
  type BuildConfig,
  type BuildRecords,
} from './build-run.ts';
import { createFailureReporter } from './reconcile-failure.ts';
import { ensureIdentity } from './workload.ts';

/** Whether the build has made its image; `Unknown` until it ends, and final after that. */
const succeeded = 'Succeeded';
const reasons = { pending: 'Pending', running: 'Running', succeeded: 'Succeeded', failed: 'Failed' } as const;

type BuildProgress = { phase: keyof typeof reasons } & Omit<BuildStatus, 'phase' | 'conditions' | 'observedGeneration'>;

export interface BuildControllerOptions {
  kube: KubeClient;
  records: BuildRecords;
  /** The active settings; undefined before there are any. */
  platformConfig: () => BuildConfig | undefined;
  events: Pick<EventRecorder, 'record'>;
  clock: Clock;
}

/**
 * Creates the batch Job of a Build in the namespace of builds, and reports its progress. For a Build in an environment,
 * an external builder creates the Job, with the Build's name and an owner reference to it. A reported end stays, whatever
 * happens to the Job. Deleting a Build deletes its batch Job first.
 */
export function buildController(options: BuildControllerOptions): ControllerDefinition<Build> {
  const { kube, platformConfig, events, clock } = options;
  const reportFailure = createFailureReporter(options);

  const reconcileObject = async (object: Stored<Build>): Promise<void> => {
    const own = object.metadata.namespace === buildNamespace;
    const build = own
      ? await ensureMarks(kube, object, workloadFinalizer, managedLabels())
      : (await ensureIdentity(kube, object)).workload;
    if (own && !endOfBuild(build)) await beginBuild(options, build, platformConfig());
    const progress = endOfBuild(build) ?? (await observe(build));
    const { generation } = build.metadata;
    const states = [childrenAdoptedState(generation), succeededState(progress, generation)];
    const after = await writeStatus<Build>(kube, build, {
      ...(generation !== undefined && { observedGeneration: generation }),
      ...progress,
      conditions: mergeConditions(build.status?.conditions, states, clock.now()),
    });
    if (progress.phase === 'failed' && !endOfBuild(build)) {
      await events.record(after, { type: 'Warning', reason: 'BuildFailed', message: progress.message ?? '' });
    }
  };

  const observe = async (build: Stored<Build>): Promise<BuildProgress> => {
    const { name, namespace = '' } = build.metadata;
    const run = await readChild<BatchJob>(kube, build, jobRef(build));
    if (!run) return withoutRun(build, clock.now());
    const { items } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector: `${runLabel}=${name}` });
    const { state, ...rest } = runProgress(run, items);
    if (namespace !== buildNamespace) return { phase: state, ...rest };
    await dropCredentials(kube, build, items);
    if (state === 'failed') {
      const message = timeOutOf(run) ?? failureOf(items) ?? rest.message;
      return { phase: state, ...rest, ...(message !== undefined && { message }) };
    }
    if (state !== 'succeeded') return { phase: state, ...rest };
    const result = resultOf(items);
    if (result) return { phase: state, ...rest, ...result };
    return { phase: 'failed', ...rest, message: 'The build ended without reporting an image. Deploy again.' };
  };

  const finalize = async (build: Stored<Build>): Promise<void> => {
    const deleted = await deleteChild(kube, build, jobRef(build));
    if (!deleted) throw new NotYetError('the job of the build is still being deleted');
    await removeFinalizer(kube, build, workloadFinalizer);
  };

  return {
    name: 'Build',
    kind: kinds.Build,
    owns: [kinds.BatchJob],
    watches: [
      // The pod's owner is the batch Job.
      { kind: kinds.Pod, selection: { labelSelector: `${roleLabel}=build` }, keysOf: buildOf },
    ],
    async reconcile({ object: build }) {
      if (!build) return;
      if (build.metadata.deletionTimestamp !== undefined) return finalize(build);
      try {
        await reconcileObject(build);
      } catch (error) {
        await reportFailure(kinds.Build, build, error);
        throw error;
      }
    },
  };
}

/** The reported end; undefined before it. */
function endOfBuild({ status }: Stored<Build>): BuildProgress | undefined {
  const end = findCondition(status?.conditions, succeeded);
  if (!end || end.status === 'Unknown') return undefined;
  const { startedAt, endedAt, image, digest, sizeBytes, commit, commitMessage, commitAuthor } = status ?? {};
  return {
    ...(image !== undefined && { image }),
    ...(digest !== undefined && { digest }),
    ...(sizeBytes !== undefined && { sizeBytes }),
    ...(commit !== undefined && { commit }),
    ...(commitMessage !== undefined && { commitMessage }),
    ...(commitAuthor !== undefined && { commitAuthor }),
    ...(end.status === 'True' ? { phase: 'succeeded' } : { phase: 'failed', message: end.message }),
    ...(startedAt !== undefined && { startedAt }),
    ...(endedAt !== undefined && { endedAt }),
  };
}

/** The end of a build whose batch Job was deleted before its result was seen. */
function withoutRun({ status }: Stored<Build>, now: Date): BuildProgress {
  if (status?.startedAt === undefined) return { phase: 'pending', message: 'Waiting for a builder.' };
  return {
    phase: 'failed',
    message: 'The Job of the build was deleted before it finished. Deploy again.',
    startedAt: status.startedAt,
    endedAt: now.toISOString(),
  };
}

function succeededState({ phase, message = '' }: BuildProgress, generation: number | undefined): ConditionState {
  return {
    type: succeeded,
    status: phase === 'succeeded' ? 'True' : phase === 'failed' ? 'False' : 'Unknown',
    reason: reasons[phase],
    message,
    ...(generation !== undefined && { observedGeneration: generation }),
  };
}

function jobRef({ metadata: { name, namespace } }: Stored<Build>) {
  const { apiVersion, kind } = kinds.BatchJob;
  return refOf({ apiVersion, kind, metadata: { name, ...(namespace !== undefined && { namespace }) } });
}

function buildOf({ metadata: { labels, namespace } }: Stored<KubeObject>): Key[] {
  const name = labels?.[runLabel];
  return name === undefined || namespace === undefined ? [] : [{ name, namespace }];
}
