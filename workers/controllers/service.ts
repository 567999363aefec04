import { isIP } from 'node:net';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import {
  defaultPorts,
  type ServiceResource,
  type ServiceSpec,
  type ServiceStatus,
} from '../../runtime/contracts/resources/service.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { workloadFinalizer } from '../../runtime/domain/labels.ts';
import { checkHost } from '../../runtime/domain/names.ts';
import { releaseName } from '../../runtime/kube/claims.ts';
import { childrenAdoptedState, mergeConditions } from '../../runtime/kube/conditions.ts';
import type { ControllerDefinition } from '../../runtime/kube/controller.ts';
import type { EventRecorder } from '../../runtime/kube/events.ts';
import { removeFinalizer } from '../../runtime/kube/finalizers.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../runtime/kube/status.ts';
import { createStopReport } from './stop-report.ts';
import { ensureIdentity, holdClaims, identityOf } from './workload.ts';

export interface ServiceControllerOptions {
  kube: KubeClient;
  events: Pick<EventRecorder, 'record'>;
  clock: Clock;
}

/**
 * Makes a Service known: holds its name among the workloads, and says where an external one is reached. One that the
 * platform would have to run stays `pending`.
 */
export function serviceController(options: ServiceControllerOptions): ControllerDefinition<ServiceResource> {
  const { kube, clock } = options;
  const reportStop = createStopReport(options);

  const bringAbout = async (object: Stored<ServiceResource>): Promise<void> => {
    const { workload: service } = await ensureIdentity(kube, object);
    await holdClaims(kube, service);
    await writeStatus<ServiceResource>(kube, service, observedStatus(service, clock.now()));
  };

  const finalize = async (service: Stored<ServiceResource>): Promise<void> => {
    // Without an identity it never held a name.
    if (identityOf(service)) await releaseName(kube, service);
    await removeFinalizer(kube, service, workloadFinalizer);
  };

  return {
    name: 'Service',
    kind: kinds.ServiceResource,
    watches: [
      // A name that is given back may be one that a service waits for.
      {
        kind: kinds.WorkloadName,
        ignoreAdded: true,
        keysOf: ({ metadata: { name, namespace } }) => [{ name, ...(namespace !== undefined && { namespace }) }],
      },
    ],
    async reconcile({ object: service }) {
      if (!service) return;
      if (service.metadata.deletionTimestamp !== undefined) return finalize(service);
      try {
        await bringAbout(service);
      } catch (error) {
        await reportStop(kinds.ServiceResource, service, error);
        throw error;
      }
    },
  };
}

/** The status after a pass that reached its end. @throws Problem for a host that is none */
function observedStatus({ metadata, spec, status }: Stored<ServiceResource>, now: Date): ServiceStatus {
  const { generation } = metadata;
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    ...reachOf(spec),
    conditions: mergeConditions(status?.conditions, [childrenAdoptedState(generation)], now),
  };
}

function reachOf({ type, external }: ServiceSpec): Pick<ServiceStatus, 'phase' | 'message' | 'host' | 'port'> {
  if (!external) {
    const message = `The platform does not run services of type "${type}" yet; make one with "external" for one that runs elsewhere.`;
    return { phase: 'pending', message };
  }
  const host = isIP(external.host) === 0 ? checkHost(external.host, 'external.host') : external.host;
  return { phase: 'ready', host, port: external.port ?? defaultPorts[type] };
}
