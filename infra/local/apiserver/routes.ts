import type { IncomingMessage, ServerResponse } from 'node:http';
import { createBodyDiscards } from '../../../runtime/http/body-discard.ts';
import { forbidden, methodNotAllowed, noSuchResource, notFound, notImplemented } from './api-error.ts';
import type { User } from './user.ts';
import type { Authentication } from './authentication.ts';
import type { Attributes, Authorization } from './authorization.ts';
import { sendError, sendJson, type Exchange } from './exchange.ts';
import type { Json } from './json.ts';
import type { Place } from './objects.ts';
import { emptyOpenApi2 } from './openapi.ts';
import type { Upgrade } from './exchange.ts';
import type { Registry } from './registry.ts';
import { resourcePath, verbOf, type ResourcePath } from './request-info.ts';
import { apiVersionOf, type Resource } from './resource.ts';
import type { Rest } from './rest.ts';

/** The dependencies of the routes. */
export interface RouteOptions {
  registry: Registry;
  rest: Rest;
  authenticate: Authentication;
  isAllowed: Authorization;
  /** Documents outside of resources, by path; undefined for none. */
  documents: (path: string) => Json | undefined;
  /** Subresources other than status and scale, by paths such as `pods/log`. */
  subresources: Readonly<Record<string, (exchange: Exchange, place: Place) => void | Promise<void>>>;
  /** Reviews, which are answered but not stored, by `<group>/<version>/<plural>`. */
  reviews: Readonly<Record<string, (exchange: Exchange) => void | Promise<void>>>;
}

/** Authenticates, authorizes and answers one request. Never rejects. */
export function createRoutes(
  options: RouteOptions,
): (request: IncomingMessage, response: ServerResponse, upgrade?: Upgrade) => Promise<void> {
  const { registry, rest, authenticate, isAllowed, documents, subresources, reviews } = options;
  const discards = createBodyDiscards();

  const authorize = (user: User, attributes: Attributes) => {
    if (!isAllowed(user, attributes)) throw forbiddenRequest(user, attributes);
  };

  const serveObjects = async (exchange: Exchange, resource: Resource, path: ResourcePath) => {
    const { subresource, namespace, name } = path;
    const special = resource.group === '' ? subresources[`${resource.plural}/${subresource}`] : undefined;
    const isView =
      subresource === undefined || ((subresource === 'status' || subresource === 'scale') && resource[subresource]);
    if (isView) await rest.serve(exchange, resource, path);
    else if (special) await special(exchange, { resource, namespace, name });
    else if (resource.custom) throw notFound(resource, name);
    else throw notImplemented(`${resource.plural}/${subresource}`);
  };

  const serveResource = async (exchange: Exchange, path: ResourcePath) => {
    const { method, query, user } = exchange;
    const { group, version, plural, name, namespace, subresource } = path;
    const resource = subresource ? `${plural}/${subresource}` : plural;
    const scope = group === '' && plural === 'namespaces' && name ? name : namespace;
    const attributes = { group, resource, namespace: scope, name };
    authorize(user, { ...attributes, verb: verbOf(method, name, query) });
    // A WebSocket starts with a GET, but running a command is not a read.
    if (subresource === 'exec') authorize(user, { ...attributes, verb: 'create' });
    const review = name === '' && namespace === undefined ? reviews[`${group}/${version}/${plural}`] : undefined;
    if (review) {
      await review(exchange);
      return;
    }
    const match = registry.find(group, version, plural);
    // A namespaced object needs a namespace in its path; a cluster-wide resource must not have one.
    const isMisplaced = match && (match.namespaced ? name && namespace === undefined : namespace !== undefined);
    if (match && !isMisplaced) await serveObjects(exchange, match, path);
    else if (registry.all().some((other) => apiVersionOf(other) === apiVersionOf(path))) throw noSuchResource();
    else sendPageNotFound(exchange);
  };

  const serve = async (exchange: Exchange) => {
    const { path, method, user } = exchange;
    const resource = resourcePath(path);
    if (resource) {
      await serveResource(exchange, resource);
      return;
    }
    const nothing = { group: '', resource: '', namespace: undefined, name: '' };
    authorize(user, { ...nothing, verb: method.toLowerCase(), path });
    if (method !== 'GET') throw methodNotAllowed();
    const document = documents(path.replace(/(.)\/$/, '$1'));
    if (document) sendJson(exchange, 200, document);
    else if (path === '/openapi/v2') exchange.response.end(emptyOpenApi2);
    else sendPageNotFound(exchange);
  };

  /** The rest of a body that is not read, before the response: node:http would read all of it, however long it is. */
  const discard = (request: IncomingMessage, response: ServerResponse) => {
    discards.discard(request);
    if (request.isPaused() && !response.headersSent) response.setHeader('Connection', 'close');
  };

  return async (request, response, upgrade) => {
    try {
      const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'https://apiserver');
      const isHealth = ['/healthz', '/livez', '/readyz'].includes(path);
      if ((isHealth || request.method === 'GET') && !upgrade) discard(request, response);
      if (isHealth) {
        response.writeHead(200, { 'content-type': 'text/plain' }).end('ok');
        return;
      }
      const user = authenticate(request.headers.authorization);
      await serve({ request, response, upgrade, method: request.method ?? 'GET', path, query, user });
    } catch (error) {
      if (!upgrade) discard(request, response);
      sendError(response, error);
    }
  };
}

/** Answers a path that does not exist. */
function sendPageNotFound({ response }: Exchange): void {
  response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('404 page not found\n');
}

function forbiddenRequest({ name: user }: User, { verb, group, resource, namespace, name, path }: Attributes) {
  const [plural = ''] = resource.split('/');
  const about = { group, plural, kind: '' };
  if (path !== undefined) return forbidden(about, name, `User "${user}" cannot ${verb} path "${path}"`);
  const where = namespace === undefined ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  return forbidden(
    about,
    name,
    `User "${user}" cannot ${verb} resource "${resource}" in API group "${group}" ${where}`,
  );
}
