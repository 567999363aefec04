import { isPodLive, isPodReady, type Pod } from '../../../runtime/contracts/pod.ts';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { setCondition, type ConditionState } from '../../../runtime/kube/conditions.ts';
import type { ControllerDefinition } from '../../../runtime/kube/controller.ts';
import { isKubeError, type KubeClient, type KubeError } from '../../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../../runtime/kube/status.ts';
import { replicaFailure, type ReplicaSet } from './objects.ts';
import { byDeletionOrder, childrenOf, listControlled, podOf, randomSuffix, remove } from './pods.ts';

/** Keeps the desired number of a ReplicaSet's pods. Ended and terminating pods do not count. */
export function replicaSetController(kube: KubeClient, clock: Clock): ControllerDefinition<ReplicaSet> {
  return {
    name: 'replica-set',
    kind: kinds.ReplicaSet,
    watches: [childrenOf(kinds.Pod, kinds.ReplicaSet)],
    async reconcile({ object }) {
      if (!object || object.metadata.deletionTimestamp !== undefined) return;
      const { replicas = 1 } = object.spec;
      const pods = (await listControlled<Pod>(kube, kinds.Pod, object, object.spec.selector.matchLabels)).filter(
        isPodLive,
      );
      for (const pod of pods.toSorted(byDeletionOrder).slice(0, Math.max(0, pods.length - replicas))) {
        await remove(kube, pod);
      }
      const refusal = await createPods(kube, object, replicas - pods.length);
      // New pods are counted in the next reconcile, which they trigger.
      const ready = pods.filter(isPodReady).length;
      const failure: ConditionState = {
        type: replicaFailure,
        status: 'True',
        reason: 'FailedCreate',
        message: refusal?.message ?? '',
      };
      await writeStatus(kube, object, {
        replicas: pods.length,
        fullyLabeledReplicas: pods.length,
        readyReplicas: ready,
        availableReplicas: ready,
        ...(object.metadata.generation !== undefined && { observedGeneration: object.metadata.generation }),
        ...(refusal && { conditions: setCondition(object.status?.conditions, failure, clock.now()) }),
      });
      // The error makes the controller retry later, for example after a quota was raised.
      if (refusal) throw refusal;
    },
  };
}

/** @returns the API server's refusal, such as an exceeded quota */
async function createPods(kube: KubeClient, set: Stored<ReplicaSet>, count: number): Promise<KubeError | undefined> {
  try {
    for (let missing = count; missing > 0; missing--) {
      await kube.create(podOf(set, set.spec.template, `${set.metadata.name}-${randomSuffix()}`));
    }
    return undefined;
  } catch (error) {
    if (isKubeError(error, 403) || isKubeError(error, 422)) return error;
    throw error;
  }
}
