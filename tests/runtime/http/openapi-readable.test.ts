import t from 'tap';
import { openApiDocument } from '../../../runtime/http/openapi.ts';
import { declaredRoutes } from '../../functions/all-routes.ts';

/** What some engines of regular expressions lack: lookaround, back references, Unicode properties. */
const unportable = /\(\?<?[=!]|\\[1-9pPuk]/;

interface Operation {
  parameters: { name: string; in: string; description?: string }[];
  /** Empty for public routes. */
  security: unknown[];
  requestBody?: object;
  responses: Record<string, { description: string }>;
}

t.test('other validators can read the OpenAPI document, and it describes every parameter and refusal', async (t) => {
  const { routes, root } = await declaredRoutes();
  const options = { routes, rootRoutes: root, baseUrl: 'https://console.test', version: '1', prefix: '/api/v1' };
  const document = openApiDocument(options) as { paths: Record<string, Record<string, Operation>> };
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      if (method === 'servers') continue;
      const name = `${method} ${path}`;
      for (const pattern of patternsIn(operation)) t.notMatch(pattern, unportable, `${name}: ${pattern}`);
      for (const parameter of operation.parameters.filter((each) => each.in === 'query')) {
        t.ok(parameter.description, `${name} describes ${parameter.name}`);
      }
      const isPublic = operation.security.length === 0;
      if (operation.requestBody && !isPublic) t.match(operation.responses['422']?.description, /`invalid_value`/, name);
    }
  }
});

function patternsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, entry]: [string, unknown]) =>
    key === 'pattern' && typeof entry === 'string' ? [entry] : patternsIn(entry),
  );
}
