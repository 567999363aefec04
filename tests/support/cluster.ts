import type { BatchJob } from '../../infra/manifests/batch.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import {
  environmentIdLabel,
  environmentLabel,
  idLabel,
  managedLabels,
  projectLabel,
} from '../../runtime/domain/labels.ts';
import type { FakeKube } from './fake-kube.ts';
import { environmentId } from './objects.ts';

/** The namespace of one environment as the Project controller leaves it. */
export function environmentNamespaceObject(project: string, environment: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name: `${project}-${environment}`,
      labels: {
        ...managedLabels(),
        [idLabel]: environmentId,
        [projectLabel]: project,
        [environmentLabel]: environment,
        [environmentIdLabel]: environmentId,
      },
    },
  };
}

interface Workload extends KubeObject {
  spec: { replicas?: number };
  status?: { observedGeneration?: number; replicas?: number };
}

/** Does what the cluster's Deployment controller does, with pods that are ready at once. */
export async function settleDeployments(kube: FakeKube): Promise<void> {
  for (const deployment of kube.all<Workload>(kinds.Deployment)) {
    const { generation } = deployment.metadata;
    const { replicas = 1 } = deployment.spec;
    const { observedGeneration, replicas: seen } = deployment.status ?? {};
    if (observedGeneration === generation && seen === replicas) continue;
    const status = { observedGeneration: generation, replicas, updatedReplicas: replicas, readyReplicas: replicas };
    await kube.replaceStatus({ ...deployment, status: { ...status, availableReplicas: replicas } } as Stored<Workload>);
  }
}

/** Does what the cluster's Job controller does, with programs that succeed at once. */
export async function endRuns(kube: FakeKube): Promise<void> {
  for (const run of kube.all<BatchJob>(kinds.BatchJob)) {
    if (run.status?.conditions) continue;
    const at = run.metadata.creationTimestamp ?? '';
    const conditions = [{ type: 'Complete', status: 'True', lastTransitionTime: at }];
    await kube.replaceStatus<BatchJob>({
      ...run,
      status: { startTime: at, completionTime: at, succeeded: 1, conditions },
    });
  }
}
