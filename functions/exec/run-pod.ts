import { isContainerRunning, isPodLive, type Pod } from '../../runtime/contracts/pod.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { idLabel, runLabel } from '../../runtime/domain/labels.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { workloadIdOf } from '../../runtime/workloads/objects.ts';

/** The container of an app's runs. */
export const runContainer = 'app';

/** How long a pod may take to start, and how long one that the cluster cannot start may have a fault, in ms. */
const startMs = 120_000;
const faultMs = 30_000;
/** Pauses between looks at the pod, in ms: short at first, because most pods start within a second or two. */
const pauseMs = { first: 100, factor: 1.3, max: 2_000 };

/** What a session says when its run was stopped. */
export const stoppedText = 'The run was stopped.';

/** Whether the controller was asked to delete a run, or has deleted it. A run is in the requests or the status until then. */
export function isStopped({ metadata, spec, status }: App, run: string): boolean {
  const isOf = (id: string) => run === `${metadata.name}-${id}`;
  if (spec.runStops?.some(isOf)) return true;
  return !spec.runRequests?.some(({ id }) => isOf(id)) && !status?.runs?.some(({ name }) => name === run);
}

/**
 * Waits until the pod of a run has started.
 * @param run the name of the run
 * @returns the name of the pod
 * @throws Problem `not_ready` when it does not start or is stopped, and whatever ends the wait by `signal`
 */
export async function waitForRunPod(
  { kube, clock }: { kube: Pick<KubeClient, 'get' | 'list'>; clock: Clock },
  app: App,
  run: string,
  signal: AbortSignal,
): Promise<string> {
  const { name, namespace = '' } = app.metadata;
  const labelSelector = `${idLabel}=${workloadIdOf(app)},${runLabel}=${run}`;
  const started = clock.monotonic();
  for (let pause = pauseMs.first; ; pause = Math.min(pause * pauseMs.factor, pauseMs.max)) {
    const { items } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector });
    const pod = items.find((candidate) => isPodLive(candidate) && isContainerRunning(candidate, runContainer));
    if (pod) return pod.metadata.name;
    const current = await kube.get<App>(kinds.App, name, namespace);
    const report = current?.status?.runs?.find((candidate) => candidate.name === run);
    if (report?.state === 'failed' || report?.state === 'succeeded') throw new Problem('not_ready', endText(report));
    if (current && isStopped(current, run)) throw new Problem('not_ready', stoppedText);
    const waitedMs = clock.monotonic() - started;
    if (report?.message !== undefined && waitedMs >= faultMs) throw new Problem('not_ready', report.message);
    if (waitedMs >= startMs) {
      const reason = report ? '' : ' Other runs of the app may have to end first: see `svc app runs`.';
      throw new Problem('not_ready', `The pod did not start within ${startMs / 60_000} minutes.${reason}`);
    }
    await clock.sleep(pause, signal);
  }
}

/** Why the pod ended before the command could run in it. */
function endText({ message }: { message?: string }): string {
  const reason = `The pod ended before the command could run${message === undefined ? '.' : `: ${message}`}`;
  // The kubelet or the node reports that the image does not have the program.
  if (!/\bsleep\b/.test(message ?? '')) return reason;
  return `${reason} The image needs the program "sleep" for -i and -t; without them, the command runs in any image.`;
}
