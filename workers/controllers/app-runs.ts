import { appRunContainer, appRunJob, commandOfRun, releaseCommandJob } from '../../infra/manifests/app-run.ts';
import type { BatchJob } from '../../infra/manifests/batch.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { podFault, type Pod } from '../../runtime/contracts/pod.ts';
import type { App, AppRun, Release } from '../../runtime/contracts/resources/app.ts';
import type { AppRunRequest } from '../../runtime/contracts/resources/run.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { idLabel, isOfRelease, releaseAnnotation, roleLabel } from '../../runtime/domain/labels.ts';
import { deleteChild, ensureChild, NotYetError, refOf } from '../../runtime/kube/children.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { sessionMs, sessionsOf } from '../../runtime/workloads/run-sessions.ts';
import { createOnly, endOf, reportRuns, runProgress } from './batch-run.ts';
import { patienceMs } from './release-fault.ts';
import { pastRuns, type RunLimits } from './run-history.ts';
import type { WorkloadIdentity } from './workload.ts';

const limits: RunLimits = { historyLimit: 10, retentionSeconds: 24 * 3_600 };
/** Maximum active runs; more requests wait. */
const activeMax = 20;
/** Maximum characters of a command in the status, and of runs: an object has at most 1.5 MiB. */
const shownMax = { command: 200, runs: 50 };

/** The command of the current release: its pods may start when there is none or it has succeeded. */
export type CommandState = { phase: 'none' | 'succeeded' | 'running' } | { phase: 'failed'; message: string };

/**
 * Runs the command of a release once, before its pods start. The outcome is kept in the status, so that it is not run
 * again when its batch Job was deleted. @throws NotYetError while the command of an older release is being stopped: two of
 * them must not change the same database
 */
export async function ensureReleaseCommand(
  kube: KubeClient,
  app: Stored<App>,
  identity: WorkloadIdentity,
  { release, now }: { release: Release; now: Date },
): Promise<CommandState> {
  const { command } = release;
  if (!command) return { phase: 'none' };
  const outcome = outcomeInStatus(app, release);
  if (outcome) return outcome;
  const before = await observe(kube, identity);
  if (!(await stopOlderCommands(kube, app, before.runs))) {
    throw new NotYetError('the command of an older release is being stopped');
  }
  await ensureChild(kube, app, releaseCommandJob(identity, app.spec, { ...release, command }), createOnly);
  const { runs, pods } = await observe(kube, identity);
  const run = runs.find(({ metadata }) => isOfRelease(metadata, release.generation));
  if (!run) return { phase: 'running' };
  const { state, message } = runProgress(run, pods, { container: appRunContainer });
  if (state === 'succeeded') return { phase: 'succeeded' };
  if (state === 'failed') {
    return { phase: 'failed', message: `The release command failed: ${message ?? 'see its logs'}` };
  }
  const waitedMs = now.getTime() - Date.parse(run.metadata.creationTimestamp ?? now.toISOString());
  const faulty = pods.some((pod) => isOfRelease(pod.metadata, release.generation) && podFault(pod));
  if (state === 'running' || !faulty || waitedMs < patienceMs) return { phase: 'running' };
  await deleteChild(kube, app, refOf(run));
  return { phase: 'failed', message: `The release command did not start: ${message ?? 'its pod has a fault'}` };
}

/** What the status says about the command of this release; undefined while it has not ended. */
function outcomeInStatus({ status }: Stored<App>, { generation, deploymentId }: Release): CommandState | undefined {
  const { release } = status ?? {};
  if (release?.generation !== generation || release.deploymentId !== deploymentId) return undefined;
  if (release.commandSucceeded) return { phase: 'succeeded' };
  return release.phase === 'failed' ? { phase: 'failed', message: release.message ?? '' } : undefined;
}

/** Stops the commands of other releases. @returns whether none is left */
async function stopOlderCommands(
  kube: KubeClient,
  app: Stored<App>,
  runs: readonly Stored<BatchJob>[],
): Promise<boolean> {
  let areGone = true;
  for (const run of runs) {
    const older = isReleaseCommand(run) && !isOfRelease(run.metadata, app.spec.release?.generation ?? 0);
    if (older && !endOf(run)) areGone = (await deleteChild(kube, app, refOf(run))) && areGone;
  }
  return areGone;
}

function isReleaseCommand({ metadata }: BatchJob): boolean {
  return metadata.annotations?.[releaseAnnotation] !== undefined;
}

/** The runs of an app after a reconcile. */
export interface ObservedRuns {
  /** For the status, newest first; absent without any. */
  runs?: AppRun[];
  /** Milliseconds until an ended run is due for deletion. */
  againInMs?: number | undefined;
  /** The requests that still wait. */
  waiting?: AppRunRequest[];
  /** The ids of runs that are gone, whose sessions the App still names. */
  endedSessions?: string[];
}

