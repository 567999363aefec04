import { pipeline } from 'node:stream/promises';
import { badRequest, methodNotAllowed, notImplemented } from './api-error.ts';
import { flag, type Exchange } from './exchange.ts';
import type { Objects, Place } from './objects.ts';
import { objects as containersIn, textIn, valueAt } from './json.ts';
import type { ApiObject } from './resource.ts';

/**
 * Options of a log request.
 * https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#get-read-log-of-the-specified-pod
 */
export interface LogOptions {
  container: string;
  follow: boolean;
  /** The log of the container's previous run. */
  previous: boolean;
  timestamps: boolean;
  tailLines?: number;
  /** Only lines since this time. */
  since?: Date;
}

/**
 * Reads the output of a container, on the node. Followed output ends with the container or when `signal` aborts.
 * @throws ApiError, usually 400 `container "x" in pod "y" is waiting to start`
 */
export type PodLogs = (
  pod: ApiObject,
  options: LogOptions,
  signal: AbortSignal,
) => Promise<AsyncIterable<Uint8Array | string>>;

/** Serves `pods/log`. Without `logs` it is not supported. */
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
    const requested = logOptions(pod, query, now());
    const stop = new AbortController();
    response.once('close', () => stop.abort());
    const output = await logs(pod, requested, stop.signal);
    response.writeHead(200, { 'content-type': 'text/plain' });
    response.flushHeaders();
    await pipeline(limitOutput(output, limitBytes), response).catch(() => undefined);
  };
}

async function* limitOutput(output: AsyncIterable<Uint8Array | string>, limitBytes: number): AsyncIterable<Uint8Array> {
  let remaining = limitBytes;
  for await (const chunk of output) {
    const bytes = Buffer.from(chunk);
    yield bytes.subarray(0, remaining);
    remaining -= bytes.length;
    if (remaining <= 0) return;
  }
}

/** The container in the query, or the pod's only container. @throws ApiError 400 */
export function containerOf(pod: ApiObject, query: URLSearchParams): string {
  const { name } = pod.metadata;
  const namesOf = (list: string) =>
    containersIn(valueAt(pod, `spec.${list}`)).map((container) => textIn(container['name']));
  const [init, main] = [namesOf('initContainers'), namesOf('containers')];
  const container = query.get('container') ?? '';
  if ([...init, ...main].includes(container)) return container;
  if (container) throw badRequest(`container ${container} is not valid for pod ${name}`);
  const [only = '', ...more] = main;
  if (more.length === 0) return only;
  const initChoice = init.length > 0 ? ` or one of the init containers: [${init.join(' ')}]` : '';
  throw badRequest(
    `a container name must be specified for pod ${name}, choose one of: [${main.join(' ')}]${initChoice}`,
  );
}

function count(query: URLSearchParams, key: string): number | undefined {
  const text = query.get(key);
  if (text !== null && !/^\d+$/.test(text)) throw badRequest(`${key} must be a number, not ${JSON.stringify(text)}`);
  return text === null ? undefined : Number(text);
}

function time(query: URLSearchParams, key: string): Date | undefined {
  const text = query.get(key);
  if (text === null) return undefined;
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) throw badRequest(`${key} must be a time, not ${JSON.stringify(text)}`);
  return date;
}

function logOptions(pod: ApiObject, query: URLSearchParams, now: Date): LogOptions {
  const tailLines = count(query, 'tailLines');
  const sinceSeconds = count(query, 'sinceSeconds');
  const sinceTime = time(query, 'sinceTime');
  const since = sinceSeconds === undefined ? sinceTime : new Date(now.getTime() - sinceSeconds * 1000);
  return {
    container: containerOf(pod, query),
    follow: flag(query, 'follow'),
    previous: flag(query, 'previous'),
    timestamps: flag(query, 'timestamps'),
    ...(tailLines !== undefined && { tailLines }),
    ...(since && { since }),
  };
}
