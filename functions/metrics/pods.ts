import { isPodReady, restartsOf, type Pod } from '../../runtime/contracts/pod.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { kindLabel } from '../../runtime/domain/labels.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { MetricKind } from '../../runtime/metrics/figures.ts';
import { workloadOfReplica } from '../../runtime/metrics/workload-of.ts';

/** What the pods of a workload show. */
export interface PodCounts {
  kind: MetricKind;
  name: string;
  pods: number;
  ready: number;
  restarts: number;
}

/** The workloads of a namespace that have pods, by `kind/name`. */
export async function countPods(kube: Pick<KubeClient, 'list'>, namespace: string): Promise<Map<string, PodCounts>> {
  const { items } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector: kindLabel });
  const counts = new Map<string, PodCounts>();
  for (const pod of items) {
    const workload = workloadOfReplica(pod);
    if (!workload) continue;
    const { kind, name } = workload;
    const entry = counts.get(`${kind}/${name}`) ?? { kind, name, pods: 0, ready: 0, restarts: 0 };
    counts.set(`${kind}/${name}`, entry);
    entry.pods++;
    if (isPodReady(pod)) entry.ready++;
    entry.restarts += restartsOf(pod);
  }
  return counts;
}
