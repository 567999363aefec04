import { readFileSync } from 'node:fs';
import t from 'tap';
import { z } from 'zod';
import { problemStatus } from '../../runtime/domain/problem.ts';
import { figureLine } from '../bench/figure.ts';
import { documentedOperations, pathOf, type Operation, type Schema } from '../support/openapi.ts';
import { runningPlatform, testProject } from '../support/platform.ts';
import { seededRandom, type Random } from '../support/random.ts';
import { soakFactor, testSeed } from '../support/soak.ts';

/**
 * Requests made at random from the OpenAPI document, valid and invalid: no answer is a 5xx, every answer has a declared
 * status, every success a body that fits its schema, and every refusal is a problem with a message and a code of that
 * status.
 */
const platform = await runningPlatform();
const seed = testSeed();
const count = 600 * soakFactor();

/** Routes that change more than the project, or end it: users, settings of the installation, the session in use. */
const isShared = ({ method, path }: Operation) =>
  method !== 'GET' && (!path.startsWith('/api/v1/projects/{project}/') || path.endsWith('/environments/{environment}'));
/** An answer that does not end. */
const isStream = ({ path }: Operation) => /\/(logs|watch)$/.test(path);

const hostile: unknown[] = [
  '',
  ' ',
  'a\0b',
  '\u{d800}',
  '..',
  '../..',
  '%00',
  '%2e%2e',
  'constructor',
  '__proto__',
  'toString',
  "'; DROP TABLE apps; --",
  '${7*7}',
  'ä'.repeat(300),
  'x'.repeat(70_000),
  '\r\nX-Injected: 1',
  '9'.repeat(400),
  '2026-13-45T99:99:99Z',
  -1,
  0,
  1e308,
  2 ** 53,
  0.1,
  null,
  true,
  [],
  {},
  [[[[]]]],
  { __proto__: null, constructor: { prototype: {} } },
];

/** A value for a schema: usually one that fits, sometimes one that does not. */
function valueFor(schema: Schema, random: Random, depth = 0): unknown {
  if (random.chance(0.12) || depth > 6) return random.pick(hostile);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return random.pick(schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices && choices.length > 0) return valueFor(random.pick(choices), random, depth + 1);
  const type = Array.isArray(schema.type) ? random.pick(schema.type) : schema.type;
  if (type === 'object' || schema.properties) return objectFor(schema, random, depth);
  if (type === 'array') {
    return Array.from({ length: random.between(0, 3) }, () => valueFor(schema.items ?? {}, random, depth + 1));
  }
  if (type === 'boolean') return random.chance(0.5);
  if (type === 'integer' || type === 'number') {
    return random.between(schema.minimum ?? 0, Math.min(schema.maximum ?? 100, 2 ** 31));
  }
  return textFor(schema, random);
}

function objectFor({ properties = {}, required = [] }: Schema, random: Random, depth: number): object {
  const entries = Object.entries(properties)
    .filter(([name]) => random.chance(required.includes(name) ? 0.95 : 0.4))
    .map(([name, schema]) => [name, valueFor(schema, random, depth + 1)]);
  if (random.chance(0.05)) entries.push([random.pick(['extra', '__proto__', 'constructor']), 1]);
  return Object.fromEntries(entries) as object;
}

function textFor({ format }: Schema, random: Random): string {
  if (format === 'uuid') return '019a0000-0000-7000-8000-000000000003';
  if (format === 'date-time') return '2027-01-31T00:00:00Z';
  return random.pick(['api', 'prod', 'small', 'localhost:5000/svc/hello:v1', '1', '10m', '64Mi', '* * * * *', 'KEY']);
}

const { project, flags } = await testProject(t, platform);
await platform.ok(['app', 'create', 'api', '--image', 'localhost:5000/svc/hello:v1', ...flags]);
const password = readFileSync(platform.info.adminPasswordFile, 'utf8').trim();
const session = await platform.request(`${platform.info.api}/api/v1/session`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ email: platform.info.adminEmail, password }),
});
const token = session.json()['token'] as string;
const operations = (await documentedOperations(platform)).filter((each) => !isShared(each) && !isStream(each));

const shapes = new Map<Schema, z.ZodType>();
/** What was sent in this file, and how often an answer broke a rule. */
const counts = { requests: 0, serverErrors: 0, undeclared: 0, misshapen: 0 };
t.teardown(() => {
  const none = { operator: '<=', value: 0 } as const;
  t.comment(figureLine({ name: 'fuzz.requests', value: counts.requests, unit: 'requests' }));
  t.comment(figureLine({ name: 'fuzz.5xx', value: counts.serverErrors, unit: 'answers', target: none }));
  t.comment(figureLine({ name: 'fuzz.undeclared', value: counts.undeclared, unit: 'answers', target: none }));
  t.comment(figureLine({ name: 'fuzz.misshapen', value: counts.misshapen, unit: 'answers', target: none }));
});

