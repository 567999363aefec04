import { isJson, type Json, textIn } from './json.ts';
import { storageOf, type ApiObject, type Resource } from './resource.ts';
import { badRequest, invalid, methodNotAllowed, unversioned, type Status } from './api-error.ts';
import type { FieldValidation } from './decode.ts';
import { readJson, sendJson, type Exchange } from './exchange.ts';
import type { Lists } from './list.ts';
import { mergePatch } from './merge-patch.ts';
import type { DeleteOptions, Objects, Place, WriteOptions } from './objects.ts';
import { isWatch, type ResourcePath } from './request-info.ts';
import { selectionOf } from './selector.ts';
import { textOf } from './store.ts';
import { renderingOf, tableOf } from './table.ts';
import type { Watches } from './watch.ts';

/** The media types of patches that are understood. */
export const patchTypes = ['application/merge-patch+json'];

/** Kinds whose deletion answers with the object, and not with a `Status`. */
const returnsDeleted = new Set([
  '/pods',
  '/services',
  '/persistentvolumeclaims',
  '/persistentvolumes',
  '/serviceaccounts',
]);

/** Serves the objects of a resource and their status. */
export interface Rest {
  serve(exchange: Exchange, resource: Resource, path: ResourcePath): Promise<void>;
}

export function createRest(options: { objects: Objects; lists: Lists; watches: Watches }): Rest {
  const { objects, lists, watches } = options;

  const send = (exchange: Exchange, code: number, object: ApiObject, resource: Resource) => {
    const rendering = renderingOf(exchange.request.headers.accept, exchange.query);
    const { resourceVersion } = object.metadata;
    if (rendering.table) {
      sendJson(exchange, code, tableOf([object], resource, { ...rendering, metadata: { resourceVersion } }));
    } else sendJson(exchange, code, textOf(object));
  };

  const remove = async (exchange: Exchange, place: Place) => {
    const asked = deleteOptions(await readJson(exchange.request), exchange.query);
    const { object, gone } = objects.delete(place, asked);
    const { resource } = place;
    if (gone && !returnsDeleted.has(storageOf(resource))) sendJson(exchange, 200, deleted(resource, object));
    else send(exchange, 200, object, resource);
  };

  const serveCollection = async (exchange: Exchange, resource: Resource, { namespace }: ResourcePath) => {
    const { method, query, request } = exchange;
    if (method === 'POST') {
      if (resource.namespaced && namespace === undefined) throw methodNotAllowed();
      const body = await readJson(request);
      if (body === undefined) throw badRequest('the body is empty');
      send(exchange, 201, objects.create(resource, namespace, body, writeOptions(exchange)), resource);
    } else if (method === 'DELETE') {
      const asked = deleteOptions(await readJson(request), query);
      const text = lists.list(selectionOf(resource, namespace, query), new URLSearchParams(), { table: false });
      for (const { metadata } of (JSON.parse(text) as { items: ApiObject[] }).items) {
        objects.delete({ resource, namespace: metadata.namespace, name: metadata.name }, asked);
      }
      sendJson(exchange, 200, text);
    } else if (method !== 'GET') throw methodNotAllowed();
    else {
      const selection = selectionOf(resource, namespace, query);
      const rendering = renderingOf(request.headers.accept, query);
      if (isWatch(query)) watches.open(exchange.response, selection, query, rendering);
      else sendJson(exchange, 200, lists.list(selection, query, rendering));
    }
  };

  return {
    async serve(exchange, resource, path) {
      const { name, subresource, namespace } = path;
      if (!name) {
        await serveCollection(exchange, resource, path);
        return;
      }
      const { method, request, query, response } = exchange;
      const place: Place = { resource, namespace, name };
      const part = subresource === 'status' ? 'status' : 'main';
      if (method === 'GET' && isWatch(query)) {
        const rendering = renderingOf(request.headers.accept, query);
        watches.open(response, selectionOf(resource, namespace, query, name), query, rendering);
      } else if (method === 'GET') send(exchange, 200, objects.get(place), resource);
      else if (method === 'PUT') {
        const body = await readJson(request);
        send(
          exchange,
          200,
          objects.update(place, () => body, part, writeOptions(exchange)),
          resource,
        );
      } else if (method === 'PATCH') {
        const patch = await readJson(request, patchTypes);
        const written = objects.update(place, (live) => patched(live, patch, resource), part, writeOptions(exchange));
        send(exchange, 200, written, resource);
      } else if (method === 'DELETE' && part === 'main') await remove(exchange, place);
      else throw methodNotAllowed();
    },
  };
}

function patched(live: ApiObject, patch: unknown, resource: Resource): unknown {
  if (!isJson(patch)) throw badRequest('a merge patch is an object');
  const next = mergePatch(live, patch) as Json;
  // Without one, a patch is of the version that it meets.
  const { resourceVersion } = isJson(next['metadata']) ? next['metadata'] : {};
  if (!resourceVersion) throw unversioned(resource, live.metadata.name);
  return next;
}

/** The query of a write. */
export function writeOptions({ query, warnings }: Exchange): WriteOptions {
  const validation = query.get('fieldValidation') as FieldValidation | null;
  return { warnings, dryRun: query.get('dryRun') === 'All', ...(validation && { validation }) };
}

function deleteOptions(body: unknown, query: URLSearchParams): DeleteOptions {
  const given = isJson(body) ? body : {};
  const { propagationPolicy = query.get('propagationPolicy'), orphanDependents } = given;
  const grace = given['gracePeriodSeconds'] ?? query.get('gracePeriodSeconds');
  const policy = orphanDependents === true ? 'Orphan' : propagationPolicy;
  if (policy && !['Background', 'Foreground', 'Orphan'].includes(textIn(policy))) {
    const supported = ['Foreground', 'Background', 'Orphan', 'nil'].map((name) => JSON.stringify(name)).join(', ');
    const message = `Unsupported value: ${JSON.stringify(policy)}: supported values: ${supported}`;
    throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions', plural: '' }, '', [
      { reason: 'FieldValueNotSupported', message, field: 'propagationPolicy' },
    ]);
  }
  const dryRun = query.get('dryRun') === 'All' || (Array.isArray(given['dryRun']) && given['dryRun'].includes('All'));
  return {
    dryRun,
    ...(policy ? { propagationPolicy: policy as 'Background' } : {}),
    ...(grace !== null && grace !== undefined && { gracePeriodSeconds: Number(grace) }),
    ...(isJson(given['preconditions']) && { preconditions: given['preconditions'] }),
  };
}

function deleted({ group, plural }: Resource, { metadata: { name, uid } }: ApiObject): Status {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name, ...(group && { group }), kind: plural, ...(uid !== undefined && { uid }) },
  };
}
