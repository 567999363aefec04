import { createHash } from 'node:crypto';
import type { Json } from './json.ts';
import type { Registry } from './registry.ts';
import { apiVersionOf, type Resource } from './resource.ts';

/** The version of Kubernetes that the server imitates. */
const [major, minor, patch] = ['1', '34', '4'];

const verbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
const change = ['get', 'patch', 'update'];

/** Subresources of individual kinds. */
const extraSubresources: Readonly<Record<string, readonly Json[]>> = {
  '/pods': [
    { name: 'pods/exec', kind: 'PodExecOptions', verbs: ['create', 'get'] },
    { name: 'pods/log', kind: 'Pod', verbs: ['get'] },
  ],
  '/serviceaccounts': [
    {
      group: 'authentication.k8s.io',
      version: 'v1',
      kind: 'TokenRequest',
      name: 'serviceaccounts/token',
      verbs: ['create'],
    },
  ],
};

/**
 * Serves the discovery documents: `/version`, `/api`, `/apis` and below.
 * @returns the document at a path; undefined for none
 */
export function createDiscovery(registry: Registry): (path: string) => Json | undefined {
  const groups = () =>
    [...Map.groupBy(registry.all(), ({ group }) => group)].map(([name, resources]) => {
      const versions = [...new Set(resources.map(({ version }) => version))].map((version) => ({
        groupVersion: apiVersionOf({ group: name, version }),
        version,
      }));
      return { name, versions, preferredVersion: versions[0] };
    });
  const resourceList = (groupVersion: string): Json | undefined => {
    const resources = registry.all().filter((resource) => apiVersionOf(resource) === groupVersion);
    if (resources.length === 0) return undefined;
    return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources: resources.flatMap(entriesOf) };
  };

  return (path) => {
    const [root, name = '', version, ...rest] = path.slice(1).split('/');
    if (path === '/version') return versionDocument();
    if (path === '/api') return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };
    if (path === '/apis') {
      return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups().filter((group) => group.name) };
    }
    if (root === 'api' && version === undefined) return resourceList(name);
    if (root !== 'apis' || rest.length > 0) return undefined;
    if (version !== undefined) return resourceList(`${name}/${version}`);
    const group = groups().find(({ name: groupName }) => groupName === name);
    return group && { kind: 'APIGroup', apiVersion: 'v1', ...group };
  };
}

function entriesOf(resource: Resource): Json[] {
  const { group, plural, singular: singularName, kind, namespaced, shortNames, categories, status, scale } = resource;
  const subresource = (entry: Json) => ({ singularName: '', namespaced, kind, verbs: change, ...entry });
  return [
    {
      name: plural,
      singularName,
      namespaced,
      kind,
      verbs,
      ...(shortNames.length > 0 && { shortNames }),
      ...(categories.length > 0 && { categories }),
      storageVersionHash: storageVersionHash(resource),
    },
    ...(status ? [subresource({ name: `${plural}/status` })] : []),
    ...(scale ? [subresource({ name: `${plural}/scale`, group: 'autoscaling', version: 'v1', kind: 'Scale' })] : []),
    ...(extraSubresources[`${group}/${plural}`] ?? []).map(subresource),
  ];
}

/** Changes when a kind's storage version changes; for clients' caches. */
function storageVersionHash({ group, version, kind }: Resource): string {
  return createHash('sha256').update(`${group}/${version}/${kind}`).digest().subarray(0, 8).toString('base64');
}

function versionDocument(): Json {
  const platform = `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`;
  return { major, minor, gitVersion: `v${major}.${minor}.${patch}+svc`, platform };
}
