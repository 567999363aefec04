import type { KubeObject, Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { Informer } from '../../../runtime/kube/informer.ts';
import { serviceNameLabel, type EndpointSlice, type Service } from '../controllers/objects.ts';
import type { ServiceRef } from './objects.ts';

export interface Endpoint {
  address: string;
  port: number;
}

/** What a port of a Service leads to: the pods that take new requests, if the Service and the port exist. */
export type Found = Endpoint | 'no service' | 'no endpoint';

export interface Endpoints {
  start(): void;
  stop(): void;
  /** The pod whose turn it is, among those that serve and are not about to end. */
  next(namespace: string, service: ServiceRef): Found;
}

/** The pods behind Services, as their EndpointSlices list them. */
export function createEndpoints(services: Informer<Service>, slices: Informer<EndpointSlice>): Endpoints {
  const turns = new WeakMap<Service, number>();
  /** Undefined when it has to be made anew. */
  let ofService: Map<string, Stored<EndpointSlice>[]> | undefined;
  let unsubscribe: (() => void) | undefined;

  return {
    start() {
      unsubscribe = slices.onChange(() => {
        ofService = undefined;
      });
    },
    stop: () => unsubscribe?.(),
    next(namespace, { name, port: wanted }) {
      const service = services.get(name, namespace);
      const port = service?.spec.ports?.find((each) => each.port === wanted || each.name === wanted);
      if (!service || !port || service.spec.type === 'ExternalName') return 'no service';
      ofService ??= Map.groupBy(slices.list(), serviceOf);
      const listed = ofService.get(`${namespace}/${name}`) ?? [];
      const found = listed.flatMap((slice) => usable(slice, port.name ?? ''));
      const turn = turns.get(service) ?? 0;
      turns.set(service, turn + 1);
      return found[turn % found.length] ?? 'no endpoint';
    },
  };
}

function serviceOf({ metadata: { namespace = '', labels } }: KubeObject): string {
  return `${namespace}/${labels?.[serviceNameLabel] ?? ''}`;
}

function usable({ endpoints, ports }: EndpointSlice, portName: string): Endpoint[] {
  const port = ports.find(({ name }) => name === portName)?.port;
  if (port === undefined) return [];
  return endpoints
    .filter(({ conditions }) => conditions.serving && !conditions.terminating)
    .flatMap(({ addresses }) => addresses.map((address) => ({ address, port })));
}
