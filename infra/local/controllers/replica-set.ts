import { isPodLive, isPodReady, type Pod } from '../../../runtime/contracts/pod.ts';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { setCondition, type ConditionState } from '../../../runtime/kube/conditions.ts';
import type { ControllerDefinition } from '../../../runtime/kube/controller.ts';
import { isKubeError, type KubeClient, type KubeError } from '../../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../../runtime/kube/status.ts';
import { replicaFailure, type ReplicaSet } from './objects.ts';
import { byUsefulness, childrenOf, controlled, podOf, randomSuffix, remove } from './pods.ts';

/** Keeps as many pods of a ReplicaSet as it asks for. A pod that ended, or is going, is not counted. */
export function replicaSetController(kube: KubeClient, clock: Clock): ControllerDefinition<ReplicaSet> {
  return {
    name: 'replica-set',
    kind: kinds.ReplicaSet,
    watches: [childrenOf(kinds.Pod, kinds.ReplicaSet)],
    async reconcile({ object }) {
      if (!object || object.metadata.deletionTimestamp !== undefined) return;
      const { replicas = 1 } = object.spec;
      const pods = (await controlled<Pod>(kube, kinds.Pod, object, object.spec.selector.matchLabels)).filter(isPodLive);
      for (const pod of pods.toSorted(byUsefulness).slice(0, Math.max(0, pods.length - replicas))) {
        await remove(kube, pod);
      }
      const refusal = await createPods(kube, object, replicas - pods.length);
      // The pods made now bring another pass.
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
      // Again after a while, in case that room was made for them.
      if (refusal) throw refusal;
    },
  };
}

/** @returns what the API server said when it refused one, such as a quota that is exceeded */
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
