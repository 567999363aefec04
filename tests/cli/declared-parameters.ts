import { parameterNames } from '../../runtime/http/query.ts';
import { declaredRoutes } from '../functions/all-routes.ts';

const routes = (await declaredRoutes()).routes.map((route) => ({
  method: route.method as string,
  path: new RegExp(`^/api/v1${route.path.replaceAll(/:\w+/g, '[^/]+')}$`),
  parameters: parameterNames(route.query),
}));

/** The query parameters of a request that the API would refuse; none for a path that is not the API's. */
export function undeclaredParameters(method: string, url: URL): string[] {
  const matches = routes.filter((route) => route.method === method && route.path.test(url.pathname));
  if (matches.length === 0) return [];
  return [...url.searchParams.keys()].filter((name) => !matches.some(({ parameters }) => parameters.includes(name)));
}
