import { z } from 'zod';
import { Problem } from '../domain/problem.ts';
import type { TokenScope } from '../domain/token-scopes.ts';
import type { Route, Session } from '../http/route.ts';
import type { ToolRequest } from './call-route.ts';

type Json = Readonly<Record<string, unknown>>;

/** Streams: a tool has one result. */
const streamParameters: readonly string[] = ['follow', 'all'];

/** The default and the largest number of lines and items, so that a result usually fits. */
const amounts: Readonly<Record<string, { default: number; maximum: number }>> = {
  limit: { default: 50, maximum: 100 },
  tail: { default: 200, maximum: 1000 },
};

/** What a model has to know about the parameters of paths. */
const pathDescriptions: Readonly<Record<string, string>> = {
  project: 'The project’s name (default: the project of the access token).',
  kind: 'The kind of object.',
  name: 'The object’s name.',
  app: 'The app’s name.',
  function: 'The function’s name.',
  job: 'The job’s name.',
  id: 'The deployment’s id, from a list of deployments.',
  key: 'The id or the handle of the API key.',
  version: 'The number of the change.',
  revision: 'The number of the revision, from the history of the app.',
};

/** The routes of a tool: one, or one for each kind. */
export interface RouteChoice {
  routes: ReadonlyMap<string, Route>;
  /** Absent for a tool with one route. */
  kinds?: readonly string[] | undefined;
  without?: readonly string[] | undefined;
  /** The scope that an access token needs, if it is not that of the routes. */
  scope?: TokenScope | undefined;
}

/** One route of a tool, and the request of it that arguments describe. */
export interface ChosenRequest {
  route: Route;
  request: ToolRequest;
}

/** The only route, or that of the kind in the arguments. @throws Problem `invalid_request` */
function routeOf({ routes, kinds }: RouteChoice, args: Json): Route {
  const kind = kinds ? args['kind'] : '';
  const route = typeof kind === 'string' ? routes.get(kind) : undefined;
  if (route) return route;
  throw wrong(`The argument kind must be one of ${kinds?.join(', ')}`);
}

/** The JSON Schema of a tool's arguments: the parameters of its routes, and `extra` ones. */
export function argumentsSchema(choice: RouteChoice, extra: Json = {}, extraRequired: readonly string[] = []): Json {
  const [route] = choice.routes.values();
  if (!route) throw new Error('a tool needs a route');
  const parameters = namesInPath(route, choice);
  const properties = Object.fromEntries(
    parameters.map(({ argument }) => [
      argument,
      { type: 'string', description: pathDescriptions[argument] ?? argument },
    ]),
  );
  const queries = [...choice.routes.values()].map((each) => queryProperties(each, choice));
  return {
    type: 'object',
    properties: {
      ...properties,
      ...(choice.kinds && { kind: { type: 'string', enum: choice.kinds, description: pathDescriptions['kind'] } }),
      ...Object.assign({}, ...queries.map((query) => query.properties)),
      ...extra,
    },
    required: [
      ...parameters.map(({ argument }) => argument).filter((argument) => argument !== 'project'),
      ...(choice.kinds ? ['kind'] : []),
      ...(queries[0]?.required ?? []),
      ...extraRequired,
    ],
    additionalProperties: false,
  };
}

/** The parameters in a route's path; that of the kind is the argument `name`. */
function namesInPath({ path }: Route, { kinds }: RouteChoice): { parameter: string; argument: string }[] {
  return [...path.matchAll(/:([A-Za-z]+)/g)].map(([, parameter = '']) => ({
    parameter,
    argument: kinds?.includes(parameter) ? 'name' : parameter,
  }));
}

function queryProperties({ query }: Route, { without = [] }: RouteChoice): { properties: Json; required: string[] } {
  if (!query) return { properties: {}, required: [] };
  const schema = z.toJSONSchema(query, { io: 'input', unrepresentable: 'any' });
  const entries = Object.entries(schema.properties ?? {}).filter(
    ([name]) => !streamParameters.includes(name) && !without.includes(name),
  );
  const properties = entries.map(([name, property]): [string, unknown] => {
    const { enum: words, description, ...rest } = property as { enum?: unknown[]; description?: string };
    const explained = description === undefined ? {} : { description };
    const amount = amounts[name];
    if (amount) return [name, { ...explained, type: 'integer', minimum: 1, ...amount }];
    if (words?.join() === 'true,false') return [name, { ...explained, type: 'boolean', default: false }];
    return [name, { ...rest, ...(words && { enum: words }), ...explained }];
  });
  const names = entries.map(([name]) => name);
  return {
    properties: Object.fromEntries(properties),
    required: (schema.required ?? []).filter((name) => names.includes(name)),
  };
}

/**
 * The request that a call of a tool describes.
 * @param extra further arguments, which the caller of this function reads
 * @throws Problem `invalid_request`
 */
export function requestOf(
  choice: RouteChoice,
  { token }: Session,
  args: unknown,
  extra: readonly string[] = [],
): ChosenRequest & { args: Json } {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) throw wrong('The arguments must be an object');
  const values = args as Json;
  const route = routeOf(choice, values);
  const parameters = namesInPath(route, choice);
  const { properties } = queryProperties(route, choice);
  const allowedNames = [...parameters.map(({ argument }) => argument), ...Object.keys(properties), ...extra];
  const unknown = Object.keys(values).find(
    (name) => !allowedNames.includes(name) && !(choice.kinds && name === 'kind'),
  );
  if (unknown !== undefined) {
    throw wrong(
      `The tool has no argument ${JSON.stringify(unknown.slice(0, 100))}; it has ${allowedNames.join(', ') || 'none'}`,
    );
  }
  const params = parameters.map(({ parameter, argument }) => {
    const value = values[argument] ?? (argument === 'project' ? token?.project : undefined);
    if (value === undefined || value === '') throw wrong(`The argument ${argument} is missing`);
    return [parameter, textOf(argument, value)];
  });
  const query = Object.keys(properties).flatMap((name) => {
    const amount = amounts[name];
    const value = values[name] ?? amount?.default;
    if (value === undefined || value === null) return [];
    const limited = amount && typeof value === 'number' ? Math.min(value, amount.maximum) : value;
    return [[name, textOf(name, limited)]];
  });
  return {
    route,
    request: {
      params: Object.fromEntries(params) as Record<string, string>,
      query: Object.fromEntries(query) as Record<string, string>,
    },
    args: values,
  };
}

/** An argument as a path or a query has it. @throws Problem `invalid_request` */
function textOf(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw wrong(`The argument ${name} must be a text, a number, true or false`);
}

/** The refusal of arguments. @param reason a sentence without its end */
export function wrong(reason: string): Problem {
  return new Problem('invalid_request', `${reason}.`);
}
