import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import type { App, AppRun, AppStatus, ReleaseStatus } from '../../runtime/contracts/resources/app.ts';
import { publicUrl, type PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import { childrenAdoptedState, mergeConditions } from '../../runtime/kube/conditions.ts';
import type { GateOutcome } from './gate-step.ts';
import { currentBindingStatuses } from './bindings.ts';
import type { CommandState } from './app-runs.ts';
import type { Deployment } from './deployment-object.ts';
import { podsOf, releaseStatus } from './app-release.ts';
import { placementText } from './placement.ts';
import { faultText } from './release-fault.ts';

export interface AppObservation {
  app: Stored<App>;
  host: string;
  config: PlatformConfigSpec;
  gate: GateOutcome;
  /** Whether this reconcile recorded a changed image of the spec. */
  edited: boolean;
  /** After the reconcile; undefined before the first release. */
  deployment: Stored<Deployment> | undefined;
  /** The app's serving pods. Needed only while the release is not available or pods are not ready. */
  pods: readonly Stored<Pod>[];
  /** The node that has the storage of its volumes. Needed only while no node accepts its pods. */
  storageNode?: string | undefined;
  /** Its runs; absent without any. */
  runs?: AppRun[];
  /** The command of the release. */
  command: CommandState;
  now: Date;
}

/** The status after a successful reconcile. Pure. */
export function observedStatus(observation: AppObservation): AppStatus {
  const { app, host, config, gate, edited, deployment, pods, storageNode, runs, command, now } = observation;
  const { generation } = app.metadata;
  const release = withCommand(releaseStatus(app, deployment, pods, now), command);
  const readyReplicas = deployment?.status?.readyReplicas ?? 0;
  const { phase, message } = phaseOf(app, release, readyReplicas, pods, storageNode);
  const states = [childrenAdoptedState(generation), ...(gate.state ? [gate.state] : [])];
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    phase,
    ...(message !== undefined && { message }),
    host,
    url: publicUrl(config, host),
    replicas: deployment?.status?.replicas ?? 0,
    readyReplicas,
    ...(release && { release }),
    // A change before the first release is recorded after it.
    image: edited ? app.spec.image : (app.status?.image ?? app.spec.image),
    ...imageEdits(app, edited),
    ...currentBindingStatuses(app),
    ...(runs && { runs }),
    gate: gate.phase,
    ...(gate.since !== undefined && { gateSince: gate.since }),
    conditions: mergeConditions(app.status?.conditions, states, now),
  };
}

/** The status of a release whose pods wait for its command. */
function withCommand(release: ReleaseStatus | undefined, command: CommandState): ReleaseStatus | undefined {
  if (!release) return undefined;
  if (command.phase === 'failed') return { ...release, phase: 'failed', message: command.message };
  return command.phase === 'succeeded' ? { ...release, commandSucceeded: true } : release;
}

function imageEdits({ status }: Stored<App>, edited: boolean): { imageEdits?: number } {
  const edits = (status?.imageEdits ?? 0) + (edited ? 1 : 0);
  return edits === 0 ? {} : { imageEdits: edits };
}

interface Phase {
  phase: NonNullable<AppStatus['phase']>;
  message?: string;
}

function phaseOf(
  { spec }: Stored<App>,
  release: ReleaseStatus | undefined,
  readyReplicas: number,
  pods: readonly Stored<Pod>[],
  storageNode: string | undefined,
): Phase {
  if (!release) return { phase: 'pending' };
  if (release.phase === 'failed') {
    // The pods of the previous release keep serving, and the release reports the failure.
    if (readyReplicas > 0)
      return { phase: 'running', message: `Revision ${release.generation} failed: ${release.message}` };
    return { phase: 'failed', message: release.message ?? 'The pods do not become ready.' };
  }
  if (release.phase === 'progressing') return { phase: 'deploying' };
  if (spec.replicas === 0) return { phase: 'running' };
  const current = podsOf(pods, release.generation);
  const placement = placementText(current, 'its pods', storageNode);
  if (readyReplicas > 0) {
    const message = `${readyReplicas} of ${spec.replicas} pods are ready. ${placement}`;
    return { phase: 'running', ...(placement !== undefined && { message }) };
  }
  const fault = current.map(faultText).find((text) => text !== undefined) ?? placement;
  return fault === undefined ? { phase: 'deploying' } : { phase: 'failed', message: fault };
}
