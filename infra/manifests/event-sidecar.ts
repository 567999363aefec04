import { eventsAudience } from '../../runtime/contracts/event-exchange.ts';
import { functionLimits, type FunctionSpec } from '../../runtime/contracts/resources/function.ts';
import { systemNamespace } from '../../runtime/domain/labels.ts';
import { containerSecurity } from './platform/pod.ts';
import { eventsService } from './platform/network.ts';

/** The name of the container that gets events and posts them to the function. */
export const eventContainer = 'svc-poll';

const tokenDirectory = '/var/run/svc/events';
/** The kubelet writes a new token well before this is over. */
const tokenSeconds = 3_600;

/** What a pod of a function with a data source has beside the function. */
export interface EventSidecar {
  container: object;
  volume: object;
}

/**
 * The container that leases events from the platform and posts them to the function. Only it gets the token for that,
 * which opens nothing else; it knows neither the source nor the way into it. Pure.
 * @param image the Node runtime's, which has the program
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
        // The number of the function's port `http`.
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
