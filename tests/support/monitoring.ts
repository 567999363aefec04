import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { appLabel, managedLabels } from '../../runtime/domain/labels.ts';
import type { ComponentName } from '../../runtime/domain/monitoring.ts';
import type { FakeKube } from './fake-kube.ts';

/** The pod of a component, whose container ended as told. */
export function componentPod(
  name: ComponentName,
  options: { limit?: string; killedAt?: string; reason?: string } = {},
): KubeObject {
  const { limit = '512Mi', killedAt, reason = 'OOMKilled' } = options;
  const terminated = { reason, exitCode: 137, finishedAt: killedAt };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `${name}-0`, namespace: 'monitoring', labels: { ...managedLabels(), [appLabel]: name } },
    spec: { containers: [{ name, resources: { limits: { memory: limit } } }] },
    status: {
      phase: 'Running',
      containerStatuses: [
        {
          name,
          ready: false,
          restartCount: 1,
          state: { waiting: { reason: 'CrashLoopBackOff' } },
          ...(killedAt !== undefined && { lastState: { terminated } }),
        },
      ],
    },
  };
}

/** Does what Kubernetes does until all pods of the components are ready. */
export async function settleComponents(kube: FakeKube): Promise<void> {
  const rollouts = [kinds.StatefulSet, kinds.Deployment].flatMap((kind) => kube.all<KubeObject>(kind));
  const status = (object: Stored<KubeObject>) => ({ observedGeneration: object.metadata.generation ?? 0 });
  for (const object of rollouts.filter(({ metadata }) => metadata.namespace === 'monitoring')) {
    await kube.replaceStatus({
      ...object,
      status: { ...status(object), replicas: 1, readyReplicas: 1, updatedReplicas: 1 },
    });
  }
  for (const object of kube.all<KubeObject>(kinds.DaemonSet)) {
    const counts = { desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberReady: 2 };
    await kube.replaceStatus({ ...object, status: { ...status(object), ...counts } });
  }
}
