import { pipeline } from 'node:stream/promises';
import { badRequest, methodNotAllowed, notImplemented } from './api-error.ts';
import { flag, type Exchange } from './exchange.ts';
import type { Objects, Place } from './objects.ts';
import { objects as containersIn, valueAt } from './json.ts';
import type { ApiObject } from './resource.ts';

/** Which part of a container's output is asked for. https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#get-read-log-of-the-specified-pod */
export interface LogOptions {
  container: string;
  follow: boolean;
  /** Of the container's life before this one. */
  previous: boolean;
  timestamps: boolean;
  tailLines?: number;
  limitBytes?: number;
  /** Lines from this time on. */
  since?: Date;
}

/**
 * Where the output of containers comes from: the node. Followed output ends with the container, or when `signal` says so.
 * @throws ApiError, usually 400 `container "x" in pod "y" is waiting to start`
 */
export type PodLogs = (
  pod: ApiObject,
  options: LogOptions,
  signal: AbortSignal,
) => Promise<AsyncIterable<Uint8Array | string>>;

/** `pods/log`. Without a node there is none. */
export function createPodLogs(options: {
  objects: Objects;
  logs: PodLogs | undefined;
  now: () => Date;
}): (exchange: Exchange, place: Place) => Promise<void> {
  const { objects, logs, now } = options;
  return async ({ method, query, response }, place) => {
    if (method !== 'GET') throw methodNotAllowed();
    const pod = objects.get(place);
    if (!logs) throw notImplemented('logs without a node');
    const asked = logOptions(pod, query, now());
    const stop = new AbortController();
    response.once('close', () => stop.abort());
    const output = await logs(pod, asked, stop.signal);
    response.writeHead(200, { 'content-type': 'text/plain' });
    response.flushHeaders();
    await pipeline(output, response, { signal: stop.signal }).catch(() => undefined);
  };
}

/** The container that a query names, or the only one. @throws ApiError 400 */
export function containerOf(pod: ApiObject, query: URLSearchParams): string {
  const { name } = pod.metadata;
  const names = ['initContainers', 'containers'].map((list) =>
    containersIn(valueAt(pod, `spec.${list}`)).map((container) => String(container['name'])),
  );
  const [init = [], main = []] = names;
  const asked = query.get('container') ?? '';
  if (!asked && main.length > 1) {
    throw badRequest(
      `a container name must be specified for pod ${name}, choose one of: [${main.join(' ')}]${init.length > 0 ? ` or one of the init containers: [${init.join(' ')}]` : ''}`,
    );
  }
  const container = asked || (main[0] ?? '');
  if (![...init, ...main].includes(container)) throw badRequest(`container ${container} is not valid for pod ${name}`);
  return container;
}

function logOptions(pod: ApiObject, query: URLSearchParams, now: Date): LogOptions {
  const count = (key: string) => {
    const text = query.get(key);
    if (text === null) return undefined;
    if (!/^\d+$/.test(text)) throw badRequest(`${key} must be a number, not ${JSON.stringify(text)}`);
    return Number(text);
  };
  const tailLines = count('tailLines');
  const limitBytes = count('limitBytes');
  const sinceSeconds = count('sinceSeconds');
  const sinceTime = query.get('sinceTime');
  const since = sinceSeconds === undefined ? sinceTime : now.getTime() - sinceSeconds * 1000;
  return {
    container: containerOf(pod, query),
    follow: flag(query, 'follow'),
    previous: flag(query, 'previous'),
    timestamps: flag(query, 'timestamps'),
    ...(tailLines !== undefined && { tailLines }),
    ...(limitBytes !== undefined && { limitBytes }),
    ...(since !== null && { since: new Date(since) }),
  };
}
