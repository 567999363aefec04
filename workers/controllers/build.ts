import { runLabel, type BatchJob } from '../../infra/manifests/batch.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import type { Build, BuildStatus } from '../../runtime/contracts/resources/build.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { buildNamespace, managedLabels, roleLabel, workloadFinalizer } from '../../runtime/domain/labels.ts';
import { deleteChild, NotYetError, ownChild, refOf } from '../../runtime/kube/children.ts';
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
import { beginBuild, dropCredentials, failureOf, resultOf, timeOutOf } from './build-run.ts';
import { createStopReport } from './stop-report.ts';
import { ensureIdentity } from './workload.ts';

/** Whether the build made its image: `Unknown` until it has ended; an end is never judged anew. */
const succeeded = 'Succeeded';
const reasons = { pending: 'Pending', running: 'Running', succeeded: 'Succeeded', failed: 'Failed' } as const;

type BuildProgress = { phase: keyof typeof reasons } & Omit<BuildStatus, 'phase' | 'conditions' | 'observedGeneration'>;

export interface BuildControllerOptions {
  kube: KubeClient;
  /** The installation's settings, once there are some. */
  platformConfig: () => Pick<PlatformConfigSpec, 'builds' | 'allowPrivateNetworks'> | undefined;
  events: Pick<EventRecorder, 'record'>;
  clock: Clock;
}

/**
 * Makes the batch Job of a Build in the namespace of builds, and reports how far it has come. In an environment whoever
 * builds makes the Job, which has the Build's name and its owner reference. An end that was seen stays, whatever becomes
 * of that Job. A Build that is deleted ends its batch Job first.
 */
export function buildController(options: BuildControllerOptions): ControllerDefinition<Build> {
  const { kube, platformConfig, events, clock } = options;
  const reportStop = createStopReport(options);

  const bringAbout = async (object: Stored<Build>): Promise<void> => {
    const own = object.metadata.namespace === buildNamespace;
    const build = own
      ? await ensureMarks(kube, object, workloadFinalizer, managedLabels())
      : (await ensureIdentity(kube, object)).workload;
    if (own && !endOfBuild(build)) await beginBuild(kube, build, platformConfig());
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
    const run = await ownChild<BatchJob>(kube, build, jobRef(build));
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
    const made = resultOf(items);
    if (made) return { phase: state, ...rest, ...made };
    return { phase: 'failed', ...rest, message: 'The build ended without saying what it made; deploy again.' };
  };

  const finalize = async (build: Stored<Build>): Promise<void> => {
    const gone = await deleteChild(kube, build, jobRef(build));
    if (!gone) throw new NotYetError('the job of the build is still being deleted');
    await removeFinalizer(kube, build, workloadFinalizer);
  };

  return {
    name: 'Build',
    kind: kinds.Build,
    owns: [kinds.BatchJob],
    watches: [
      // A pod belongs to the batch Job.
      { kind: kinds.Pod, selection: { labelSelector: `${roleLabel}=build` }, keysOf: buildOf },
    ],
    async reconcile({ object: build }) {
      if (!build) return;
      if (build.metadata.deletionTimestamp !== undefined) return finalize(build);
      try {
        await bringAbout(build);
      } catch (error) {
        await reportStop(kinds.Build, build, error);
        throw error;
      }
    },
  };
}

/** The end that was seen before; undefined while there was none. */
function endOfBuild({ status }: Stored<Build>): BuildProgress | undefined {
  const end = findCondition(status?.conditions, succeeded);
  if (!end || end.status === 'Unknown') return undefined;
  const { startedAt, endedAt, image, digest, commit, commitMessage, commitAuthor } = status ?? {};
  return {
    ...(image !== undefined && { image }),
    ...(digest !== undefined && { digest }),
    ...(commit !== undefined && { commit }),
    ...(commitMessage !== undefined && { commitMessage }),
    ...(commitAuthor !== undefined && { commitAuthor }),
    ...(end.status === 'True' ? { phase: 'succeeded' } : { phase: 'failed', message: end.message }),
    ...(startedAt !== undefined && { startedAt }),
    ...(endedAt !== undefined && { endedAt }),
  };
}

/** A batch Job that was there once and is gone before its end was seen will never end. */
function withoutRun({ status }: Stored<Build>, now: Date): BuildProgress {
  if (status?.startedAt === undefined) return { phase: 'pending', message: 'No builder has taken it yet.' };
  return {
    phase: 'failed',
    message: 'The job of the build was deleted before its end was seen; make another build.',
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
