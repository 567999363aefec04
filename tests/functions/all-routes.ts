import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import type { Route } from '../../runtime/http/route.ts';

const folder = join(import.meta.dirname, '../../functions');
/** Not part of the management API: routes at a separate port, for pods, and the web console's files. */
const apart = ['event-delivery', 'console'];
/** Folders whose routes have their own paths. */
const outsidePrefix = ['health', 'mcp'];

/**
 * Every route that any folder of functions/ declares; `root` are those outside the prefix. Their handlers have no
 * working dependencies.
 */
export async function declaredRoutes(): Promise<{ routes: Route[]; root: Route[] }> {
  const collected: { routes: Route[]; root: Route[] } = { routes: [], root: [] };
  const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const { name } of names) {
    if (apart.includes(name)) continue;
    const module = (await import(join(folder, name, 'handler.ts'))) as Record<string, unknown>;
    const [create, ...others] = Object.entries(module).filter(([key]) => /^create\w+Routes$/.test(key));
    if (!create || others.length > 0) throw new Error(`functions/${name} does not have one function for its routes`);
    const routes = (create[1] as (dependencies: unknown) => Route[])({
      baseUrl: 'http://console.test',
      registry: new Registry(),
      components: {},
    });
    (outsidePrefix.includes(name) ? collected.root : collected.routes).push(...routes);
  }
  return collected;
}
