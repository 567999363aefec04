import {
  functionDeployment,
  functionRoute,
  functionRouteName,
  type FunctionDeployment,
} from '../../infra/manifests/function.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { idLabel, kindLabel, managedLabels, roleLabel, systemNamespace } from '../../runtime/domain/labels.ts';
import { deleteChild, ensureChild } from '../../runtime/kube/children.ts';
import { releaseOtherHosts } from '../../runtime/kube/claims.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../runtime/kube/status.ts';
import { noneSeen, refIn } from './function-child.ts';
import { collectCode, runWithOf } from './function-code.ts';
import { servingStatus } from './function-status.ts';
import type { WorkloadIdentity } from './workload.ts';

/** What a function has that is called by requests: a Deployment, whose count others decide, and a route. */
export function createServing({ kube, clock }: { kube: KubeClient; clock: Clock }) {
  /** @param cached whether what the watches have brought will do: whatever is newer brings another pass */
  const observe = async ({ id, name, namespace }: WorkloadIdentity, cached: boolean) => {
    const seen = cached ? kube.cache?.get<FunctionDeployment>(kinds.Deployment, name, namespace) : undefined;
    const deployment = seen ?? (await kube.get<FunctionDeployment>(kinds.Deployment, name, namespace));
    const labels = { [kindLabel]: 'Function', [roleLabel]: 'serve', [idLabel]: id };
    const known = kube.cache?.list<Pod>(kinds.Pod, labels, namespace);
    if (known) return { deployment, pods: known };
    const labelSelector = Object.entries(labels).map(([label, value]) => `${label}=${value}`);
    const { items } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector: labelSelector.join(',') });
    return { deployment, pods: items };
  };

  return {
    async ensure(
      resource: Stored<FunctionResource>,
      identity: WorkloadIdentity,
      { host, config }: { host: string; config: PlatformConfigSpec },
    ): Promise<void> {
      const { spec } = resource;
      const runWith = runWithOf(config, resource);
      const wanted = functionDeployment(identity, spec, runWith);
      const written = await ensureChild(kube, resource, wanted, {
        keep: (live, desired) => ({ ...desired, spec: { ...desired.spec, replicas: live.spec.replicas } }),
        cached: true,
      });
      const { deployment, pods } = await observe(identity, written === 'unchanged');
      // Before the route: the interceptors know the host by the status, and so before the first request comes.
      await writeStatus<FunctionResource>(
        kube,
        resource,
        servingStatus({ resource, host, config, deployment, pods, now: clock.now() }),
      );
      await ensureChild(kube, undefined, functionRoute(identity, host, config), { cached: true });
      // The host that the function had before serves until the route has moved.
      await releaseOtherHosts(kube, identity.id, [host], clock.now());
      if (deployment && hasMoved(deployment)) await collectCode(kube, resource, identity, runWith);
    },

    /** Whether there may be something to remove. A route is there only after a status that names its host. */
    mayExist(resource: Stored<FunctionResource>, identity: WorkloadIdentity): boolean {
      if (resource.status?.host !== undefined) return true;
      return !noneSeen(kube, kinds.Deployment, identity, managedLabels(), identity.namespace);
    },

    /** First nothing leads to the function any more. @returns whether all of it is gone; its hosts are held still */
    async remove(resource: Stored<FunctionResource>, identity: WorkloadIdentity): Promise<boolean> {
      const { id, name, namespace } = identity;
      const route = refIn(systemNamespace, kinds.IngressRoute, functionRouteName(id));
      const routeGone = await deleteChild(kube, undefined, route);
      const deploymentGone = await deleteChild(kube, resource, refIn(namespace, kinds.Deployment, name));
      return routeGone && deploymentGone;
    },
  };
}

/** Whether no pod of an older template is left, as far as the cluster has reported. */
function hasMoved({ metadata, status = {} }: Stored<FunctionDeployment>): boolean {
  const { observedGeneration, replicas = 0, updatedReplicas = 0 } = status;
  return observedGeneration === metadata.generation && replicas === updatedReplicas;
}
