import { createHash } from 'node:crypto';
import type { Json } from './json.ts';
import type { Registry } from './registry.ts';
import { apiVersionOf, type Resource } from './resource.ts';

/** The document of OpenAPI v2 that describes nothing, in protobuf (its first field, the version), as kubectl takes it. */
export const emptyOpenApi2 = Buffer.from([0x0a, 0x03, ...Buffer.from('2.0')]);

/** What a write may be told by its query. */
const parameters = ['dryRun', 'fieldManager', 'fieldValidation'].map((name) => ({
  name,
  in: 'query',
  schema: { type: 'string', uniqueItems: true },
}));

/**
 * OpenAPI v3, as far as clients ask for it before they write: which kinds there are, where, and that the server itself
 * checks their fields. Types are not described, so `kubectl explain` has nothing to explain.
 * @returns the document at a path below `/openapi`; undefined where there is none
 */
export function createOpenApi(registry: Registry): (path: string) => Json | undefined {
  const groupVersions = (): Map<string, Resource[]> => {
    const groups = new Map<string, Resource[]>();
    for (const resource of registry.all()) {
      const path = resource.group ? `apis/${apiVersionOf(resource)}` : `api/${apiVersionOf(resource)}`;
      groups.set(path, [...(groups.get(path) ?? []), resource]);
    }
    return groups;
  };

  return (path) => {
    if (path === '/openapi/v3') {
      const paths = [...groupVersions()].map(([name, resources]) => {
        const hash = createHash('sha256')
          .update(JSON.stringify(resources.map(storageName)))
          .digest('hex')
          .slice(0, 32);
        return [name, { serverRelativeURL: `/openapi/v3/${name}?hash=${hash}` }];
      });
      return { paths: Object.fromEntries(paths) as Json };
    }
    const resources = groupVersions().get(path.replace(/^\/openapi\/v3\//, ''));
    return resources && { openapi: '3.0.0', info: { title: 'Kubernetes', version: '' }, paths: pathsOf(resources) };
  };
}

const storageName = ({ plural, schema }: Resource) => [plural, Object.keys(schema.properties ?? {})];

function pathsOf(resources: readonly Resource[]): Json {
  return Object.fromEntries(
    resources.map((resource) => {
      const { group, version, kind, plural, namespaced } = resource;
      const root = group ? `/apis/${apiVersionOf(resource)}` : `/api/${version}`;
      const scope = namespaced ? '/namespaces/{namespace}' : '';
      const gvk = { group, version, kind };
      const operation = {
        parameters,
        responses: { 200: { description: 'OK' } },
        'x-kubernetes-group-version-kind': gvk,
      };
      return [`${root}${scope}/${plural}/{name}`, { patch: { ...operation, 'x-kubernetes-action': 'patch' } }];
    }),
  );
}
