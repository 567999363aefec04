import { z } from 'zod';
import { problemBody } from '../contracts/api/common.ts';
import { sessionCookie } from '../contracts/api/sessions.ts';
import type { Access, Route } from './route.ts';

export interface OpenApiOptions {
  routes: readonly Route[];
  /** Without a trailing slash. */
  baseUrl: string;
  version: string;
  /** Put before every path. */
  prefix: string;
}

type Json = Record<string, unknown>;

const bySession: Json[] = [{ bearer: [] }, { cookie: [] }];
const byToken = { webhookToken: [] };

function securityOf({ access, path }: Route): Json[] {
  // The last part of a secret URL is itself the proof.
  if (access === 'public' || (access === 'webhook' && path.endsWith('/:secret'))) return [];
  if (access === 'webhook') return [byToken, { webhookSignature: [] }];
  return typeof access === 'object' && access.orWebhook ? [...bySession, byToken] : bySession;
}

/** What a person has to be, in words; undefined when being signed in is enough, or not needed. */
function needsOf(access: Access): string | undefined {
  if (typeof access === 'object') return `Needs the role ${access.project} in the project.`;
  return access === 'platform-admin' ? 'Needs an admin of the platform.' : undefined;
}

/** The OpenAPI 3.1 document of the routes, made of the very schemas that validate (design.md §9). */
export function openApiDocument({ routes, baseUrl, version, prefix }: OpenApiOptions): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:([A-Za-z]+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'svc management API', version },
    servers: [{ url: `${baseUrl}${prefix}` }],
    paths,
    components: {
      schemas: { Problem: jsonSchema(problemBody, 'output') },
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        cookie: { type: 'apiKey', in: 'cookie', name: sessionCookie },
        webhookToken: { type: 'apiKey', in: 'header', name: 'X-Svc-Token' },
        webhookSignature: { type: 'apiKey', in: 'header', name: 'X-Hub-Signature-256' },
      },
    },
  };
}

function operation(route: Route): Json {
  const body = route.body ?? route.lateBody;
  const description = needsOf(route.access);
  const lines = 'follow' in propertiesOf(route.query) ? followedLines : {};
  return {
    operationId: operationId(route),
    summary: route.summary,
    ...(description !== undefined && { description }),
    tags: [route.tag],
    security: securityOf(route),
    parameters: [...pathParameters(route), ...queryParameters(route)],
    ...(body && { requestBody: { required: needsBody(route), content: json(jsonSchema(body, 'input')) } }),
    responses: {
      ...Object.fromEntries(
        Object.entries(route.replies).map(([status, schema]) => [
          status,
          {
            description: route.summary,
            ...(schema && { content: { ...json(jsonSchema(schema, 'output')), ...lines } }),
          },
        ]),
      ),
      default: { description: 'The request was refused.', content: json({ $ref: '#/components/schemas/Problem' }) },
    },
  };
}

/** With `follow` an answer goes on, an object of JSON on each line. */
const followedLines: Json = { 'application/x-ndjson': { schema: { type: 'string' } } };

/** An empty body counts as `{}`, which may say enough; but a change says what it changes, and a sender what it tells of. */
function needsBody({ method, body, lateBody }: Route): boolean {
  return method === 'PATCH' || lateBody !== undefined || body?.safeParse({}).success === false;
}

/** `GET /projects/:project/apps` → `getProjectsByProjectApps`: stable as long as the path is. */
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
  return Object.entries(propertiesOf(route.query)).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required?.includes(name) ?? false,
    schema,
  }));
}

function propertiesOf(schema: z.ZodType | undefined): Record<string, unknown> {
  return schema ? ((jsonSchema(schema, 'input')['properties'] ?? {}) as Record<string, unknown>) : {};
}

function json(schema: Json): Json {
  return { 'application/json': { schema } };
}

/** A transformation has no JSON Schema on its output side; it then says nothing about the value. */
function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}
