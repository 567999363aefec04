import type { IncomingMessage, ServerResponse } from 'node:http';
import { badRequest, forbidden, methodNotAllowed, noSuchResource, notFound, notImplemented } from './api-error.ts';
import type { Authentication, User } from './authentication.ts';
import { isAllowed, type Attributes } from './authorization.ts';
import type { Discovery } from './discovery.ts';
import { readJson, sendError, sendJson, type Exchange } from './exchange.ts';
import type { Objects, Place } from './objects.ts';
import { emptyOpenApi2 } from './openapi.ts';
import type { Exec, Upgrade } from './pod-exec.ts';
import { serveLogs, type PodLogs } from './pod-logs.ts';
import type { Registry } from './registry.ts';
import { resourcePath, verbOf, type ResourcePath } from './request-info.ts';
import { isJson, type Json, textIn } from './json.ts';
import type { Resource } from './resource.ts';
import type { Rest } from './rest.ts';
import { serveScale } from './scale.ts';
import { reviewToken, serveTokenRequest, type Signing } from './token-requests.ts';

/** Subresources that the real server has and this one refuses. */
const refused = new Set([
  'attach',
  'portforward',
  'proxy',
  'eviction',
  'binding',
  'ephemeralcontainers',
  'resize',
  'approval',
]);

/** What the routes lead to. */
export interface RouteOptions extends Signing {
  registry: Registry;
  objects: Objects;
  rest: Rest;
  discovery: Discovery;
  authentication: Authentication;
  openApi: (path: string) => Json | undefined;
  logs: PodLogs | undefined;
  exec: Exec;
}

