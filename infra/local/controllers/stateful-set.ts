import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { isPodEnded, isPodLive, isPodReady, type Pod } from '../../../runtime/contracts/pod.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { ControllerDefinition } from '../../../runtime/kube/controller.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../../runtime/kube/status.ts';
import type { StatefulSet } from './objects.ts';
import { namespaceOf, childrenOf, contentHash, listControlled, createOnce, podOf, remove } from './pods.ts';

const revisionLabel = 'controller-revision-hash';
const isTerminating = ({ metadata }: Pod) => metadata.deletionTimestamp !== undefined;

/**
 * Maintains a StatefulSet's numbered pods, with a claim per template and number. A pod is created or replaced when all
 * before it are ready; the highest number is deleted first. Claims are never deleted (Kubernetes' default).
 */
export function statefulSetController(kube: KubeClient): ControllerDefinition<StatefulSet> {
  const ensureClaims = async (set: Stored<StatefulSet>, index: number) => {
    for (const template of set.spec.volumeClaimTemplates ?? []) {
      const name = `${template.metadata.name}-${set.metadata.name}-${index}`;
      const metadata = { ...template.metadata, name, ...namespaceOf(set) };
      await createOnce(kube, { ...template, apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata });
    }
  };

  /** One step towards the desired state. The change of the pod triggers the next one. */
  const step = async (set: Stored<StatefulSet>, pods: readonly Stored<Pod>[], revision: string) => {
    const desired = set.spec.replicas ?? 1;
    const isStale = ({ metadata }: Pod) => metadata.labels?.[revisionLabel] !== revision;
    for (let index = 0; index < desired; index++) {
      const pod = pods.find((candidate) => indexOf(candidate) === index);
      if (!pod) {
        await ensureClaims(set, index);
        await kube.create(numberedPod(set, index, revision));
        return;
      }
      if (isPodReady(pod) && isPodLive(pod)) continue;
      // An outdated pod that is not ready is replaced at once: the new template may fix it.
      if (isPodEnded(pod) || isStale(pod)) await remove(kube, pod);
      return;
    }
    const last = pods.toSorted((a, b) => indexOf(b) - indexOf(a));
    const next = last.find((pod) => indexOf(pod) >= desired) ?? last.find(isStale);
    if (next && !last.some(isTerminating)) await remove(kube, next);
  };

  return {
    name: 'stateful-set',
    kind: kinds.StatefulSet,
    watches: [childrenOf(kinds.Pod, kinds.StatefulSet)],
    async reconcile({ object }) {
      if (!object || object.metadata.deletionTimestamp !== undefined) return;
      const revision = `${object.metadata.name}-${contentHash(object.spec.template)}`;
      const podsNow = () => listControlled<Pod>(kube, kinds.Pod, object, object.spec.selector.matchLabels);
      await step(object, await podsNow(), revision);
      const live = (await podsNow()).filter((pod) => !isTerminating(pod));
      const updated = live.filter(({ metadata }) => metadata.labels?.[revisionLabel] === revision).length;
      const ready = live.filter(isPodReady).length;
      const isUpdated = updated === live.length && live.length === (object.spec.replicas ?? 1);
      await writeStatus(kube, object, {
        ...(object.metadata.generation !== undefined && { observedGeneration: object.metadata.generation }),
        replicas: live.length,
        readyReplicas: ready,
        availableReplicas: ready,
        updatedReplicas: updated,
        updateRevision: revision,
        currentRevision: isUpdated ? revision : (object.status?.['currentRevision'] ?? revision),
      });
    },
  };
}

function indexOf({ metadata }: Pod): number {
  return Number(metadata.name.slice(metadata.name.lastIndexOf('-') + 1));
}

function numberedPod(set: Stored<StatefulSet>, index: number, revision: string): Pod {
  const name = `${set.metadata.name}-${index}`;
  const pod = podOf(set, set.spec.template, name);
  const claims = (set.spec.volumeClaimTemplates ?? []).map(({ metadata }) => ({
    name: metadata.name,
    persistentVolumeClaim: { claimName: `${metadata.name}-${name}` },
  }));
  const own = pod.spec.volumes?.filter((volume) => !claims.some((claim) => claim.name === volume.name)) ?? [];
  const labels = { ...pod.metadata.labels, 'statefulset.kubernetes.io/pod-name': name, [revisionLabel]: revision };
  const spec = { ...pod.spec, volumes: [...own, ...claims] };
  return { ...pod, metadata: { ...pod.metadata, labels }, spec };
}