t.test(`${count} requests from the OpenAPI document (seed ${seed})`, async (t) => {
  const random = seededRandom(seed);
  const deviations: string[] = [];
  for (let index = 0; index < count; index++) {
    const operation = operations[index % operations.length];
    if (!operation) break;
    const deviation = await send(operation, random);
    if (deviation !== undefined) deviations.push(deviation);
  }
  t.same(deviations, []);
  t.equal((await platform.request(`${platform.info.api}/health`)).status, 200);
});

t.test('a NUL byte in any parameter is refused with a code', async (t) => {
  const deviations: string[] = [];
  for (const operation of operations) {
    const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
    const inQuery = operation.parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
    for (const poisoned of [...inPath, ...inQuery]) {
      const path = pathOf(operation, ({ name }) => (name === poisoned ? 'a\0b' : name === 'project' ? project : 'api'));
      const query = [
        ...(takesEnvironment(operation) ? ['environment=prod'] : []),
        ...(inQuery.includes(poisoned) ? [`${poisoned}=a%00b`] : []),
      ].join('&');
      const deviation = await check(operation, `${path}?${query}`, operation.body && '{}');
      if (deviation !== undefined) deviations.push(deviation);
    }
    for (const name of Object.keys(operation.body?.properties ?? {})) {
      const path = pathOf(operation, (parameter) => (parameter.name === 'project' ? project : 'api'));
      const query = takesEnvironment(operation) ? 'environment=prod' : '';
      const deviation = await check(operation, `${path}?${query}`, JSON.stringify({ [name]: 'a\0b' }));
      if (deviation !== undefined) deviations.push(deviation);
    }
  }
  t.same(deviations, []);
});

/** Sends one request at random. @returns what is wrong with the answer; undefined if nothing is */
async function send(operation: Operation, random: Random): Promise<string | undefined> {
  const path = pathOf(operation, ({ name, schema }) => {
    if (name === 'project') return project;
    if (name === 'app' && random.chance(0.6)) return 'api';
    return segment(valueFor(schema, random));
  });
  const query = operation.parameters
    .filter((parameter) => parameter.in === 'query' && random.chance(0.5))
    .map(({ name, schema }) => `${encodeURIComponent(name)}=${segmentEncoded(valueFor(schema, random))}`);
  if (takesEnvironment(operation) && !query.some((each) => each.startsWith('environment='))) {
    query.push('environment=prod');
  }
  if (random.chance(0.02)) query.push('nonsense=1');
  const body = operation.body && JSON.stringify(valueFor(operation.body, random) ?? {});
  return check(operation, `${path}?${query.join('&')}`, body);
}

/** Sends a request as the admin. @returns what is wrong with the answer; undefined if nothing is */
async function check(operation: Operation, path: string, body?: string): Promise<string | undefined> {
  const { method } = operation;
  const answer = await platform.request(`${platform.info.api}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body }),
  });
  counts.requests++;
  const fault = faultOf(operation, answer);
  if (fault === undefined) return undefined;
  counts[fault]++;
  return `${fault}: ${method} ${path} ${body?.slice(0, 300) ?? ''}: ${answer.status} ${answer.body.slice(0, 200)}`;
}

/** The rule that an answer breaks. */
function faultOf(
  { answers }: Operation,
  { status, body }: { status: number; body: string },
): Exclude<keyof typeof counts, 'requests'> | undefined {
  if (status >= 500 && !isOfMissingComponent(status, body)) return 'serverErrors';
  if (!answers.has(status)) return 'undeclared';
  const shape = status < 400 ? shapeOf(answers.get(status)) : problemOf(status);
  if (!shape) return undefined;
  try {
    return shape.safeParse(JSON.parse(body)).success ? undefined : 'misshapen';
  } catch {
    return 'misshapen';
  }
}

/** The stores of metrics and alerts are components that an installation may run without. */
function isOfMissingComponent(status: number, body: string): boolean {
  return status === 503 && /"code":"(?:metrics|alerts)_unavailable"/.test(body);
}

/** A refusal: its code is one of those with this status (docs/reference/api.md#errors). */
function problemOf(status: number): z.ZodType {
  const codes = Object.entries(problemStatus).flatMap(([code, of]) => (of === status ? [code] : []));
  return z.strictObject({
    code: z.enum(codes),
    message: z.string().min(1),
    details: z.record(z.string(), z.unknown()).optional(),
  });
}

/** Checks what a schema of the document says; undefined without a schema. */
function shapeOf(schema: Schema | undefined): z.ZodType | undefined {
  if (!schema) return undefined;
  const shape = shapes.get(schema) ?? z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  shapes.set(schema, shape);
  return shape;
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 2_000);
/** A part of a path. A URL has no form for a lone surrogate, and folds dots before they are sent. */
const segment = (value: unknown) =>
  textOf(value)
    .toWellFormed()
    .replace(/^\.{0,2}$/, 'x');
const segmentEncoded = (value: unknown) => encodeURIComponent(textOf(value).toWellFormed());

function takesEnvironment({ parameters }: Operation): boolean {
  return parameters.some((parameter) => parameter.in === 'query' && parameter.name === 'environment');
}
