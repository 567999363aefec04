import type { V1Container, V1Volume } from '@kubernetes/client-node';
import { eventsAudience } from '../../runtime/contracts/event-exchange.ts';
import type { Json } from '../../runtime/contracts/kubernetes.ts';
import { functionLimits, type FunctionSpec } from '../../runtime/contracts/resources/function.ts';
import { systemNamespace } from '../../runtime/domain/labels.ts';
import { containerSecurity } from './platform/pod.ts';
import { eventsService } from './platform/network.ts';

/** The name of the container that fetches events and posts them to the function. */
const eventContainer = 'svc-poll';

const tokenDirectory = '/var/run/svc/events';
/** The lifetime of a token; the kubelet replaces it well before it expires. */
const tokenSeconds = 3_600;

/** The parts that a pod has in addition for a function with an event source. */
export interface EventSidecar {
  container: V1Container;
  volume: Json<V1Volume>;
}

/**
 * The container that leases events from the platform and posts them to the function, or undefined for a function without
 * an event source. Only this container gets the token, which allows nothing else; it knows neither the source nor its
 * credentials. Pure.
 * @param image the Node runtime's image, which contains the program
 */
export function eventSidecar(
  spec: Pick<FunctionSpec, 'events' | 'port' | 'requestTimeoutSeconds'>,
  image: string,
): EventSidecar | undefined {
  if (!spec.events) return undefined;
  const { requestTimeoutSeconds } = functionLimits(spec);
  const value = (name: string, text: string | number) => ({ name, value: String(text) });
  return {
    container: {
      name: eventContainer,
      image,
      command: ['tini', '--', 'node', '/runtime/poll.mjs'],
      env: [
        value('EVENTS_URL', `http://${eventsService}.${systemNamespace}.svc`),
        value('EVENTS_TOKEN_FILE', `${tokenDirectory}/token`),
        // The number of the function's port named `http`.
        value('HTTP_PORT', spec.port),
        value('EVENT_CONCURRENCY', spec.events.concurrency ?? 1),
        value('REQUEST_TIMEOUT_SECONDS', requestTimeoutSeconds),
      ],
      terminationMessagePolicy: 'FallbackToLogsOnError',
      resources: { requests: { cpu: '10m', memory: '32Mi' }, limits: { memory: '128Mi' } },
      securityContext: containerSecurity,
      volumeMounts: [{ name: 'events-token', mountPath: tokenDirectory, readOnly: true }],
    },
    volume: {
      name: 'events-token',
      projected: {
        sources: [
          { serviceAccountToken: { audience: eventsAudience, expirationSeconds: tokenSeconds, path: 'token' } },
        ],
      },
    },
  };
}
