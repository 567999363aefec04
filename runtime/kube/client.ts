import type { Registry } from 'prom-client';
import type { KubeObject, ObjectRef, Stored } from '../contracts/kubernetes.ts';
import { execProtocol } from '../contracts/exec-channels.ts';
import { kinds, type ResourceKind } from '../contracts/resources/kinds.ts';
import {
  isKubeError,
  type KubeClient,
  type KubeExec,
  type ObjectList,
  type Scale,
  type Selection,
  type WatchEvent,
} from './kube-client.ts';
import type { Credentials } from './credentials.ts';
import { collectionPath, objectPath, resourceOf } from './resource-paths.ts';
import { createRequestMetrics } from './request-metrics.ts';
import { createTransport, kubeErrorOf, type Query } from './transport.ts';
import { openWebSocket } from './web-socket.ts';
import { jsonLines } from './json-lines.ts';

/** Objects in one page of a list; the API server keeps the pages consistent. */
const pageSize = 500;
/** The range of the random time after which the API server ends a watch, so that watches do not all end together. */
const watchSeconds = { min: 300, max: 600 };

/** A {@link KubeClient} with connections of its own. */
export interface ConnectedKubeClient extends KubeClient, KubeExec {
  /** Closes all connections, including watches. */
  close(): Promise<void>;
}

/** The wire format of a selection. */
function queryOf({ labelSelector, fieldSelector }: Selection): Query {
  return { labelSelector, fieldSelector };
}

/** Drops managedFields, which are half of every object and unused; an update without them keeps them. */
function toStored<T extends KubeObject>(object: unknown): Stored<T> {
  const stored = object as Stored<T> & { metadata: { managedFields?: unknown } };
  delete stored.metadata.managedFields;
  return stored;
}

/**
 * A {@link KubeClient} over HTTP. Connects on first use.
 * @param options.registry for the metrics of its requests
 */
export function createKubeClient(credentials: Credentials, options: { registry?: Registry } = {}): ConnectedKubeClient {
  const transport = createTransport(credentials, options.registry && createRequestMetrics(options.registry));

  const listPages = async <T extends KubeObject>(
    kind: ResourceKind,
    selection: Selection,
    limit: number | undefined,
  ): Promise<ObjectList<T>> => {
    const items: Stored<T>[] = [];
    let next: string | undefined;
    for (;;) {
      const page = (await transport.json('GET', collectionPath(kind, selection.namespace), {
        query: { ...queryOf(selection), limit, continue: next },
      })) as { metadata: { resourceVersion: string; continue?: string }; items: object[] | null };
      // Items of a list have no type.
      for (const item of page.items ?? []) {
        items.push(toStored<T>(Object.assign(item, { apiVersion: kind.apiVersion, kind: kind.kind })));
      }
      next = page.metadata.continue;
      if (!next) return { items, resourceVersion: page.metadata.resourceVersion };
    }
  };

  const client: ConnectedKubeClient = {
    async get<T extends KubeObject>(kind: ResourceKind, name: string, namespace?: string) {
      try {
        return toStored<T>(await transport.json('GET', objectPath(kind, name, namespace)));
      } catch (error) {
        if (isKubeError(error, 404)) return undefined;
        throw error;
      }
    },
    async list<T extends KubeObject>(kind: ResourceKind, selection: Selection = {}) {
      try {
        return await listPages<T>(kind, selection, pageSize);
      } catch (error) {
        // The version of the first page was compacted meanwhile, which cannot happen to an unpaged list.
        if (!isKubeError(error, 410)) throw error;
        return listPages<T>(kind, selection, undefined);
      }
    },
    async create<T extends KubeObject>(object: T) {
      const path = collectionPath(resourceOf(object), object.metadata.namespace);
      return toStored<T>(await transport.json('POST', path, { body: object }));
    },
    async replace<T extends KubeObject>(object: Stored<T>) {
      return toStored<T>(await transport.json('PUT', pathOf(object), { body: object }));
    },
    async replaceStatus<T extends KubeObject>(object: Stored<T>) {
      return toStored<T>(await transport.json('PUT', `${pathOf(object)}/status`, { body: object }));
    },
    async mergePatch<T extends KubeObject>(ref: ObjectRef, patch: object, subresource?: 'status') {
      const path = subresource ? `${refPath(ref)}/${subresource}` : refPath(ref);
      // The default content type would be that of a JSON Patch.
      const contentType = 'application/merge-patch+json';
      return toStored<T>(await transport.json('PATCH', path, { body: patch, contentType }));
    },
    async delete(ref, { preconditions, propagationPolicy = 'Background', gracePeriodSeconds } = {}) {
      const body = {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        propagationPolicy,
        ...(preconditions && { preconditions }),
        ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
      };
      try {
        await transport.json('DELETE', refPath(ref), { body });
        return true;
      } catch (error) {
        if (isKubeError(error, 404)) return false;
        throw error;
      }
    },
    async getScale(namespace, name) {
      try {
        const scale = (await transport.json('GET', scalePath(namespace, name))) as WireScale;
        return {
          namespace,
          name,
          resourceVersion: scale.metadata.resourceVersion,
          replicas: scale.spec.replicas ?? 0,
          currentReplicas: scale.status?.replicas ?? 0,
        };
      } catch (error) {
        if (isKubeError(error, 404)) return undefined;
        throw error;
      }
    },
    async replaceScale({ namespace, name, resourceVersion }: Scale, replicas) {
      const metadata = { namespace, name, resourceVersion };
      const body: WireScale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata, spec: { replicas } };
      await transport.json('PUT', scalePath(namespace, name), { body });
    },
    async *watch<T extends KubeObject>(
      kind: ResourceKind,
      selection: Selection & { resourceVersion: string },
      signal: AbortSignal,
      onOpen?: () => void,
    ): AsyncIterable<WatchEvent<T>> {
      const { min, max } = watchSeconds;
      const body = await transport.stream(collectionPath(kind, selection.namespace), signal, {
        ...queryOf(selection),
        watch: 'true',
        allowWatchBookmarks: 'true',
        resourceVersion: selection.resourceVersion,
        timeoutSeconds: Math.round(min + Math.random() * (max - min)),
      });
      onOpen?.();
      for await (const line of jsonLines(body)) {
        const { type, object } = line as { type: string; object: unknown };
        // After the HTTP status 200, an error arrives as an event.
        if (type === 'ERROR') throw kubeErrorOf(500, object);
        yield { type: type as WatchEvent<T>['type'], object: toStored<T>(object) };
      }
    },
    async *stream(path, signal) {
      yield* await transport.stream(path, signal, {});
    },
    openExec(pod, query, signal) {
      const path = `${objectPath(kinds.Pod, pod.name, pod.namespace)}/exec?${query.toString()}`;
      return openWebSocket(credentials, path, execProtocol, signal);
    },
    close: () => Promise.resolve(credentials.close()),
  };
  return client;
}

function refPath(ref: ObjectRef): string {
  return objectPath(resourceOf(ref), ref.name, ref.namespace);
}

function pathOf(object: KubeObject): string {
  return objectPath(resourceOf(object), object.metadata.name, object.metadata.namespace);
}

function scalePath(namespace: string, name: string): string {
  return `${objectPath(kinds.Deployment, name, namespace)}/scale`;
}

interface WireScale {
  apiVersion: 'autoscaling/v1';
  kind: 'Scale';
  metadata: { namespace: string; name: string; resourceVersion: string };
  spec: { replicas?: number };
  status?: { replicas: number };
}
