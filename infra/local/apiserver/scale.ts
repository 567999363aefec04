import { methodNotAllowed } from './api-error.ts';
import { readJson, sendJson, type Exchange } from './exchange.ts';
import { mergePatch } from './merge-patch.ts';
import type { Objects, Place } from './objects.ts';
import { isJson, valueAt, type Json } from './json.ts';
import type { ApiObject } from './resource.ts';
import { patchTypes, writeOptions } from './rest.ts';

/** The scale subresource of a workload. https://kubernetes.io/docs/reference/kubernetes-api/autoscaling-resources/scale-v1/ */
export async function serveScale(exchange: Exchange, objects: Objects, place: Place): Promise<void> {
  const { method, request } = exchange;
  if (method === 'GET') {
    sendJson(exchange, 200, scaleOf(objects.get(place)));
    return;
  }
  if (method !== 'PUT' && method !== 'PATCH') throw methodNotAllowed();
  const body = await readJson(request, method === 'PATCH' ? patchTypes : undefined);
  const change = (live: ApiObject): unknown => {
    const scale = method === 'PATCH' ? mergePatch(scaleOf(live), body) : body;
    const resourceVersion = valueAt(scale, 'metadata.resourceVersion');
    const uid = valueAt(scale, 'metadata.uid');
    return {
      ...live,
      metadata: { ...live.metadata, resourceVersion, uid },
      spec: { ...(live.spec as Json), replicas: valueAt(scale, 'spec.replicas') ?? 0 },
    };
  };
  const { validation: _, ...options } = writeOptions(exchange);
  sendJson(exchange, 200, scaleOf(objects.update(place, change, 'main', options)));
}

function scaleOf({ metadata, spec, status }: ApiObject): Json {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const replicas = valueAt(spec, 'replicas');
  const labels = valueAt(spec, 'selector.matchLabels');
  const selector = Object.entries(isJson(labels) ? labels : {}).map(([key, value]) => `${key}=${String(value)}`);
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    // As Go writes it: none is nothing.
    spec: replicas === 0 ? {} : { replicas },
    status: {
      replicas: valueAt(status, 'replicas') ?? 0,
      ...(selector.length > 0 && { selector: selector.sort().join(',') }),
    },
  };
}
