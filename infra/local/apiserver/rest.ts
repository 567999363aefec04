import { badRequest, invalid, methodNotAllowed, notImplemented, unversioned, type Status } from './api-error.ts';
import { unsupportedValue } from './causes.ts';
import { readJson, sendJson, type Exchange } from './exchange.ts';
import { isJson, mergePatch, textIn, valueAt, type Json } from './json.ts';
import type { Lists } from './list.ts';
import type { DeleteOptions } from './deletion.ts';
import type { Objects, Place, WriteOptions } from './objects.ts';
import { isWatch, type ResourcePath } from './request-info.ts';
import type { ApiObject, Resource } from './resource.ts';
import { scale } from './scale.ts';
import { selectionOf } from './selector.ts';
import { rendered, renderingOf } from './table.ts';
import type { Watches } from './watch.ts';

/** The patches that are understood. */
const patchType = 'application/merge-patch+json';

/** A side of an object: itself, its status, or what {@link scale} makes of it. */
export interface Side {
  read: (live: ApiObject) => ApiObject;
  /** The whole object after its side was changed into what was given. */
  write: (live: ApiObject, given: unknown) => unknown;
  part: 'main' | 'status';
}

const main: Side = { read: (live) => live, write: (_live, given) => given, part: 'main' };
const sides: Readonly<Record<string, Side>> = { status: { ...main, part: 'status' }, scale };

/** Serves the objects of a resource, their status and their scale. */
export interface Rest {
  serve(exchange: Exchange, resource: Resource, path: ResourcePath): Promise<void>;
}

export function createRest(options: { objects: Objects; lists: Lists; watches: Watches }): Rest {
  const { objects, lists, watches } = options;

  const send = (exchange: Exchange, code: number, object: ApiObject, resource: Resource) => {
    const rendering = renderingOf(exchange.request.headers.accept, exchange.query);
    sendJson(exchange, code, rendered(object, resource, rendering));
  };
  /** A list, or a watch where that is asked for. */
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
      send(exchange, 201, objects.create(resource, namespace, body, writeOptions(exchange)), resource);
    } else if (method === 'DELETE') {
      const asked = deleteOptions(await readJson(request), query);
      const text = lists(selectionOf(resource, namespace, query), new URLSearchParams(), 'objects');
      for (const { metadata } of (JSON.parse(text) as { items: ApiObject[] }).items) {
        objects.delete({ resource, namespace: metadata.namespace, name: metadata.name }, asked);
      }
      sendJson(exchange, 200, text);
    } else throw methodNotAllowed();
  };

  const remove = async (exchange: Exchange, place: Place) => {
    const { resource } = place;
    const asked = deleteOptions(await readJson(exchange.request), exchange.query);
    const { object, gone } = objects.delete(place, asked);
    if (gone) sendJson(exchange, 200, deleted(resource, object));
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
      const { read, write, part } = sides[subresource] ?? main;
      if (method === 'GET' && isWatch(query)) throw notImplemented('a watch by name: use a field selector');
      if (method === 'GET') send(exchange, 200, read(objects.get(place)), resource);
      else if (method === 'PUT' || method === 'PATCH') {
        const body = await readJson(request, method === 'PATCH' ? patchType : undefined);
        const change = (live: ApiObject) =>
          write(live, method === 'PATCH' ? patched(read(live), body, resource) : body);
        send(exchange, 200, read(objects.update(place, change, part, writeOptions(exchange))), resource);
      } else if (method === 'DELETE' && !subresource) await remove(exchange, place);
      else throw methodNotAllowed();
    },
  };
}

function patched(live: ApiObject, patch: unknown, resource: Resource): unknown {
  if (!isJson(patch)) throw badRequest('a merge patch is an object');
  const next = mergePatch(live, patch);
  // Without one, a patch is of the version that it meets.
  if (!valueAt(next, 'metadata.resourceVersion')) throw unversioned(resource, live.metadata.name);
  return next;
}

function writeOptions({ query }: Exchange): WriteOptions {
  return { dryRun: query.get('dryRun') === 'All', strict: query.get('fieldValidation') === 'Strict' };
}

function deleteOptions(body: unknown, query: URLSearchParams): DeleteOptions {
  const given: Json = { ...Object.fromEntries(query), ...(isJson(body) ? body : {}) };
  const { propagationPolicy: policy, gracePeriodSeconds: grace, preconditions, dryRun } = given;
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

function deleted({ group, plural }: Resource, { metadata: { name, uid } }: ApiObject): Status {
  const details = { name, ...(group && { group }), kind: plural, ...(uid !== undefined && { uid }) };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}
