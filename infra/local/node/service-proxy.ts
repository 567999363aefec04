import { rename, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Logger } from 'pino';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { EventRecorder } from '../../../runtime/kube/events.ts';
import type { Informers } from '../../../runtime/kube/informers.ts';
import { serviceNameLabel, type EndpointSlice, type Service } from '../controllers/objects.ts';

/** An endpoint that accepts no connection by then is passed over. */
const connectMs = 2_000;

/** Makes Services reachable at their addresses and names, as kube-proxy and the cluster's DNS do. */
export interface ServiceProxy {
  start(): void;
  stop(): Promise<void>;
  /** Resolves when what was seen so far is in place. */
  settled(): Promise<void>;
}

interface Wanted {
  service: Stored<Service>;
  port: { name?: string; port: number };
}

interface Listener {
  server: Server;
  /** Where to forward now; a round-robin turns it. */
  turn: number;
}

/**
 * Listens at every port of every Service and forwards connections to its ready endpoints, one after the other.
 * @param options.hostsFile gets a line `<address> <service>.<namespace>` for each Service
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
  const listeners = new Map<string, Listener>();
  const sockets = new Set<Socket>();
  let work: Promise<void> = Promise.resolve();
  let dirty = false;
  let stopped = false;

  const addressed = () =>
    services.list().filter(({ spec }) => spec.clusterIP !== undefined && !['', 'None'].includes(spec.clusterIP));

  const endpointsOf = (service: Service, portName: string): { host: string; port: number }[] =>
    slices.list().flatMap(({ metadata, endpoints, ports }) => {
      if (metadata.namespace !== service.metadata.namespace) return [];
      if (metadata.labels?.[serviceNameLabel] !== service.metadata.name) return [];
      const port = ports.find(({ name }) => name === portName)?.port;
      const ready = (endpoints ?? []).filter(({ conditions }) => conditions.ready);
      return port === undefined ? [] : ready.flatMap(({ addresses }) => addresses.map((host) => ({ host, port })));
    });

  const forward = async (client: Socket, key: string, service: Service, portName: string) => {
    sockets.add(client);
    client.on('error', () => client.destroy()).once('close', () => sockets.delete(client));
    const listener = listeners.get(key);
    const endpoints = endpointsOf(service, portName);
    const first = listener ? listener.turn++ : 0;
    for (let n = 0; n < endpoints.length; n++) {
      const endpoint = endpoints[(first + n) % endpoints.length];
      const upstream = endpoint && (await connected(endpoint));
      if (!upstream) continue;
      sockets.add(upstream);
      upstream.on('error', () => client.destroy()).once('close', () => sockets.delete(upstream));
      client.once('close', () => upstream.destroy());
      client.pipe(upstream).pipe(client);
      return;
    }
    // As the kernel refuses where a Service has no endpoints.
    client.resetAndDestroy();
  };

  const listen = async (key: string, service: Stored<Service>, port: { name?: string; port: number }) => {
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: false }, (client) => {
      void forward(client, key, service, port.name ?? '');
    });
    const failure = await new Promise<Error | undefined>((resolve) => {
      server.once('error', resolve);
      server.listen(port.port, service.spec.clusterIP, () => resolve(undefined));
    });
    if (!failure) {
      server.on('error', (error) => log.warn({ err: error, key }, 'service port failed'));
      listeners.set(key, { server, turn: 0 });
      return;
    }
    const cure = port.port < 1024 ? '; ports below 1024 need root or sysctl net.ipv4.ip_unprivileged_port_start=0' : '';
    const message = `port ${port.port} cannot be opened at ${service.spec.clusterIP}: ${failure.message}${cure}`;
    await events.record(service, { type: 'Warning', reason: 'PortNotOpened', message });
  };

  const bring = async () => {
    const present = addressed();
    const lines = present.map(({ metadata, spec }) => `${spec.clusterIP} ${metadata.name}.${metadata.namespace}`);
    await writeFile(`${hostsFile}.part`, lines.toSorted().join('\n'));
    await rename(`${hostsFile}.part`, hostsFile);
    const wanted = new Map(
      present.flatMap((service) =>
        (service.spec.ports ?? [])
          .filter(({ protocol = 'TCP' }) => protocol === 'TCP')
          .map((port): [string, Wanted] => [
            `${service.spec.clusterIP}:${port.port}/${port.name ?? ''}`,
            { service, port },
          ]),
      ),
    );
    for (const [key, { server }] of listeners) {
      if (wanted.has(key)) continue;
      server.close();
      listeners.delete(key);
    }
    for (const [key, { service, port }] of wanted) {
      if (!listeners.has(key) && !stopped) await listen(key, service, port);
    }
  };

  const wake = () => {
    if (dirty || stopped) return;
    dirty = true;
    work = work
      .then(() => {
        dirty = false;
        return bring();
      })
      .catch((error: unknown) => log.error({ err: error }, 'services not brought up to date'));
  };

  return {
    start() {
      services.onChange(wake);
      wake();
    },
    async stop() {
      stopped = true;
      await work;
      for (const { server } of listeners.values()) server.close();
      for (const socket of sockets) socket.destroy();
      listeners.clear();
    },
    settled: () => work,
  };
}

function connected(endpoint: { host: string; port: number }): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ ...endpoint, allowHalfOpen: true });
    const timer = setTimeout(() => socket.destroy(new Error('no connection in time')), connectMs);
    const settle = (answer: Socket | undefined) => {
      clearTimeout(timer);
      socket.removeAllListeners('error');
      resolve(answer);
    };
    socket.once('connect', () => settle(socket));
    socket.once('error', () => settle(undefined));
  });
}
