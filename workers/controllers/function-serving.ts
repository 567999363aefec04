import { functionDeployment, type FunctionDeployment } from '../../infra/manifests/function.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { isStandIn, type Pod } from '../../runtime/contracts/pod.ts';
import { asksForSeveral, functionLimits, type FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import { idLabel, kindLabel, managedLabels, roleLabel } from '../../runtime/domain/labels.ts';
import { deleteChild, ensureChildObject, NotYetError } from '../../runtime/kube/children.ts';
import { releaseOtherHosts } from '../../runtime/kube/claims.ts';
import { writeStatus } from '../../runtime/kube/status.ts';
import { exclusiveVolume, oneReplicaOnly } from '../../runtime/kube/volume-users.ts';
import { collectEnvironments } from './environment-secrets.ts';
import { ensureDisruptionBudget, removeDisruptionBudget } from './disruption-budget.ts';
import { noneSeen, refIn } from './function-child.ts';
import { collectCode, runWithOf } from './function-code.ts';
import { createRouting, type RoutingOptions } from './function-routing.ts';
import { hasMoved, mergedDeployment } from './function-settings.ts';
import { servingStatus } from './function-status.ts';
import type { GateStep } from './gate-step.ts';
import type { WorkloadIdentity } from './workload.ts';

/**
 * The objects of a function for requests or events: a Deployment object, whose replicas the scaler sets, and a route
 * for requests.
 */
export function createServing(options: RoutingOptions) {
  const { kube, clock } = options;
  const routing = createRouting(options);

  /**
   * The serving pods, without one that stands in for them until they are ready. From the cache if there is one: a newer
   * version causes another reconcile.
   */
  const podsOf = async ({ id, namespace }: WorkloadIdentity): Promise<Stored<Pod>[]> => {
    const labels = { [kindLabel]: 'Function', [roleLabel]: 'serve', [idLabel]: id };
    const cachedPods = kube.cache?.list<Pod>(kinds.Pod, labels, namespace);
    if (cachedPods) return cachedPods.filter((pod) => !isStandIn(pod));
    const labelSelector = Object.entries(labels).map(([label, value]) => `${label}=${value}`);
    const { items } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector: labelSelector.join(',') });
    return items.filter((pod) => !isStandIn(pod));
  };

  return {
    /** @returns milliseconds until the next check */
    async ensure(
      resource: Stored<FunctionResource>,
      identity: WorkloadIdentity,
      route: {
        /** Undefined for a function without HTTP requests, which has no route. */
        host: string | undefined;
        config: PlatformConfigSpec;
        envSecret: string | undefined;
        gate: GateStep;
        /** The problem of its data source. */
        problem: string | undefined;
        signal: AbortSignal;
      },
    ): Promise<number | undefined> {
      const { host, config, envSecret, problem } = route;
      const { spec } = resource;
      const runWith = { ...runWithOf(config, resource), envSecret };
      const volume = await exclusiveVolume(kube, identity.namespace, spec.volumes);
      if (volume !== undefined && asksForSeveral(spec)) throw oneReplicaOnly('Function', volume);
      const desired = functionDeployment(identity, spec, { ...runWith, exclusive: volume !== undefined });
      const reportedPods = resource.status?.replicas ?? 0;
      const keep = (live: Stored<FunctionDeployment>, next: FunctionDeployment) =>
        mergedDeployment(live, next, reportedPods);
      const { minReplicas, maxReplicas } = functionLimits(spec, volume !== undefined);
      const least = Math.min(minReplicas, maxReplicas);
      const { object: deployment } = await ensureChildObject(kube, resource, desired, {
        keep,
        // The scaler would only do so seconds later, with a second rollout.
        initially: (deploymentObject) => withReplicas(deploymentObject, least),
        cached: true,
      });
      await ensureDisruptionBudget(kube, resource, { ...identity, kind: 'Function' }, least);
      const pods = await podsOf(identity);
      if (host === undefined && resource.status?.host !== undefined && !(await routing.remove(resource, identity))) {
        throw new NotYetError("the function's former route is still being deleted");
      }
      // Before the route, so that the interceptors know the host before the first request arrives.
      const reported = await writeStatus<FunctionResource>(
        kube,
        resource,
        servingStatus({ resource, host, config, deployment, pods, problem, now: clock.now() }),
      );
      const lookInMs =
        host === undefined
          ? await releaseOtherHosts(kube, identity.id, [], clock.now())
          : await routing.ensure(reported, identity, { ...route, host });
      if (!hasMoved(deployment)) return lookInMs;
      await collectCode(kube, resource, identity, { image: runWith.image });
      await collectEnvironments(kube, reported, envSecret, [deployment]);
      return lookInMs;
    },

    /** Whether there may be objects to delete. A route exists only after a status with its host. */
    mayExist(resource: Stored<FunctionResource>, identity: WorkloadIdentity): boolean {
      if (resource.status?.host !== undefined) return true;
      return !noneSeen(kube, kinds.Deployment, identity, managedLabels());
    },

    /**
     * Deletes the route and the disruption budget before the Deployment object, which shows that there may be others.
     * @returns whether all of it is deleted; its host claims are kept
     */
    async remove(resource: Stored<FunctionResource>, identity: WorkloadIdentity): Promise<boolean> {
      const { name, namespace } = identity;
      const routeGone = await routing.remove(resource, identity);
      const budgetGone = await removeDisruptionBudget(kube, resource, identity);
      const deploymentGone = await deleteChild(kube, resource, refIn(namespace, kinds.Deployment, name));
      return routeGone && budgetGone && deploymentGone;
    },
  };
}

function withReplicas(deployment: FunctionDeployment, replicas: number): FunctionDeployment {
  return { ...deployment, spec: { ...deployment.spec, replicas } };
}
