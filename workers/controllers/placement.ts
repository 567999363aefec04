import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { isPodEnded, isPodLive, isPodReady, type Pod } from '../../runtime/contracts/pod.ts';

/** Kubernetes' words for a volume that only another node can mount; before 1.34 the second. */
const elsewhere = /PersistentVolume's node affinity|volume node affinity conflict/;

/** Whether no node accepts the pod. */
export function isUnplaced(pod: Pod): boolean {
  return unplacedReason(pod) !== undefined;
}

/** Whether no node accepts the pod because the storage of one of its volumes is on a node that does not. */
export function isAwayFromStorage(pod: Pod): boolean {
  return elsewhere.test(unplacedReason(pod) ?? '');
}

/** The scheduler's message about a pod that no node accepts. */
function unplacedReason({ status }: Pod): string | undefined {
  const condition = status?.conditions?.find(
    ({ type, status: value, reason }) => type === 'PodScheduled' && value === 'False' && reason === 'Unschedulable',
  );
  return condition && (condition.message ?? 'the cluster has too little free CPU or memory.');
}

/**
 * Whether the node of a pod has stopped reporting: Kubernetes then declares the pod not ready, while the kubelet's last
 * report, that all containers are ready, stays.
 */
export function isOnLostNode(pod: Pod): boolean {
  const { containerStatuses = [] } = pod.status ?? {};
  if (pod.spec.nodeName === undefined || isPodReady(pod) || isPodEnded(pod)) return false;
  const declared = pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'False') ?? false;
  return declared && containerStatuses.length > 0 && containerStatuses.every(({ ready }) => ready);
}

/**
 * Why pods do not run because of the nodes, for the workload's owner; undefined when the nodes are not the reason. Pure.
 * @param what the pods, as in "the new pods"
 * @param storageNode the node that has the storage of the volumes, if that is known
 */
export function placementText(pods: readonly Stored<Pod>[], what: string, storageNode?: string): string | undefined {
  const unplaced = pods.find((pod) => isPodLive(pod) && isUnplaced(pod));
  const lost = pods.find(isOnLostNode);
  if (unplaced && isAwayFromStorage(unplaced)) return storageText(what, storageNode ?? lost?.spec.nodeName);
  if (unplaced) return `No node has room for ${what}: ${unplacedReason(unplaced)}`;
  // A pod that is being deleted has been replaced, and its successor's own state counts.
  if (!lost || pods.some((pod) => isPodLive(pod) && pod !== lost && !isOnLostNode(pod) && !isPodReady(pod)))
    return undefined;
  return `The node ${lost.spec.nodeName} does not respond. Its pods are replaced on other nodes once Kubernetes gives it up.`;
}

function storageText(what: string, node: string | undefined): string {
  const place = node === undefined ? 'a node' : `the node ${node}`;
  const target = node === undefined ? 'the node' : node;
  return (
    `The storage of a volume is on ${place}, which does not accept ${what}: it is lost, drained or full. ` +
    `Bring ${target} back. If it is gone for good, so is the data: ` +
    `delete the volume, create it again, and restore a backup.`
  );
}
