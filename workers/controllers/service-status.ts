import { isIP } from 'node:net';
import { serviceHost } from '../../infra/manifests/service.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { isPodLive, isPodReady, type Pod } from '../../runtime/contracts/pod.ts';
import {
  defaultPorts,
  type ServiceResource,
  type ServiceSpec,
  type ServiceStatus,
} from '../../runtime/contracts/resources/service.ts';
import { checkHost } from '../../runtime/domain/names.ts';
import { childrenAdoptedState, mergeConditions } from '../../runtime/kube/conditions.ts';
import { placementText } from './placement.ts';
import { releaseFault } from './release-fault.ts';

/**
 * The status after a successful reconcile. Pure.
 * @param pods of the managed server; undefined for an external service
 * @throws Problem for an invalid host
 */
export function observedStatus(
  { metadata, spec, status }: Stored<ServiceResource>,
  pods: readonly Stored<Pod>[] | undefined,
  now: Date,
): ServiceStatus {
  const { name, namespace = '', generation } = metadata;
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    ...(pods ? serverPhase(pods) : { phase: 'ready' as const }),
    host: externalHost(spec) ?? serviceHost({ name, namespace }),
    port: spec.external?.port ?? defaultPorts[spec.type],
    conditions: mergeConditions(status?.conditions, [childrenAdoptedState(generation)], now),
  };
}

function externalHost({ external }: ServiceSpec): string | undefined {
  if (!external) return undefined;
  return isIP(external.host) === 0 ? checkHost(external.host, 'external.host') : external.host;
}

function serverPhase(pods: readonly Stored<Pod>[]): Pick<ServiceStatus, 'phase' | 'message'> {
  if (pods.some((pod) => isPodLive(pod) && isPodReady(pod))) return { phase: 'ready' };
  const fault = releaseFault(pods);
  if (fault) return { phase: fault.final ? 'failed' : 'pending', message: fault.message };
  return { phase: 'pending', message: placementText(pods, 'the server') ?? 'The server is starting.' };
}