/**
 * Starts each requested run exactly once, deletes those to stop, those whose session no process holds any more, and ended
 * ones beyond the limits, and reports all, as the Job controller does (decision 0007). Requests wait until the app has a
 * release. The caller writes the report into the status and then removes the requests, so that a run is always in one of
 * them, and the ids of those to stop.
 */
export async function ensureRuns(
  kube: KubeClient,
  app: Stored<App>,
  identity: WorkloadIdentity,
  { release, command, now }: { release: Release | undefined; command: CommandState['phase']; now: Date },
): Promise<ObservedRuns> {
  const sessions = sessionsOf(app).map(({ id, renewedAt }) => ({
    id,
    leftMs: renewedAt + sessionMs.expire - now.getTime(),
  }));
  const open = sessions.filter(({ leftMs }) => leftMs > 0);
  const expired = sessions.filter((session) => !open.includes(session)).map(({ id }) => id);
  const runStops = [...(app.spec.runStops ?? []), ...expired];
  const runRequests = (app.spec.runRequests ?? []).filter(({ id }) => !runStops.includes(id));
  // Most apps have none of these, so most reconciles list no runs.
  const mayHaveRuns =
    app.status?.runs !== undefined || sessions.length > 0 || command === 'running' || command === 'failed';
  if (runRequests.length === 0 && runStops.length === 0 && !mayHaveRuns) return {};
  for (const id of runStops) await deleteChild(kube, app, runRef(identity, id));
  const due = release ? runRequests.slice(0, await freePlaces(kube, identity, runRequests)) : [];
  if (release) {
    for (const request of due) {
      await ensureChild(kube, app, appRunJob(identity, app.spec, release, request), createOnly);
    }
  }
  const { runs, pods } = await observe(kube, identity);
  await stopOlderCommands(kube, app, runs);
  // A run that is deleted before its request is removed, or before its outcome is known, would be created again.
  const { past, nextInMs } =
    due.length > 0 || (command !== 'none' && !(release && outcomeInStatus(app, release)))
      ? { past: [], nextInMs: undefined }
      : pastRuns(app, limits, runs, now);
  for (const run of past) await deleteChild(kube, app, refOf(run));
  const rest = runs.filter((run) => !past.includes(run));
  const report = reportRuns(rest, pods, {
    container: appRunContainer,
    previous: app.status?.runs,
    triggerOf: (run) => (isReleaseCommand(run) ? 'release' : 'manual'),
  });
  const commands = new Map(runs.map((run) => [run.metadata.name, shownCommand(run)]));
  const views = report.slice(0, shownMax.runs).map((run) => ({ ...run, command: commands.get(run.name) ?? [] }));
  const waiting = runRequests.slice(due.length);
  const runNames = new Set([
    ...waiting.map(({ id }) => runRef(identity, id).name),
    ...runs.map((run) => run.metadata.name),
  ]);
  return {
    ...(views.length > 0 && { runs: views }),
    againInMs: Math.min(nextInMs ?? Infinity, ...open.map(({ leftMs }) => leftMs)),
    waiting,
    endedSessions: sessions.map(({ id }) => id).filter((id) => !runNames.has(runRef(identity, id).name)),
  };
}

/** The batch Job of a requested run, which {@link appRunJob} describes. */
function runRef({ name, namespace }: WorkloadIdentity, id: string) {
  const { apiVersion, kind } = kinds.BatchJob;
  return { apiVersion, kind, namespace, name: `${name}-${id}` };
}

/** How many of the requested runs may be active, those included that exist already. */
async function freePlaces(
  kube: KubeClient,
  identity: WorkloadIdentity,
  requests: readonly AppRunRequest[],
): Promise<number> {
  if (requests.length === 0) return 0;
  const { runs } = await observe(kube, identity);
  const names = new Set(requests.map(({ id }) => runRef(identity, id).name));
  const active = runs.filter((run) => !endOf(run) && !names.has(run.metadata.name));
  return Math.max(0, activeMax - active.length);
}

/** Stops and deletes all runs of an app. @returns whether they are gone */
export async function deleteRuns(kube: KubeClient, app: Stored<App>, identity: WorkloadIdentity): Promise<boolean> {
  const { runs } = await observe(kube, identity);
  let areGone = true;
  for (const run of runs) areGone = (await deleteChild(kube, app, refOf(run))) && areGone;
  return areGone;
}

async function observe(kube: KubeClient, { id, namespace }: WorkloadIdentity) {
  const selection = { namespace, labelSelector: `${idLabel}=${id},${roleLabel}=run` };
  const [runs, pods] = await Promise.all([
    kube.list<BatchJob>(kinds.BatchJob, selection),
    kube.list<Pod>(kinds.Pod, selection),
  ]);
  return { runs: runs.items, pods: pods.items };
}

/** The beginning of the command as it was requested. */
function shownCommand(run: BatchJob): string[] {
  const words: string[] = [];
  let length = 0;
  for (const word of commandOfRun(run)) {
    if (length >= shownMax.command) return [...words, '…'];
    words.push(word.slice(0, shownMax.command - length));
    length += word.length;
  }
  return words;
}
