import { podList, type PodView } from '../contracts/api/pods.ts';
import { isPodReady, podFault, restartsOf, type Pod } from '../contracts/pod.ts';
import type { App } from '../contracts/resources/app.ts';
import type { FunctionResource } from '../contracts/resources/function.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import { releaseAnnotation, servingPods } from '../domain/labels.ts';
import type { Route } from '../http/route.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { workloadIdOf } from '../workloads/objects.ts';
import type { ObjectRoutes } from './object-routes.ts';

/** `/pods` below a workload's path: the pods that serve, also those that start or end. */
export function podsRoute<Workload extends App | FunctionResource>(
  objects: ObjectRoutes<Workload>,
  { kube }: { kube: Pick<KubeClient, 'list'> },
  summary: string,
): Route {
  return objects.route({
    method: 'GET',
    path: '/pods',
    access: { project: 'viewer', scope: 'read' },
    summary,
    replies: { 200: podList },
    async handle({ environment: { namespace }, find }) {
      const labelSelector = servingPods(workloadIdOf(await find()));
      const { items } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector });
      const byAge = (a: Pod, b: Pod) =>
        createdAt(b).localeCompare(createdAt(a)) || a.metadata.name.localeCompare(b.metadata.name);
      return { status: 200, body: { items: items.toSorted(byAge).map(podToView) } };
    },
  });
}

const createdAt = ({ metadata }: Pod) => metadata.creationTimestamp ?? new Date(0).toISOString();

/** A pod as the API shows it. What a program printed before it ended is not in it: that needs the right to read logs. Pure. */
export function podToView(pod: Pod): PodView {
  const { metadata } = pod;
  const revision = Number(metadata.annotations?.[releaseAnnotation]);
  const fault = metadata.deletionTimestamp === undefined ? podFault(pod) : undefined;
  const { reason, exitCode, message } = fault ?? {};
  return {
    name: metadata.name,
    status: statusOf(pod, fault !== undefined),
    ...(Number.isInteger(revision) && revision > 0 && { revision }),
    restarts: restartsOf(pod),
    ...(reason !== undefined && { reason }),
    ...(exitCode !== undefined && { exitCode }),
    ...(message !== undefined && exitCode === undefined && { message }),
    createdAt: createdAt(pod),
  };
}

function statusOf(pod: Pod, isFailing: boolean): PodView['status'] {
  if (pod.metadata.deletionTimestamp !== undefined) return 'ending';
  if (isFailing) return 'failing';
  return isPodReady(pod) ? 'ready' : 'starting';
}
