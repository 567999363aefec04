import { randomInt } from 'node:crypto';
import { containerPortsAnnotation } from '../controllers/objects.ts';
import { isPortFree } from '../free-port.ts';
import { allContainers, type Container, type NodePod, type Probe } from './pod-spec.ts';

/** Below the range that the system uses for outgoing connections. */
const range = { first: 20_000, last: 29_999 };

/** Port numbers that are free on this machine. */
export interface PortPool {
  /** Takes a free port. @throws Error when there is none */
  take(): Promise<number>;
  /** Takes this port. @returns whether it is free */
  claim(port: number): Promise<boolean>;
  release(ports: Iterable<number>): void;
}

export function createPortPool({ first, last } = range): PortPool {
  const usedPorts = new Set<number>();
  // A random start: another node on this machine may have assigned ports to pods that do not listen yet.
  let next = randomInt(first, last + 1);
  const claim = async (port: number) => {
    if (usedPorts.has(port)) return false;
    // Taken before the check, so that no concurrent caller checks the same port.
    usedPorts.add(port);
    const free = await isPortFree(port);
    if (!free) usedPorts.delete(port);
    return free;
  };
  return {
    claim,
    async take() {
      for (let attempt = first; attempt <= last; attempt++) {
        const port = next;
        next = next === last ? first : next + 1;
        if (await claim(port)) return port;
      }
      throw new Error(`All ports for pods, ${first} to ${last}, are in use.`);
    },
    release(ports) {
      for (const port of ports) usedPorts.delete(port);
    },
  };
}

/** The port numbers in the containers' specs: the assigned ones once the pod is bound. */
export function declaredPorts(containers: readonly Container[]): number[] {
  return containers.flatMap(({ ports = [] }) => ports.map(({ containerPort }) => containerPort));
}

/** The ports of a container on which another program listens now. */
export async function findLostPorts(container: Container): Promise<number[]> {
  const ports = declaredPorts([container]);
  const free = await Promise.all(ports.map(isPortFree));
  return ports.filter((_, index) => !free[index]);
}

/** A bound pod's declared ports, by assigned port. */
function readAssignedPorts(pod: NodePod): Map<number, number> {
  const text = pod.metadata.annotations?.[containerPortsAnnotation] ?? '{}';
  const assigned = Object.entries(JSON.parse(text) as Record<string, number>);
  return new Map(assigned.map(([declared, port]) => [port, Number(declared)]));
}

/**
 * Binds a pod to this node and assigns a port of this machine to each declared port
 * (docs/decisions/0009-pods-as-processes.md). The assigned port replaces the declared one in `containerPort` and in
 * probes that use the number, and is in the environment as `PORT` and `<NAME>_PORT`. A container without ports gets the
 * ports of the others in variables of these names. A pod that was bound before keeps its ports if they are free.
 * @param lost for a pod that this node has bound before: the ports that it cannot keep
 * @returns the same pod when nothing changes
 */
export async function bindPod<T extends NodePod>(
  pod: T,
  nodeName: string,
  pool: PortPool,
  lost?: readonly number[],
): Promise<T> {
  const assigned = readAssignedPorts(pod);
  const numbers = new Map<number, number>();
  for (const current of declaredPorts(allContainers(pod))) {
    if (numbers.has(current)) continue;
    const keep = lost ? !lost.includes(current) : assigned.has(current) && (await pool.claim(current));
    numbers.set(current, keep ? current : await pool.take());
  }
  const hasMoved = [...numbers].some(([current, port]) => current !== port);
  if (!hasMoved && pod.spec.nodeName === nodeName) return pod;
  const declared = [...numbers].map(([current, port]) => [String(assigned.get(current) ?? current), port]);
  const annotations = {
    ...pod.metadata.annotations,
    ...(declared.length > 0 && { [containerPortsAnnotation]: JSON.stringify(Object.fromEntries(declared)) }),
  };
  const variables = portVariables(allContainers(pod), numbers);
  const rewrite = (containers: readonly Container[]) =>
    containers.map((container) => withPorts(container, numbers, variables));
  const { initContainers, containers } = pod.spec;
  const spec = {
    ...pod.spec,
    nodeName,
    ...(initContainers && { initContainers: rewrite(initContainers) }),
    containers: rewrite(containers),
  };
  return { ...pod, metadata: { ...pod.metadata, annotations }, spec };
}

/** The assigned port of each named port, by the name of its variable. */
function portVariables(containers: readonly Container[], numbers: ReadonlyMap<number, number>): Map<string, string> {
  const ports = containers.flatMap((container) => container.ports ?? []);
  return new Map(
    ports.flatMap(({ name, containerPort }) =>
      name === undefined ? [] : [[portVariable(name), String(numbers.get(containerPort) ?? containerPort)]],
    ),
  );
}

function withPorts(
  container: Container,
  numbers: ReadonlyMap<number, number>,
  named: ReadonlyMap<string, string>,
): Container {
  // A container without ports may refer to the ports of the container that it serves.
  if (!container.ports) {
    const env = container.env?.map((entry) => ({ ...entry, ...assignedValue(entry.name, named) }));
    return env?.some(({ name }) => named.has(name)) ? { ...container, env } : container;
  }
  const ports = container.ports.map((port) => ({
    ...port,
    containerPort: numbers.get(port.containerPort) ?? port.containerPort,
  }));
  const variables = ports.flatMap(({ name, containerPort }, index) => [
    ...(index === 0 ? [{ name: 'PORT', value: String(containerPort) }] : []),
    ...(name === undefined ? [] : [{ name: portVariable(name), value: String(containerPort) }]),
  ]);
  const env = (container.env ?? []).filter(({ name }) => !variables.some((variable) => variable.name === name));
  const probes = Object.fromEntries(
    (['startupProbe', 'readinessProbe', 'livenessProbe'] as const).flatMap((name) => {
      const probe = container[name];
      return probe ? [[name, withProbePort(probe, numbers)]] : [];
    }),
  );
  return { ...container, ...probes, ports, env: [...env, ...variables] };
}

function withProbePort(probe: Probe, numbers: ReadonlyMap<number, number>): Probe {
  const { httpGet, tcpSocket } = probe;
  const assigned = (port: string | number) => (typeof port === 'number' ? (numbers.get(port) ?? port) : port);
  return {
    ...probe,
    ...(httpGet && { httpGet: { ...httpGet, port: assigned(httpGet.port) } }),
    ...(tcpSocket && { tcpSocket: { port: assigned(tcpSocket.port) } }),
  };
}

function assignedValue(name: string, named: ReadonlyMap<string, string>): { value?: string } {
  const value = named.get(name);
  return value === undefined ? {} : { value };
}

/** The variable of a named port: `ADMIN_PORT` for `admin`. */
function portVariable(portName: string): string {
  return `${portName.toUpperCase().replaceAll('-', '_')}_PORT`;
}
