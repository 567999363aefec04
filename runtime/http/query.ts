import { z } from 'zod';
import { Problem } from '../domain/problem.ts';
import { parseShape } from './body.ts';
import type { ProjectGrant, Route } from './route.ts';

/**
 * Validates the query. A parameter that the route does not have is refused: a filter with a typo would select everything.
 * Only callers of public routes and webhooks, such as monitors and git hosts, may add parameters of their own.
 */
export function parseQuery({ query: schema, access }: Pick<Route, 'query' | 'access'>, query: object): unknown {
  if (access !== 'public' && access !== 'webhook') {
    const parameters = parameterNames(schema);
    const unknown = Object.keys(query).find((name) => !parameters.includes(name));
    if (unknown !== undefined) {
      const list = parameters.length === 0 ? 'it has none' : `it has ${parameters.join(', ')}`;
      const message = `This route has no query parameter ${JSON.stringify(unknown.slice(0, 100))}; ${list}.`;
      throw new Problem('invalid_request', message, {
        details: { issues: [{ path: 'query', message: 'has an unknown parameter' }] },
      });
    }
  }
  return schema ? parseShape(schema, query, 'query') : {};
}

/** The names of the parameters of a route's query. */
export function parameterNames(schema: z.ZodType | undefined): string[] {
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

/**
 * Keeps an access token of one environment in it: a request that names no environment is about the token's.
 * @returns the query
 * @throws Problem `forbidden` for another environment, and for a route that concerns the whole project
 */
export function limitToEnvironment<Query extends Readonly<Record<string, unknown>>>(
  { query: schema, access }: Pick<Route, 'query' | 'access'>,
  query: Query,
  { environment }: Pick<ProjectGrant, 'environment'> = {},
): Query {
  if (environment === undefined) return query;
  if (typeof access === 'object' && access.environment === 'handler') return query;
  if (parameterNames(schema).includes('environment') && (query['environment'] ?? environment) === environment) {
    return { ...query, environment };
  }
  throw outsideEnvironment(environment);
}

/** The refusal of an access token outside its environment. */
function outsideEnvironment(environment: string): Problem {
  return new Problem('forbidden', `The access token is limited to the environment "${environment}".`, {
    details: { environment },
  });
}
