import {
  badRequest,
  invalid,
  methodNotAllowed,
  notImplemented,
  missingResourceVersion,
  type Status,
} from './api-error.ts';
import { unsupportedValue } from './causes.ts';
import { readJson, sendJson, type Exchange } from './exchange.ts';
import { isJson, mergePatch, textIn, valueAt, type Json } from './json.ts';
import type { Lists } from './list.ts';
import type { DeleteOptions } from './deletion.ts';
import type { Objects, Place, WriteOptions } from './objects.ts';
import { isWatch, type ResourcePath } from './request-info.ts';
import type { WriteCheck } from './role-binding.ts';
import type { ApiObject, Resource } from './resource.ts';
import { scale, type ResourceView } from './scale.ts';
import { selectionOf } from './selector.ts';
import { renderObject, renderingOf } from './table.ts';
import type { Watches } from './watch.ts';

/** The supported type of patches. */
const patchType = 'application/merge-patch+json';

const main: ResourceView = { read: (live) => live, write: (_live, body) => body, part: 'main' };
const views: Readonly<Record<string, ResourceView>> = { status: { ...main, part: 'status' }, scale };

/** Serves the objects of a resource, their status and their scale. */
export interface Rest {
  serve(exchange: Exchange, resource: Resource, path: ResourcePath): Promise<void>;
}

export function createRest(options: {
  objects: Objects;
  lists: Lists;
  watches: Watches;
  checkWrite: WriteCheck;
}): Rest {
  const { objects, lists, watches, checkWrite } = options;

  const send = (exchange: Exchange, code: number, object: ApiObject, resource: Resource) => {
    const rendering = renderingOf(exchange.request.headers.accept, exchange.query);
    sendJson(exchange, code, renderObject(object, resource, rendering));
  };
  /** Serves a list or, if requested, a watch. */
  const serveMany = (exchange: Exchange, resource: Resource, namespace: string | undefined) => {
    const { query, request, response } = exchange;
    const selection = selectionOf(resource, namespace, query);
    const rendering = renderingOf(request.headers.accept, query);
    if (isWatch(query)) watches.open(response, selection, query, rendering);
    else sendJson(exchange, 200, lists(selection, query, rendering));
  };

  const serveCollection = async (exchange: Exchange, resource: Resource, { namespace }: ResourcePath) => {
    const { method, query, request } = exchange;
    if (method === 'GET') serveMany(exchange, resource, namespace);
    else if (method === 'POST' && (namespace !== undefined || !resource.namespaced)) {
      const body = await readJson(request);
      if (body === undefined) throw badRequest('the body is empty');
      checkWrite(exchange.user, resource, namespace, body);
      send(exchange, 201, objects.create(resource, namespace, body, writeOptions(exchange)), resource);
    } else if (method === 'DELETE') {
      const deleting = deleteOptions(await readJson(request), query);
      const text = lists(selectionOf(resource, namespace, query), new URLSearchParams(), 'objects');
      for (const { metadata } of (JSON.parse(text) as { items: ApiObject[] }).items) {
        objects.delete({ resource, namespace: metadata.namespace, name: metadata.name }, deleting);
      }
      sendJson(exchange, 200, text);
    } else throw methodNotAllowed();
  };

  const remove = async (exchange: Exchange, place: Place) => {
    const { resource } = place;
    const deleting = deleteOptions(await readJson(exchange.request), exchange.query);
    const { object, gone } = objects.delete(place, deleting);
    if (gone) sendJson(exchange, 200, deletedStatus(resource, object));
    else send(exchange, 200, object, resource);
  };

  return {
    async serve(exchange, resource, path) {
      const { name, subresource = '', namespace } = path;
      if (!name) {
        await serveCollection(exchange, resource, path);
        return;
      }
      const { method, request, query } = exchange;
      const place: Place = { resource, namespace, name };
      const { read, write, part } = views[subresource] ?? main;
      if (method === 'GET' && isWatch(query)) throw notImplemented('a watch by name; use a field selector');
      if (method === 'GET') send(exchange, 200, read(objects.get(place)), resource);
      else if (method === 'PUT' || method === 'PATCH') {
        const body = await readJson(request, method === 'PATCH' ? patchType : undefined);
        const change = (live: ApiObject) => {
          checkWrite(exchange.user, resource, namespace, live);
          return write(live, method === 'PATCH' ? applyPatch(read(live), body, resource) : body);
        };
        send(exchange, 200, read(objects.update(place, change, part, writeOptions(exchange))), resource);
      } else if (method === 'DELETE' && !subresource) await remove(exchange, place);
      else throw methodNotAllowed();
    },
  };
}

/** An object after a JSON merge patch. @throws ApiError 400, 422 */
export function applyPatch(live: ApiObject, patch: unknown, resource: Resource): unknown {
  if (!isJson(patch)) throw badRequest('a merge patch must be a JSON object');
  const next = mergePatch(live, patch);
  // The patch keeps the live object's version unless it contains one; removing it is an error for some kinds.
  if (!valueAt(next, 'metadata.resourceVersion')) throw missingResourceVersion(resource, live.metadata.name);
  return next;
}

function writeOptions({ query }: Exchange): WriteOptions {
  return { dryRun: query.get('dryRun') === 'All', strict: query.get('fieldValidation') === 'Strict' };
}

function deleteOptions(body: unknown, query: URLSearchParams): DeleteOptions {
  const merged: Json = { ...Object.fromEntries(query), ...(isJson(body) ? body : {}) };
  const { propagationPolicy: policy, gracePeriodSeconds: grace, preconditions, dryRun } = merged;
  if (policy && !['Background', 'Foreground', 'Orphan'].includes(textIn(policy))) {
    const cause = unsupportedValue('propagationPolicy', policy, ['Foreground', 'Background', 'Orphan', 'nil']);
    throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', [cause]);
  }
  return {
    dryRun: [dryRun].flat().includes('All'),
    ...(policy ? { propagationPolicy: policy as 'Background' } : {}),
    ...(grace !== null && grace !== undefined && { gracePeriodSeconds: Number(grace) }),
    ...(isJson(preconditions) && { preconditions }),
  };
}

function deletedStatus({ group, plural }: Resource, { metadata: { name, uid } }: ApiObject): Status {
  const details = { name, ...(group && { group }), kind: plural, ...(uid !== undefined && { uid }) };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}
