import { once } from 'node:events';
import { connect } from 'node:net';
import { objectRoutes, type ObjectRoutes } from '../../runtime/api/object-routes.ts';
import { environmentQuery } from '../../runtime/contracts/api/common.ts';
import { forwardProtocol, portForwardQuery } from '../../runtime/contracts/api/port-forward.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import type { ServiceResource } from '../../runtime/contracts/resources/service.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { AuditAction } from '../../runtime/domain/audit.ts';
import type { Route } from '../../runtime/http/route.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { findRunningPod } from '../../runtime/workloads/running-pods.ts';
import { createPodReader } from './pod-reader.ts';
import { relayTcp, type PodConnection } from './relay.ts';

export interface PortForwardDependencies {
  kube: KubeClient;
  clock: Clock;
  /** How long a connection may be silent, in ms. */
  idleMs: number;
}

/** How long a pod may take to accept a connection, in ms. */
const connectMs = 10_000;

/** A port of a workload, and the container whose pods listen on it. */
interface Target {
  port: number | undefined;
  container: string;
}

/** `GET …/port-forward` of apps and managed services (docs/decisions/0048-exec-and-port-forward.md). */
export function createPortForwardRoutes(dependencies: PortForwardDependencies): Route[] {
  const { kube } = dependencies;
  return [
    forwardRoute(objectRoutes<App>(kube, 'App'), dependencies, {
      action: 'app.port-forward',
      summary: 'A WebSocket: one TCP connection to the port of an app, in one of its pods.',
      targetOf: ({ spec }) => ({ port: spec.port, container: 'app' }),
    }),
    forwardRoute(objectRoutes<ServiceResource>(kube, 'Service'), dependencies, {
      action: 'service.port-forward',
      summary: 'A WebSocket: one TCP connection to a managed service.',
      targetOf({ metadata, spec, status }) {
        if (!spec.external) return { port: status?.port, container: spec.type };
        const message = `The service "${metadata.name}" is external. Connect to ${spec.external.host} directly.`;
        throw new Problem('invalid_value', message);
      },
    }),
  ];
}

function forwardRoute<T extends App | ServiceResource>(
  objects: ObjectRoutes<T>,
  { kube, clock, idleMs }: PortForwardDependencies,
  { action, summary, targetOf }: { action: AuditAction; summary: string; targetOf: (workload: T) => Target },
): Route {
  return objects.route({
    method: 'GET',
    path: '/port-forward',
    access: { project: 'deployer' },
    summary,
    audit: action,
    query: environmentQuery.extend(portForwardQuery.shape),
    webSocket: forwardProtocol,
    replies: { 101: null },
    async handle({ query, findLiving, signal, log, actor }) {
      const workload = await findLiving();
      const { port, container } = targetOf(workload);
      if (query.port !== undefined && port !== undefined && query.port !== port) {
        const message = `"${workload.metadata.name}" listens on port ${port}. No other port can be reached.`;
        throw new Problem('invalid_value', message, { details: { field: 'port' } });
      }
      const pod = await findRunningPod(kube, workload, { container });
      const { name } = pod.metadata;
      const podConnection = await connectTo(pod, container, signal);
      return {
        status: 101,
        audit: { pod: name, port },
        useSocket(client) {
          const serve = async () => {
            const end = await relayTcp(client, podConnection, { idleMs, clock });
            log.info({ action, actor, pod: name, port, ...end }, 'session ended');
          };
          void serve();
          podConnection.socket.resume();
        },
      };
    },
  });
}

/**
 * Connects to the port that a pod's container declares first. In the embedded cluster it is another one than the workload's
 * (docs/decisions/0009-pods-as-processes.md), and all other ports of the address belong to others.
 * @throws Problem `not_ready`
 */
async function connectTo(pod: Pod, container: string, signal: AbortSignal): Promise<PodConnection> {
  const port = pod.spec.containers.find(({ name }) => name === container)?.ports?.[0]?.containerPort;
  const host = pod.status?.podIP;
  const refused = (cause?: unknown) =>
    new Problem('not_ready', `The pod "${pod.metadata.name}" does not accept connections now. Check its logs.`, {
      cause,
    });
  if (port === undefined || host === undefined) throw refused();
  const reader = createPodReader();
  const socket = connect({ host, port, allowHalfOpen: true, noDelay: true, onread: reader.onread });
  socket.pause();
  const abort = () => socket.destroy();
  signal.addEventListener('abort', abort, { once: true });
  socket.once('close', () => signal.removeEventListener('abort', abort));
  try {
    await once(socket, 'connect', { signal: AbortSignal.any([signal, AbortSignal.timeout(connectMs)]) });
    return { socket, reader };
  } catch (error) {
    socket.destroy();
    throw refused(error);
  } finally {
    // `close` reports it.
    socket.on('error', () => undefined);
  }
}
