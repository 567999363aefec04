import { runLabel, type BatchJob } from '../../infra/manifests/batch.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import type { Build, BuildStatus } from '../../runtime/contracts/resources/build.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { roleLabel, workloadFinalizer } from '../../runtime/domain/labels.ts';
import { deleteChild, NotYetError, ownChild, refOf } from '../../runtime/kube/children.ts';
import {
  childrenAdoptedState,
  findCondition,
  mergeConditions,
  type ConditionState,
} from '../../runtime/kube/conditions.ts';
import type { ControllerDefinition, Key } from '../../runtime/kube/controller.ts';
import type { EventRecorder } from '../../runtime/kube/events.ts';
import { removeFinalizer } from '../../runtime/kube/finalizers.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../runtime/kube/status.ts';
import { runProgress } from './batch-run.ts';
import { createStopReport } from './stop-report.ts';
import { ensureIdentity, type WorkloadIdentity } from './workload.ts';

/** Whether the build made its image: `Unknown` until it has ended; an end is never judged anew. */
const succeeded = 'Succeeded';
const reasons = { pending: 'Pending', running: 'Running', succeeded: 'Succeeded', failed: 'Failed' } as const;

type BuildProgress = { phase: keyof typeof reasons } & Pick<BuildStatus, 'message' | 'startedAt' | 'endedAt'>;

export interface BuildControllerOptions {
  kube: KubeClient;
  events: Pick<EventRecorder, 'record'>;
  clock: Clock;
}

/**
 * Reports how far a Build has come: as the batch Job of its name and with its owner reference has it, which whoever
 * builds makes. An end that was seen stays, whatever becomes of that Job. A Build that is deleted ends its batch Job first.
 */
export function buildController(options: BuildControllerOptions): ControllerDefinition<Build> {
  const { kube, events, clock } = options;
  const reportStop = createStopReport(options);

  const bringAbout = async (object: Stored<Build>): Promise<void> => {
    const { workload: build, identity } = await ensureIdentity(kube, object);
    const progress = endOfBuild(build) ?? (await observe(build, identity));
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

  const observe = async (build: Stored<Build>, { name, namespace }: WorkloadIdentity): Promise<BuildProgress> => {
    const run = await ownChild<BatchJob>(kube, build, jobRef(build));
    if (!run) return withoutRun(build, clock.now());
    const { items } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector: `${runLabel}=${name}` });
    const { state, ...rest } = runProgress(run, items);
    return { phase: state, ...rest };
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
  const { startedAt, endedAt } = status ?? {};
  return {
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
