import { randomInt } from 'node:crypto';
import { containerPortsAnnotation } from '../controllers/objects.ts';
import { isPortFree } from '../free-port.ts';
import { allContainers, type Container, type NodePod, type Probe } from './pod-spec.ts';

/** Below the numbers that the system gives to outgoing connections. */
const range = { first: 20_000, last: 29_999 };

/** Port numbers that nobody else on this machine listens at. */
export interface PortPool {
  /** A free number. @throws Error when there is none */
  take(): Promise<number>;
  /** Takes this very number if it is free. */
  claim(port: number): Promise<boolean>;
  release(ports: Iterable<number>): void;
}

export function createPortPool({ first, last } = range): PortPool {
  const taken = new Set<number>();
  // Another node on this machine gives its pods numbers, too, at which nobody listens before they have started.
  let next = randomInt(first, last + 1);
  const claim = async (port: number) => {
    if (taken.has(port)) return false;
    // Before the look, so that nobody else looks at it meanwhile.
    taken.add(port);
    const free = await isPortFree(port);
    if (!free) taken.delete(port);
    return free;
  };
  return {
    claim,
    async take() {
      for (let tried = first; tried <= last; tried++) {
        const port = next;
        next = next === last ? first : next + 1;
        if (await claim(port)) return port;
      }
      throw new Error(`no port from ${first} to ${last} is free`);
    },
    release(ports) {
      for (const port of ports) taken.delete(port);
    },
  };
}

/** The ports that containers declare, by their true numbers where their pod has been bound before. */
export function declaredPorts(containers: readonly Container[]): number[] {
  return containers.flatMap(({ ports = [] }) => ports.map(({ containerPort }) => containerPort));
}

/** Those of a container's ports at which another program listens by now. */
export async function lostPorts(container: Container): Promise<number[]> {
  const ports = declaredPorts([container]);
  const free = await Promise.all(ports.map(isPortFree));
  return ports.filter((_, index) => !free[index]);
}

/** A pod's declared port numbers by true ones. */
function givenPorts(pod: NodePod): Map<number, number> {
  const text = pod.metadata.annotations?.[containerPortsAnnotation] ?? '{}';
  const given = Object.entries(JSON.parse(text) as Record<string, number>);
  return new Map(given.map(([declared, port]) => [port, Number(declared)]));
}

/**
 * The pod on this node with a port of its own for each that its containers declare (decision 0009): in `containerPort`
 * in probes that name it by its number, and in the environment as `PORT` and `<NAME>_PORT`; a container without ports that
 * has such a variable is told the other one's. Bound again, it keeps its numbers while they are free.
 * @param lost of a pod that this node has bound before: those of its numbers that it cannot keep
 * @returns the same pod when there is nothing to change
 */
export async function bind<T extends NodePod>(
  pod: T,
  nodeName: string,
  pool: PortPool,
  lost?: readonly number[],
): Promise<T> {
  const given = givenPorts(pod);
  const numbers = new Map<number, number>();
  for (const present of declaredPorts(allContainers(pod))) {
    if (numbers.has(present)) continue;
    const keep = lost ? !lost.includes(present) : given.has(present) && (await pool.claim(present));
    numbers.set(present, keep ? present : await pool.take());
  }
  const moved = [...numbers].some(([present, port]) => present !== port);
  if (!moved && pod.spec.nodeName === nodeName) return pod;
  const declared = [...numbers].map(([present, port]) => [String(given.get(present) ?? present), port]);
  const annotations = {
    ...pod.metadata.annotations,
    ...(declared.length > 0 && { [containerPortsAnnotation]: JSON.stringify(Object.fromEntries(declared)) }),
  };
  const named = portVariables(allContainers(pod), numbers);
  const changed = (containers: readonly Container[]) => containers.map((each) => withPorts(each, numbers, named));
  const { initContainers, containers } = pod.spec;
  const spec = {
    ...pod.spec,
    nodeName,
    ...(initContainers && { initContainers: changed(initContainers) }),
    containers: changed(containers),
  };
  return { ...pod, metadata: { ...pod.metadata, annotations }, spec };
}

/** The true number of each named port of a pod, by the variable that tells it. */
function portVariables(containers: readonly Container[], numbers: ReadonlyMap<number, number>): Map<string, string> {
  const ports = containers.flatMap((container) => container.ports ?? []);
  return new Map(
    ports.flatMap(({ name, containerPort }) =>
      name === undefined ? [] : [[variableOf(name), String(numbers.get(containerPort) ?? containerPort)]],
    ),
  );
}

function withPorts(
  container: Container,
  numbers: ReadonlyMap<number, number>,
  named: ReadonlyMap<string, string>,
): Container {
  // One without ports of its own may be told those of the container that it is there for.
  if (!container.ports) {
    const env = container.env?.map((entry) => ({ ...entry, ...translated(entry.name, named) }));
    return env?.some(({ name }) => named.has(name)) ? { ...container, env } : container;
  }
  const ports = container.ports.map((port) => ({
    ...port,
    containerPort: numbers.get(port.containerPort) ?? port.containerPort,
  }));
  const told = ports.flatMap(({ name, containerPort }, index) => [
    ...(index === 0 ? [{ name: 'PORT', value: String(containerPort) }] : []),
    ...(name === undefined ? [] : [{ name: variableOf(name), value: String(containerPort) }]),
  ]);
  const env = (container.env ?? []).filter(({ name }) => !told.some((variable) => variable.name === name));
  const probes = Object.fromEntries(
    (['startupProbe', 'readinessProbe', 'livenessProbe'] as const).flatMap((name) => {
      const probe = container[name];
      return probe ? [[name, withProbePort(probe, numbers)]] : [];
    }),
  );
  return { ...container, ...probes, ports, env: [...env, ...told] };
}

function withProbePort(probe: Probe, numbers: ReadonlyMap<number, number>): Probe {
  const { httpGet, tcpSocket } = probe;
  const given = (port: string | number) => (typeof port === 'number' ? (numbers.get(port) ?? port) : port);
  return {
    ...probe,
    ...(httpGet && { httpGet: { ...httpGet, port: given(httpGet.port) } }),
    ...(tcpSocket && { tcpSocket: { port: given(tcpSocket.port) } }),
  };
}

function translated(name: string, named: ReadonlyMap<string, string>): { value?: string } {
  const value = named.get(name);
  return value === undefined ? {} : { value };
}

/** `admin` is told as `ADMIN_PORT`. */
function variableOf(portName: string): string {
  return `${portName.toUpperCase().replaceAll('-', '_')}_PORT`;
}
