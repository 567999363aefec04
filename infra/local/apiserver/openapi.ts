import { createHash } from 'node:crypto';
import type { Json } from './json.ts';
import type { Registry } from './registry.ts';
import type { Resource } from './resource.ts';

/** The document of OpenAPI v2 that describes nothing, in protobuf (its first field, the version), as kubectl takes it. */
export const emptyOpenApi2 = Buffer.from([0x0a, 0x03, ...Buffer.from('2.0')]);

/** What a write may be told by its query. */
const parameters = ['dryRun', 'fieldManager', 'fieldValidation'].map((name) => ({
  name,
  in: 'query',
  schema: { type: 'string', uniqueItems: true },
}));

const root = ({ group, version }: Resource) => (group ? `apis/${group}/${version}` : `api/${version}`);

/**
 * OpenAPI v3, as far as clients ask for it before they write: which kinds there are, where, and that the server itself
 * checks their fields. Types are not described, so `kubectl explain` has nothing to explain.
 * @returns the document at a path below `/openapi`; undefined where there is none
 */
export function createOpenApi(registry: Registry): (path: string) => Json | undefined {
  return (path) => {
    const documents = Map.groupBy(registry.all(), root);
    const found = documents.get(path.replace(/^\/openapi\/v3\//, ''));
    if (found) return { openapi: '3.0.0', info: { title: 'Kubernetes', version: '' }, paths: pathsOf(found) };
    if (path !== '/openapi/v3') return undefined;
    const paths = [...documents].map(([name, resources]) => {
      const hash = createHash('sha256')
        .update(resources.map(({ plural }) => plural).join())
        .digest('hex');
      return [name, { serverRelativeURL: `/openapi/v3/${name}?hash=${hash}` }];
    });
    return { paths: Object.fromEntries(paths) as Json };
  };
}

function pathsOf(resources: readonly Resource[]): Json {
  return Object.fromEntries(
    resources.map((resource) => {
      const { group, version, kind, plural, namespaced } = resource;
      const patch = {
        parameters,
        responses: { 200: { description: 'OK' } },
        'x-kubernetes-group-version-kind': { group, version, kind },
        'x-kubernetes-action': 'patch',
      };
      return [`/${root(resource)}${namespaced ? '/namespaces/{namespace}' : ''}/${plural}/{name}`, { patch }];
    }),
  );
}
