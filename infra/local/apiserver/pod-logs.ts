import { badRequest, methodNotAllowed, notImplemented } from './api-error.ts';
import { objects as containersIn } from './builtin/pod-defaults.ts';
import type { Exchange } from './exchange.ts';
import type { Objects, Place } from './objects.ts';
import { valueAt } from './json.ts';
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
export async function serveLogs(
  exchange: Exchange,
  objects: Objects,
  place: Place,
  source: { logs: PodLogs | undefined; now: () => Date },
): Promise<void> {
  const { method, query, response } = exchange;
  if (method !== 'GET') throw methodNotAllowed();
  const pod = objects.get(place);
  if (!source.logs) throw notImplemented('logs without a node');
  const options = logOptions(pod, query, source.now());
  const stop = new AbortController();
  response.once('close', () => stop.abort());
  const output = await source.logs(pod, options, stop.signal);
  response.writeHead(200, { 'content-type': 'text/plain' });
  if (options.follow) response.flushHeaders();
  for await (const chunk of output) {
    if (stop.signal.aborted) return;
    if (!response.write(chunk)) await new Promise<void>((resolve) => drained(resolve));
  }
  response.end();

  function drained(resolve: () => void): void {
    response.once('drain', resolve);
    response.once('close', resolve);
  }
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
  const flag = (key: string) => query.get(key) === 'true' || query.get(key) === '1';
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
    follow: flag('follow'),
    previous: flag('previous'),
    timestamps: flag('timestamps'),
    ...(tailLines !== undefined && { tailLines }),
    ...(limitBytes !== undefined && { limitBytes }),
    ...(since !== null && { since: new Date(since) }),
  };
}
