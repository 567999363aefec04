import { once } from 'node:events';
import { rename, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Logger } from 'pino';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { EventRecorder } from '../../../runtime/kube/events.ts';
import type { Informers } from '../../../runtime/kube/informers.ts';
import { reachedEndpoints, type Endpoint } from '../controllers/endpoint-slice.ts';
import type { EndpointSlice, Service } from '../controllers/objects.ts';

/** An endpoint that does not accept a connection within this time is skipped. */
const connectMs = 2_000;

/** Makes Services reachable at their addresses and names, as kube-proxy and cluster DNS do. */
export interface ServiceProxy {
  start(): void;
  stop(): Promise<void>;
}

/** The API server itself listens at the address of its Service. */
function isForwarded({ metadata }: Service): boolean {
  return metadata.name !== 'kubernetes' || metadata.namespace !== 'default';
}

/**
 * Listens on every port of every Service and forwards connections to its ready endpoints in turn.
 * @param options.hostsFile receives a line `<address> <service>.<namespace>` for each Service. For each port with
 * exactly one ready pod it also receives `<pod address>:<pod port> <service>.<namespace>:<port>`, and the same with the
 * Service's address
 */
export function createServiceProxy(options: {
  informers: Informers;
  events: EventRecorder;
  hostsFile: string;
  log: Logger;
}): ServiceProxy {
  const { events, hostsFile } = options;
  const log = options.log.child({ part: 'service-proxy' });
  const services = options.informers.of<Service>(kinds.Service);
  const slices = options.informers.of<EndpointSlice>(kinds.EndpointSlice);
  const listeners = new Map<string, Server>();
  const sockets = new Set<Socket>();
  let work: Promise<void> = Promise.resolve();
  let written: string | undefined;
  let dirty = false;
  let stopped = false;

  const track = (socket: Socket, other?: Socket) => {
    sockets.add(socket);
    socket.on('error', () => (other ?? socket).destroy()).once('close', () => sockets.delete(socket));
  };
  const forward = async (client: Socket, endpoints: readonly Endpoint[]) => {
    track(client);
    for (const endpoint of endpoints) {
      const upstream = await connectTo(endpoint);
      if (!upstream) continue;
      track(upstream, client);
      client.once('close', () => upstream.destroy());
      client.pipe(upstream).pipe(client);
      return;
    }
    // kube-proxy rejects connections to a Service without endpoints in the same way.
    client.resetAndDestroy();
  };

  const listen = async (key: string, service: Stored<Service>, { name, port }: { name?: string; port: number }) => {
    const host = service.spec.clusterIP;
    let connectionCount = 0;
    const server = createServer({ allowHalfOpen: true }, (client) => {
      const endpoints = reachedEndpoints(service, name, slices.list());
      const first = connectionCount++ % Math.max(1, endpoints.length);
      void forward(client, [...endpoints.slice(first), ...endpoints.slice(0, first)]);
    });
    try {
      server.listen(port, host);
      await once(server, 'listening');
      server.on('error', (error) => log.warn({ err: error, key }, 'service port failed'));
      listeners.set(key, server);
    } catch (error) {
      const hint = port < 1024 ? '. Ports below 1024 need root or sysctl net.ipv4.ip_unprivileged_port_start=0' : '';
      const message = `Cannot listen on ${host}:${port}: ${String(error)}${hint}`;
      await events.record(service, { type: 'Warning', reason: 'PortNotOpened', message });
    }
  };

  const linesOf = (service: Stored<Service>): string[] => {
    const name = `${service.metadata.name}.${service.metadata.namespace}`;
    const lines = [`${service.spec.clusterIP} ${name}`];
    if (!isForwarded(service)) return lines;
    const pods = slices.list();
    for (const { port, name: portName } of service.spec.ports ?? []) {
      const [only, other] = reachedEndpoints(service, portName, pods);
      if (!only || other) continue;
      for (const host of [name, service.spec.clusterIP]) lines.push(`${only.host}:${only.port} ${host}:${port}`);
    }
    return lines;
  };

  const update = async () => {
    const current = services.list().filter(({ spec }) => !['', 'None'].includes(spec.clusterIP ?? ''));
    const text = current.flatMap(linesOf).toSorted().join('\n');
    if (text !== written) {
      await writeFile(`${hostsFile}.part`, text);
      await rename(`${hostsFile}.part`, hostsFile);
      written = text;
    }
    const desired = new Map(
      current.filter(isForwarded).flatMap((service) =>
        (service.spec.ports ?? []).map((port) => {
          const key = `${service.spec.clusterIP}:${port.port}/${port.name ?? ''}`;
          return [key, { service, port }] as const;
        }),
      ),
    );
    for (const [key, server] of listeners) {
      if (desired.has(key)) continue;
      server.close();
      listeners.delete(key);
    }
    for (const [key, { service, port }] of desired) {
      if (!listeners.has(key) && !stopped) await listen(key, service, port);
    }
  };

  const scheduleUpdate = () => {
    if (dirty || stopped) return;
    dirty = true;
    const run = () => {
      dirty = false;
      return update();
    };
    work = work.then(run).catch((error: unknown) => log.error({ err: error }, 'services not updated'));
  };

  return {
    start() {
      services.onChange(scheduleUpdate);
      slices.onChange(scheduleUpdate);
      scheduleUpdate();
    },
    async stop() {
      stopped = true;
      await work;
      for (const server of listeners.values()) server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function connectTo(endpoint: Endpoint): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ ...endpoint, allowHalfOpen: true });
    const timer = setTimeout(() => socket.destroy(new Error('connection timeout')), connectMs);
    const finish = (answer: Socket | undefined) => {
      clearTimeout(timer);
      socket.removeAllListeners('error');
      resolve(answer);
    };
    socket.once('connect', () => finish(socket));
    socket.once('error', () => finish(undefined));
  });
}