/** Answers one request: who asks, what for, whether they may, and then the answer. Never rejects. */
export function createRoutes(
  options: RouteOptions,
): (request: IncomingMessage, response: ServerResponse, upgrade?: Upgrade) => Promise<void> {
  const { registry, objects, rest, discovery, authentication, openApi, store } = options;

  const authorize = (user: User, attributes: Attributes) => {
    if (!isAllowed(store, user, attributes)) throw refusal(user, attributes);
  };

  const serveReview = async (exchange: Exchange, { plural }: ResourcePath) => {
    if (exchange.method !== 'POST') throw methodNotAllowed();
    const body = await readJson(exchange.request);
    if (!isJson(body)) throw badRequest('the body is no review');
    if (plural === 'tokenreviews') sendJson(exchange, 201, reviewToken(body, authentication));
    else if (plural === 'selfsubjectaccessreviews') sendJson(exchange, 201, reviewAccess(body, exchange.user));
    else throw noSuchResource();
  };

  const reviewAccess = (body: Json, user: User): Json => {
    const spec = isJson(body['spec']) ? body['spec'] : {};
    const asked = isJson(spec['resourceAttributes']) ? spec['resourceAttributes'] : {};
    const path = isJson(spec['nonResourceAttributes']) ? String(spec['nonResourceAttributes']['path']) : undefined;
    const { verb = '', group = '', resource = '', subresource, namespace, name = '' } = asked;
    const allowed = isAllowed(store, user, {
      verb: String(path === undefined ? verb : (spec['nonResourceAttributes'] as Json)['verb']),
      group: String(group),
      resource: subresource ? `${String(resource)}/${textIn(subresource)}` : String(resource),
      namespace: namespace ? textIn(namespace) : undefined,
      name: String(name),
      ...(path !== undefined && { path }),
    });
    return {
      kind: 'SelfSubjectAccessReview',
      apiVersion: 'authorization.k8s.io/v1',
      metadata: {},
      spec,
      status: { allowed },
    };
  };

  const serveSubresource = async (exchange: Exchange, resource: Resource, path: ResourcePath): Promise<void> => {
    const { subresource, namespace, name } = path;
    const place: Place = { resource, namespace, name };
    const core = resource.group === '';
    if (subresource === undefined || (subresource === 'status' && resource.status)) {
      await rest.serve(exchange, resource, path);
    } else if (subresource === 'scale' && resource.scale) await serveScale(exchange, objects, place);
    else if (subresource === 'log' && core && resource.plural === 'pods') {
      await serveLogs(exchange, objects, place, options);
    } else if (subresource === 'exec' && core && resource.plural === 'pods') {
      options.exec.serve(exchange, place);
    } else if (subresource === 'token' && core && resource.plural === 'serviceaccounts') {
      await serveTokenRequest(exchange, objects, place, options);
    } else if (resource.custom) throw notFound(resource, name);
    else if (refused.has(subresource)) throw notImplemented(`${resource.plural}/${subresource}`);
    else throw noSuchResource();
  };

  const serveResource = async (exchange: Exchange, path: ResourcePath) => {
    const { method, query, user } = exchange;
    const { group, plural, name, namespace, subresource } = path;
    const resource = subresource ? `${plural}/${subresource}` : plural;
    const own = group === '' && plural === 'namespaces' && name ? name : namespace;
    const attributes = { group, resource, namespace: own, name };
    authorize(user, { ...attributes, verb: verbOf(method, path, query) });
    // A WebSocket begins with a GET, and is no reading.
    if (subresource === 'exec') authorize(user, { ...attributes, verb: 'create' });
    if (/^(authentication|authorization)\.k8s\.io$/.test(group)) {
      await serveReview(exchange, path);
      return;
    }
    const found = registry.find(group, path.version, plural);
    if (!found && !discovery.document(group ? `/apis/${group}/${path.version}` : `/api/${path.version}`)) {
      sendNothing(exchange);
      return;
    }
    // Below a namespace there is nothing that belongs to all of them, and nothing of one namespace without it.
    const misplaced = found && (found.namespaced ? name && namespace === undefined : namespace !== undefined);
    if (!found || misplaced) throw noSuchResource();
    await serveSubresource(exchange, found, path);
  };

  const serve = async (exchange: Exchange) => {
    const { path, method, user } = exchange;
    const resource = resourcePath(path);
    if (resource) {
      await serveResource(exchange, resource);
      return;
    }
    authorize(user, {
      verb: method === 'GET' ? 'get' : method.toLowerCase(),
      group: '',
      resource: '',
      namespace: undefined,
      name: '',
      path,
    });
    if (method !== 'GET') throw methodNotAllowed();
    if (path === '/openapi/v2') {
      exchange.response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(emptyOpenApi2);
      return;
    }
    const document = discovery.document(path.length > 1 ? path.replace(/\/$/, '') : path) ?? openApi(path);
    if (document) sendJson(exchange, 200, document);
    else sendNothing(exchange);
  };

  return async (request, response, upgrade) => {
    const warnings: string[] = [];
    try {
      const url = new URL(request.url ?? '/', 'https://apiserver');
      const { pathname: path, searchParams: query } = url;
      if (['/healthz', '/livez', '/readyz'].includes(path)) {
        response.writeHead(200, { 'content-type': 'text/plain' }).end('ok');
        return;
      }
      const user = authentication.authenticate(request.headers.authorization);
      await serve({ request, response, upgrade, method: request.method ?? 'GET', path, query, user, warnings });
    } catch (error) {
      sendError({ response, warnings }, error);
      // What was not read of the body would be taken for the next request.
      request.resume();
    }
  };
}

/** A path that nobody serves. */
function sendNothing({ response }: Exchange): void {
  response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('404 page not found\n');
}

function refusal({ name: user }: User, { verb, group, resource, namespace, name, path }: Attributes) {
  if (path !== undefined) {
    return forbidden({ group: '', plural: '', kind: '' }, '', `User "${user}" cannot ${verb} path "${path}"`);
  }
  const where = namespace === undefined ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  const why = `User "${user}" cannot ${verb} resource "${resource}" in API group "${group}" ${where}`;
  const [plural = ''] = resource.split('/');
  return forbidden({ group, plural, kind: '' }, name, why);
}
