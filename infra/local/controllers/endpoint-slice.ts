import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { isPodEnded, isPodReady, type Pod } from '../../../runtime/contracts/pod.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { ControllerDefinition } from '../../../runtime/kube/controller.ts';
import { includesDesired } from '../../../runtime/kube/covers.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { containerPortsAnnotation, serviceNameLabel, type EndpointSlice, type Service } from './objects.ts';
import { namespaceOf, contentHash, ownerReferenceTo, listControlled, createOnce, remove, selectorOf } from './pods.ts';

/**
 * Maintains a Service's EndpointSlices. Each pod has its own slice, since a slice's ports apply to all its endpoints
 * and every pod has its own port numbers (docs/decisions/0009-pods-as-processes.md). Pods that are not ready are listed
 * as such.
 */
export function endpointSliceController(kube: KubeClient): ControllerDefinition<Service> {
  return {
    name: 'endpoint-slice',
    kind: kinds.Service,
    watches: [
      {
        kind: kinds.Pod,
        keysOf: (pod, services) =>
          services()
            .filter((service) => selects(service as Stored<Service>, pod as Stored<Pod>))
            .map(({ metadata }) => metadata),
      },
      {
        kind: kinds.EndpointSlice,
        keysOf: (object) => {
          const name = object.metadata.labels?.[serviceNameLabel];
          return name === undefined ? [] : [{ name, ...namespaceOf(object) }];
        },
      },
    ],
    async reconcile({ object }) {
      // The garbage collector removes the slices of a deleted Service.
      if (!object || object.metadata.deletionTimestamp !== undefined) return;
      const labelSelector = selectorOf(object.spec.selector ?? {});
      const pods =
        labelSelector === '' ? [] : (await kube.list<Pod>(kinds.Pod, { ...namespaceOf(object), labelSelector })).items;
      const desired = pods.flatMap((pod) => sliceOf(object, pod) ?? []);
      const own = { [serviceNameLabel]: object.metadata.name };
      const current = await listControlled<EndpointSlice>(kube, kinds.EndpointSlice, object, own);
      const names = new Set(desired.map(({ metadata }) => metadata.name));
      for (const slice of current) if (!names.has(slice.metadata.name)) await remove(kube, slice);
      for (const slice of desired) {
        const live = current.find(({ metadata }) => metadata.name === slice.metadata.name);
        if (!live) await createOnce(kube, slice);
        else if (!includesDesired(live, slice)) await kube.replace({ ...slice, metadata: live.metadata });
      }
    },
  };
}

/** An address and port of a pod. */
export interface Endpoint {
  host: string;
  port: number;
}

/** The ready endpoints of a Service's port. The port name may be missing. Pure. */
export function readyEndpoints(service: Service, portName = '', slices: readonly EndpointSlice[]): Endpoint[] {
  return endpointsOf(service, portName, slices, ({ ready }) => ready);
}

/**
 * The endpoints that connections to the Service's own address reach: the ready ones, and without any, as in kube-proxy,
 * those that still serve while they terminate. Pure.
 */
export function reachedEndpoints(service: Service, portName = '', slices: readonly EndpointSlice[]): Endpoint[] {
  const ready = readyEndpoints(service, portName, slices);
  return ready.length > 0 ? ready : endpointsOf(service, portName, slices, ({ serving }) => serving);
}

function endpointsOf(
  { metadata: { name, namespace } }: Service,
  portName: string,
  slices: readonly EndpointSlice[],
  accepts: (conditions: EndpointSlice['endpoints'][number]['conditions']) => boolean,
): Endpoint[] {
  return slices
    .filter(({ metadata }) => metadata.namespace === namespace && metadata.labels?.[serviceNameLabel] === name)
    .flatMap(({ endpoints, ports }) => {
      const port = ports.find((candidate) => candidate.name === portName)?.port;
      const accepted = endpoints.filter(({ conditions }) => accepts(conditions));
      return port === undefined ? [] : accepted.flatMap(({ addresses }) => addresses.map((host) => ({ host, port })));
    });
}

/** Whether a Service's selector matches a pod. Pure. */
function selects(service: Service, pod: Pod): boolean {
  const { selector } = service.spec;
  if (!selector || service.metadata.namespace !== pod.metadata.namespace) return false;
  return Object.entries(selector).every(([label, value]) => pod.metadata.labels?.[label] === value);
}

function sliceOf(service: Stored<Service>, pod: Stored<Pod>): EndpointSlice | undefined {
  const { name, namespace, uid } = pod.metadata;
  const address = pod.status?.podIP;
  if (address === undefined || namespace === undefined || isPodEnded(pod)) return undefined;
  const ports = (service.spec.ports ?? []).flatMap(({ name: portName = '', port, targetPort = port, protocol }) => {
    const number = portOf(pod, targetPort);
    return number === undefined ? [] : [{ name: portName, port: number, protocol: protocol ?? 'TCP' }];
  });
  const terminating = pod.metadata.deletionTimestamp !== undefined;
  const serving = isPodReady(pod);
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${service.metadata.name}-${contentHash(uid).slice(0, 5)}`,
      namespace,
      labels: {
        [serviceNameLabel]: service.metadata.name,
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
      },
      ownerReferences: [ownerReferenceTo(service)],
    },
    addressType: 'IPv4',
    endpoints: [
      {
        addresses: [address],
        conditions: { ready: serving && !terminating, serving, terminating },
        targetRef: { kind: 'Pod', namespace, name, uid },
      },
    ],
    ports,
  };
}

/** The pod's port for a Service's `targetPort`; undefined for a name that no container declares. */
function portOf(pod: Pod, target: number | string): number | undefined {
  const ports = pod.spec.containers.flatMap((container) => container.ports ?? []);
  if (typeof target === 'string') return ports.find(({ name }) => name === target)?.containerPort;
  const assigned = JSON.parse(pod.metadata.annotations?.[containerPortsAnnotation] ?? '{}') as Record<string, number>;
  return assigned[target] ?? target;
}
