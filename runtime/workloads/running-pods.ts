import { isContainerRunning, isPodLive, isPodReady, type Pod } from '../contracts/pod.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import { idLabel, kindLabel, roleLabel } from '../domain/labels.ts';
import type { WorkloadKind } from '../domain/names.ts';
import { Problem } from '../domain/problem.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { workloadIdOf, type WorkloadObject } from './objects.ts';

/** Names in a message about pods to choose from. */
const shownMax = 10;

/**
 * Finds a pod of a workload whose container runs: the one of this name, or else the newest, those that serve requests and
 * ready ones first. Pods are selected by the workload's labels, so a name only chooses among its own.
 * @throws Problem `not_ready` when none runs, `not_found` for another name
 */
export async function findRunningPod(
  kube: Pick<KubeClient, 'list'>,
  workload: WorkloadObject,
  { container, pod: name }: { container: string; pod?: string | undefined },
): Promise<Pod> {
  const { namespace = '' } = workload.metadata;
  const kind: WorkloadKind = workload.kind;
  const labelSelector = `${idLabel}=${workloadIdOf(workload)},${kindLabel}=${kind}`;
  const { items } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector });
  const running = items
    .filter((pod) => isPodLive(pod) && isContainerRunning(pod, container))
    .sort((a, b) => rank(b) - rank(a) || age(a) - age(b));
  const title = `${kind.toLowerCase()} "${workload.metadata.name}"`;
  if (running.length === 0) {
    throw new Problem('not_ready', `No pod of the ${title} runs now.${waits[kind]}`);
  }
  const pod = name === undefined ? running[0] : running.find(({ metadata }) => metadata.name === name);
  if (pod) return pod;
  const names = running.slice(0, shownMax).map(({ metadata }) => metadata.name);
  throw new Problem('not_found', `The ${title} has no running pod of this name. It has ${names.join(', ')}.`);
}

const waits: Readonly<Record<WorkloadKind, string>> = {
  App: ' Check it with `svc app show`.',
  Function: ' A function has pods while it serves requests; invoke it first.',
  Job: ' Start a run first: `svc job run`.',
  Service: ' Check it with `svc service show`.',
};

/** Pods of one-off runs are ready, too. */
function rank(pod: Pod): number {
  return 2 * Number(pod.metadata.labels?.[roleLabel] === 'serve') + Number(isPodReady(pod));
}

/** Milliseconds; only differences mean something. */
function age({ metadata }: Pod): number {
  return -Date.parse(metadata.creationTimestamp ?? '1970-01-01T00:00:00Z');
}
