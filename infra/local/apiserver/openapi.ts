import { createHash } from 'node:crypto';
import type { Json } from './json.ts';
import type { Registry } from './registry.ts';
import type { Resource } from './resource.ts';

/** An empty OpenAPI v2 document in protobuf (only its first field, the version), which kubectl accepts. */
export const emptyOpenApi2 = Buffer.from([0x0a, 0x03, ...Buffer.from('2.0')]);

/** Query parameters of writes. */
const parameters = ['dryRun', 'fieldManager', 'fieldValidation'].map((name) => ({
  name,
  in: 'query',
  schema: { type: 'string', uniqueItems: true },
}));

const root = ({ group, version }: Resource) => (group ? `apis/${group}/${version}` : `api/${version}`);

/**
 * The part of OpenAPI v3 that clients read before a write: the kinds, their paths, and that the server validates fields.
 * Types are not described, so `kubectl explain` shows nothing.
 * @returns the document at a path below `/openapi`; undefined for none
 */
export function createOpenApi(registry: Registry): (path: string) => Json | undefined {
  return (path) => {
    const documents = Map.groupBy(registry.all(), root);
    const resources = documents.get(path.replace(/^\/openapi\/v3\//, ''));
    if (resources) return { openapi: '3.0.0', info: { title: 'Kubernetes', version: '' }, paths: pathsOf(resources) };
    if (path !== '/openapi/v3') return undefined;
    const paths = [...documents].map(([name, members]) => {
      const hash = createHash('sha256')
        .update(members.map(({ plural }) => plural).join())
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
