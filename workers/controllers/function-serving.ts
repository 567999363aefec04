import { functionDeployment, type FunctionDeployment } from '../../infra/manifests/function.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import { asksForSeveral, type FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import { idLabel, kindLabel, managedLabels, roleLabel } from '../../runtime/domain/labels.ts';
import { deleteChild, ensureChild, NotYetError } from '../../runtime/kube/children.ts';
import { releaseOtherHosts } from '../../runtime/kube/claims.ts';
import { writeStatus } from '../../runtime/kube/status.ts';
import { exclusiveVolume, oneReplicaOnly } from '../../runtime/kube/volume-users.ts';
import { noneSeen, refIn } from './function-child.ts';
import { collectCode, runWithOf } from './function-code.ts';
import { collectEnvironments } from './function-environment.ts';
import { createRouting, type RoutingOptions } from './function-routing.ts';
import { hasMoved, keptDeployment } from './function-settings.ts';
import { servingStatus } from './function-status.ts';
import type { GateStep } from './gate-step.ts';
import type { WorkloadIdentity } from './workload.ts';

/** What a function has that is called by requests or for events: a Deployment, whose count others decide, and a route for requests. */
export function createServing(options: RoutingOptions) {
  const { kube, clock } = options;
  const routing = createRouting(options);

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
    /** @returns in how many ms to look again */
    async ensure(
      resource: Stored<FunctionResource>,
      identity: WorkloadIdentity,
      route: {
        /** Undefined for a function that is called for events only: nothing leads to it. */
        host: string | undefined;
        config: PlatformConfigSpec;
        envSecret: string | undefined;
        gate: GateStep;
        /** What is wrong with its data source. */
        problem: string | undefined;
        signal: AbortSignal;
      },
    ): Promise<number | undefined> {
      const { host, config, envSecret, problem } = route;
      const { spec } = resource;
      const runWith = { ...runWithOf(config, resource), envSecret };
      const volume = await exclusiveVolume(kube, identity.namespace, spec.volumes);
      if (volume !== undefined && asksForSeveral(spec)) throw oneReplicaOnly('Function', volume);
      const wanted = functionDeployment(identity, spec, { ...runWith, exclusive: volume !== undefined });
      const written = await ensureChild(kube, resource, wanted, { keep: keptDeployment, cached: true });
      const { deployment, pods } = await observe(identity, written === 'unchanged');
      if (host === undefined && resource.status?.host !== undefined && !(await routing.remove(resource, identity))) {
        throw new NotYetError("the function's former route is still being deleted");
      }
      // Before the route: the interceptors know the host by the status, and so before the first request comes.
      const reported = await writeStatus<FunctionResource>(
        kube,
        resource,
        servingStatus({ resource, host, config, deployment, pods, problem, now: clock.now() }),
      );
      const lookInMs =
        host === undefined
          ? await releaseOtherHosts(kube, identity.id, [], clock.now())
          : await routing.ensure(reported, identity, { ...route, host });
      if (!deployment || !hasMoved(deployment)) return lookInMs;
      await collectCode(kube, resource, identity, runWith);
      await collectEnvironments(kube, reported, envSecret, [deployment]);
      return lookInMs;
    },

    /** Whether there may be something to remove. A route is there only after a status that names its host. */
    mayExist(resource: Stored<FunctionResource>, identity: WorkloadIdentity): boolean {
      if (resource.status?.host !== undefined) return true;
      return !noneSeen(kube, kinds.Deployment, identity, managedLabels(), identity.namespace);
    },

    /** First nothing leads to the function any more. @returns whether all of it is gone; its hosts are held still */
    async remove(resource: Stored<FunctionResource>, identity: WorkloadIdentity): Promise<boolean> {
      const { name, namespace } = identity;
      const routeGone = await routing.remove(resource, identity);
      const deploymentGone = await deleteChild(kube, resource, refIn(namespace, kinds.Deployment, name));
      return routeGone && deploymentGone;
    },
  };
}
