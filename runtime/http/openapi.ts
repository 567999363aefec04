import { z } from 'zod';
import { problemBody } from '../contracts/api/common.ts';
import { sessionCookieName } from '../contracts/api/sessions.ts';
import { tokenScopes } from '../domain/token-scopes.ts';
import { refusalsOf } from './refusals.ts';
import type { Access, Route } from './route.ts';

export interface OpenApiOptions {
  /** Routes below the prefix. */
  routes: readonly Route[];
  /** Routes at their own paths, such as `/health`. */
  rootRoutes?: readonly Route[];
  /** Without a trailing slash. */
  baseUrl: string;
  version: string;
  /** The prefix of the paths of `routes`. */
  prefix: string;
}

type Json = Record<string, unknown>;

function problem(description: string): Json {
  return { description, content: json({ $ref: '#/components/schemas/Problem' }) };
}

const bySession: Json[] = [{ bearer: [] }, { cookie: [] }];
const byWebhookToken = { webhookToken: [] };

function securityOf({ access, path }: Route): Json[] {
  // The last part of a secret URL is the secret.
  if (access === 'public' || (access === 'webhook' && path.endsWith('/:secret'))) return [];
  if (access === 'webhook') return [byWebhookToken, { webhookSignature: [] }];
  if (access === 'principal') return [...bySession, { accessToken: [] }];
  if (access === 'bearer') return [{ bearer: [] }, { accessToken: [] }];
  if (typeof access !== 'object') return bySession;
  const { scope, orWebhook } = access;
  return [...bySession, ...(scope ? [{ accessToken: [scope] }] : []), ...(orWebhook ? [byWebhookToken] : [])];
}

/** The role and the scope that a route needs, as sentences; undefined when a session is enough or not needed. */
function neededRights(access: Access): string | undefined {
  if (access === 'platform-admin') return 'Requires a platform admin.';
  if (typeof access !== 'object') return undefined;
  const token =
    access.scope === undefined
      ? 'Access tokens cannot call it.'
      : `An access token needs the scope \`${access.scope}\`.`;
  return `Requires the role ${access.project} in the project. ${token}`;
}

/** The OpenAPI 3.1 document of the routes, generated from the schemas that validate their requests. */
export function openApiDocument({ routes, rootRoutes = [], baseUrl, version, prefix }: OpenApiOptions): Json {
  const paths: Record<string, Json> = {};
  const add = (route: Route, location: Json) => {
    const path = route.path.replaceAll(/:([A-Za-z]+)/g, '{$1}');
    paths[path] = { ...location, ...paths[path], [route.method.toLowerCase()]: operation(route) };
  };
  for (const route of routes) add(route, {});
  for (const route of rootRoutes) add(route, { servers: [{ url: baseUrl }] });
  return {
    openapi: '3.1.0',
    info: { title: 'svc management API', version },
    servers: [{ url: `${baseUrl}${prefix}` }],
    paths,
    components: {
      schemas: { Problem: jsonSchema(problemBody, 'output') },
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        cookie: { type: 'apiKey', in: 'cookie', name: sessionCookieName(baseUrl) },
        accessToken: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'svct_<handle>_<secret>',
          description: `A token of a project. Each operation names the scope that it needs: ${tokenScopes.join(', ')}.`,
        },
        webhookToken: { type: 'apiKey', in: 'header', name: 'X-Svc-Token' },
        webhookSignature: { type: 'apiKey', in: 'header', name: 'X-Hub-Signature-256' },
      },
    },
  };
}

function operation(route: Route): Json {
  const body = route.body ?? route.lateBody;
  const description = neededRights(route.access);
  return {
    operationId: operationId(route),
    summary: route.summary,
    ...(description !== undefined && { description }),
    tags: [route.tag],
    security: securityOf(route),
    parameters: [...pathParameters(route), ...queryParameters(route)],
    ...(body && { requestBody: { required: needsBody(route), content: json(jsonSchema(body, 'input')) } }),
    responses: {
      ...Object.fromEntries(Array.from(refusalsOf(route), ([status, reason]) => [status, problem(reason)])),
      ...Object.fromEntries(
        Object.entries(route.replies).map(([status, schema]) => [
          status,
          { description: route.summary, ...(schema && { content: contentOf(route, jsonSchema(schema, 'output')) }) },
        ]),
      ),
      default: problem('The server failed (`internal`).'),
    },
  };
}

const jsonLines = 'application/x-ndjson';

/** The content of a response. With `follow`, it is a stream with one JSON object on each line. */
function contentOf({ query, jsonLines: isStream }: Route, schema: Json): Json {
  if (isStream) return { [jsonLines]: { schema } };
  return { ...json(schema), ...('follow' in propertiesOf(query) && { [jsonLines]: { schema: { type: 'string' } } }) };
}

/** An empty body counts as `{}`, which is valid where every field is optional; a PATCH and a webhook need content. */
function needsBody({ method, body, lateBody }: Route): boolean {
  return method === 'PATCH' || lateBody !== undefined || body?.safeParse({}).success === false;
}

/** `GET /projects/:project/apps` → `getProjectsByProjectApps`: it changes only when the path does. */
function operationId({ method, path }: Route): string {
  const words = path
    .split('/')
    .filter((part) => part !== '')
    .map((part) => (part.startsWith(':') ? `By-${part.slice(1)}` : part));
  return [method.toLowerCase(), ...words]
    .join('-')
    .replaceAll(/-([A-Za-z])/g, (_, letter: string) => letter.toUpperCase());
}

function pathParameters(route: Route): Json[] {
  const properties = propertiesOf(route.params);
  return [...route.path.matchAll(/:([A-Za-z]+)/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: properties[name] ?? { type: 'string' },
  }));
}

function queryParameters(route: Route): Json[] {
  const required = route.query ? (jsonSchema(route.query, 'input')['required'] as string[] | undefined) : undefined;
  return Object.entries(propertiesOf(route.query)).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    ...(description !== undefined && { description }),
    required: required?.includes(name) ?? false,
    schema,
  }));
}

function propertiesOf(schema: z.ZodType | undefined): Record<string, Json> {
  return schema ? ((jsonSchema(schema, 'input')['properties'] ?? {}) as Record<string, Json>) : {};
}

function json(schema: Json): Json {
  return { 'application/json': { schema } };
}

/** The output of a transformation has no JSON Schema; it then allows any value. */
function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}
