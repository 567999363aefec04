import { pipeline } from 'node:stream/promises';
import { badRequest, methodNotAllowed, notImplemented } from './api-error.ts';
import { flag, type Exchange } from './exchange.ts';
import type { Objects, Place } from './objects.ts';
import { objects as containersIn, textIn, valueAt } from './json.ts';
import type { ApiObject } from './resource.ts';

/** Which part of a container's output is asked for. https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#get-read-log-of-the-specified-pod */
export interface LogOptions {
  container: string;
  follow: boolean;
  /** Of the container's life before this one. */
  previous: boolean;
  timestamps: boolean;
  tailLines?: number;
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
    const limitBytes = count(query, 'limitBytes') ?? Number.POSITIVE_INFINITY;
    const asked = logOptions(pod, query, now());
    const stop = new AbortController();
    response.once('close', () => stop.abort());
    const output = await logs(pod, asked, stop.signal);
    response.writeHead(200, { 'content-type': 'text/plain' });
    response.flushHeaders();
    await pipeline(cut(output, limitBytes), response).catch(() => undefined);
  };
}

async function* cut(output: AsyncIterable<Uint8Array | string>, limitBytes: number): AsyncIterable<Uint8Array> {
  let left = limitBytes;
  for await (const chunk of output) {
    const bytes = Buffer.from(chunk);
    yield bytes.subarray(0, left);
    left -= bytes.length;
    if (left <= 0) return;
  }
}

/** The container that a query names, or the only one. @throws ApiError 400 */
export function containerOf(pod: ApiObject, query: URLSearchParams): string {
  const { name } = pod.metadata;
  const namesOf = (list: string) => containersIn(valueAt(pod, `spec.${list}`)).map((each) => textIn(each['name']));
  const [init, main] = [namesOf('initContainers'), namesOf('containers')];
  const container = query.get('container') ?? '';
  if ([...init, ...main].includes(container)) return container;
  if (container) throw badRequest(`container ${container} is not valid for pod ${name}`);
  const [only = '', ...more] = main;
  if (more.length === 0) return only;
  const others = init.length > 0 ? ` or one of the init containers: [${init.join(' ')}]` : '';
  throw badRequest(`a container name must be specified for pod ${name}, choose one of: [${main.join(' ')}]${others}`);
}

function count(query: URLSearchParams, key: string): number | undefined {
  const text = query.get(key);
  if (text !== null && !/^\d+$/.test(text)) throw badRequest(`${key} must be a number, not ${JSON.stringify(text)}`);
  return text === null ? undefined : Number(text);
}

function logOptions(pod: ApiObject, query: URLSearchParams, now: Date): LogOptions {
  const tailLines = count(query, 'tailLines');
  const sinceSeconds = count(query, 'sinceSeconds');
  const since = sinceSeconds === undefined ? query.get('sinceTime') : now.getTime() - sinceSeconds * 1000;
  return {
    container: containerOf(pod, query),
    follow: flag(query, 'follow'),
    previous: flag(query, 'previous'),
    timestamps: flag(query, 'timestamps'),
    ...(tailLines !== undefined && { tailLines }),
    ...(since !== null && { since: new Date(since) }),
  };
}
