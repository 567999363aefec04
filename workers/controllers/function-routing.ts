import { functionRoute, functionRouteName } from '../../infra/manifests/function.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { FunctionResource, FunctionStatus } from '../../runtime/contracts/resources/function.ts';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { systemNamespace } from '../../runtime/domain/labels.ts';
import { releaseOtherHosts } from '../../runtime/kube/claims.ts';
import { setCondition } from '../../runtime/kube/conditions.ts';
import type { EventRecorder } from '../../runtime/kube/events.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../runtime/kube/status.ts';
import type { ProbeGate } from './gate-probe.ts';
import type { GateOutcome, GateStep } from './gate-step.ts';
import { createGateWatch } from './gate-watch.ts';
import { deleteRoute, ensureRouteParts, ensureRoute } from './route-objects.ts';
import type { WorkloadIdentity } from './workload.ts';

export interface RoutingOptions {
  kube: KubeClient;
  clock: Clock;
  events: Pick<EventRecorder, 'record'>;
  /** Asks the ingress whether a route requires an API key. */
  probeGate: ProbeGate;
}

/** The route of a function with its Middlewares in the system namespace, and its gate. */
export function createRouting(options: RoutingOptions) {
  const { kube, clock, events } = options;
  const gates = createGateWatch(options);

  return {
    /**
     * @param resource with the status of this reconcile
     * @returns milliseconds until the next check
     */
    async ensure(
      resource: Stored<FunctionResource>,
      identity: WorkloadIdentity,
      { host, config, gate, signal }: { host: string; config: PlatformConfigSpec; gate: GateStep; signal: AbortSignal },
    ): Promise<number | undefined> {
      const { entryPoints, scheme } = config;
      const { security } = resource.spec;
      const hosts = [host];
      const route = functionRoute(identity, { hosts, entryPoints, scheme, gated: gate.demanded, security });
      await ensureRouteParts(kube, undefined, route);
      const changed = await ensureRoute(kube, undefined, route, gate);
      // The function's previous host is served until the route has changed.
      await releaseOtherHosts(kube, identity.id, hosts, clock.now());
      const outcome = await gates.check(resource, gate, { routed: true, changed, hosts, config, signal });
      const status = gateStatus(resource.status, outcome, clock.now());
      const after = await writeStatus<FunctionResource>(kube, resource, status);
      if (outcome.event) await events.record(after, outcome.event);
      return outcome.againInMs;
    },

    /**
     * Deletes the route, and then the Middlewares that only it uses.
     * @returns whether all of it is deleted; the host claims are kept
     */
    async remove(resource: Stored<FunctionResource>, { id }: WorkloadIdentity): Promise<boolean> {
      gates.forget(resource);
      return deleteRoute(kube, undefined, { id, name: functionRouteName(id), namespace: systemNamespace });
    },
  };
}

/** The status with the state of the gate; unchanged for a function that never had one. Pure. */
function gateStatus(status: FunctionStatus = {}, { phase, since, state }: GateOutcome, now: Date): FunctionStatus {
  if (!state || since === undefined) return status;
  return { ...status, gate: phase, gateSince: since, conditions: setCondition(status.conditions, state, now) };
}
