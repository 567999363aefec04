import { hash } from 'node:crypto';
import type { Logger } from 'pino';
import type { KubeObject, Stored } from '../contracts/kubernetes.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { Clock } from '../domain/clock.ts';
import { managedLabels } from '../domain/labels.ts';
import { isKubeError, type KubeClient } from './kube-client.ts';

/** The minimum interval between two writes of the same event. */
const quietMs = 60_000;
/** The API server's limit. */
const messageMax = 1024;
/** Maximum number of recent events in memory. */
const rememberedMax = 1000;

/** https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/ (the core/v1 form) */
interface KubeEvent extends KubeObject {
  apiVersion: 'v1';
  kind: 'Event';
  involvedObject: { apiVersion: string; kind: string; name: string; namespace?: string; uid: string };
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
  source: { component: string };
  count: number;
  firstTimestamp: string;
  lastTimestamp: string;
}

export interface EventRecorder {
  /** Records a Kubernetes Event about an object. A repeated event increases its count, at most once a minute. Never rejects. */
  record(
    object: Stored<KubeObject>,
    event: { type: 'Normal' | 'Warning'; reason: string; message: string },
  ): Promise<void>;
}

export function createEventRecorder(options: {
  kube: Pick<KubeClient, 'get' | 'create' | 'replace'>;
  /** The source of the events, such as `svc-controllers`. */
  component: string;
  clock: Clock;
  log: Logger;
}): EventRecorder {
  const { kube, component, clock, log } = options;
  const writtenAt = new Map<string, number>();

  const write = async (name: string, namespace: string, fresh: KubeEvent) => {
    const live = await kube.get<KubeEvent>(kinds.Event, name, namespace);
    if (live) await kube.replace({ ...live, count: live.count + 1, lastTimestamp: fresh.lastTimestamp });
    else await kube.create(fresh);
  };

  return {
    async record(object, { type, reason, message }) {
      const { name, namespace, uid } = object.metadata;
      const text = message.length > messageMax ? `${message.slice(0, messageMax - 1)}…` : message;
      // The name identifies the event, so that all writers increase the count of one object.
      const digest = hash('sha256', [uid, type, reason, text].join('\n'), 'hex').slice(0, 16);
      const eventName = `${name}.${digest}`;
      const before = writtenAt.get(digest);
      if (before !== undefined && clock.monotonic() - before < quietMs) return;
      if (writtenAt.size >= rememberedMax) writtenAt.clear();
      writtenAt.set(digest, clock.monotonic());
      const at = clock
        .now()
        .toISOString()
        .replace(/\.\d{3}Z$/, 'Z');
      const eventNamespace = namespace ?? 'default';
      try {
        await write(eventName, eventNamespace, {
          apiVersion: 'v1',
          kind: 'Event',
          metadata: { name: eventName, namespace: eventNamespace, labels: managedLabels() },
          involvedObject: {
            apiVersion: object.apiVersion,
            kind: object.kind,
            name,
            ...(namespace !== undefined && { namespace }),
            uid,
          },
          type,
          reason,
          message: text,
          source: { component },
          count: 1,
          firstTimestamp: at,
          lastTimestamp: at,
        });
      } catch (error) {
        // Events are optional, and a terminating namespace accepts none.
        if (isKubeError(error)) log.debug({ err: error, reason }, 'event not written');
        else log.warn({ err: error, reason }, 'event not written');
      }
    },
  };
}
