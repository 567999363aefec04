import { createHash } from 'node:crypto';
import type { Registry } from './registry.ts';
import type { Json } from './json.ts';
import { apiVersionOf, type Resource } from './resource.ts';

/** The version of Kubernetes after which the server is modelled. */
export const kubernetesVersion = '1.34.4';

const read = ['get', 'list', 'watch'];
const allVerbs = ['create', 'delete', 'deletecollection', ...read, 'patch', 'update'].sort();
const customVerbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
const change = ['get', 'patch', 'update'];

/** What takes an object and answers at once: nothing of it is kept. */
const reviews: readonly (Pick<Resource, 'group' | 'version' | 'kind' | 'plural'> & { namespaced: boolean })[] = [
  { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenReview', plural: 'tokenreviews', namespaced: false },
  {
    group: 'authorization.k8s.io',
    version: 'v1',
    kind: 'SelfSubjectAccessReview',
    plural: 'selfsubjectaccessreviews',
    namespaced: false,
  },
];

/** Which groups, versions and resources there are, as `/api`, `/apis` and what is below them say it. */
export interface Discovery {
  /** The document at a path; undefined where there is none. */
  document(path: string): Json | undefined;
}

export function createDiscovery(registry: Registry): Discovery {
  const served = () => [...registry.all(), ...reviews];
  const groups = (): Json[] => {
    const versions = new Map<string, Set<string>>();
    for (const { group, version } of served()) {
      if (group) versions.set(group, (versions.get(group) ?? new Set()).add(version));
    }
    return [...versions].map(([name, names]) => {
      const list = [...names].map((version) => ({ groupVersion: `${name}/${version}`, version }));
      return { name, versions: list, preferredVersion: list[0] };
    });
  };
  const resourceList = (groupVersion: string): Json | undefined => {
    const resources = registry.all().filter((resource) => apiVersionOf(resource) === groupVersion);
    const asked = reviews.filter((review) => apiVersionOf(review) === groupVersion);
    if (resources.length + asked.length === 0) return undefined;
    return {
      kind: 'APIResourceList',
      apiVersion: 'v1',
      groupVersion,
      resources: [
        ...resources.flatMap(entriesOf),
        ...asked.map(({ plural, kind, namespaced }) => ({
          name: plural,
          singularName: kind.toLowerCase(),
          namespaced,
          kind,
          verbs: ['create'],
        })),
      ],
    };
  };

  return {
    document(path) {
      switch (path) {
        case '/version':
          return versionDocument();
        case '/api':
          return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };
        case '/apis':
          return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups() };
        default: {
          const [root, first, version, ...rest] = path.split('/').filter(Boolean);
          if (root === 'api') return first && !version ? resourceList(first) : undefined;
          if (root !== 'apis' || first === undefined || rest.length > 0) return undefined;
          if (version !== undefined) return resourceList(`${first}/${version}`);
          const group = groups().find(({ name }) => name === first);
          return group && { kind: 'APIGroup', apiVersion: 'v1', ...group };
        }
      }
    },
  };
}

function entriesOf(resource: Resource): Json[] {
  const { plural, singular, kind, namespaced, shortNames, categories, status, scale } = resource;
  const entry = (name: string, verbs: string[], more: Json = {}) => ({
    name,
    singularName: '',
    namespaced,
    kind,
    verbs,
    ...more,
  });
  return [
    {
      ...entry(plural, resource.custom ? customVerbs : allVerbs),
      singularName: singular,
      ...(shortNames.length > 0 && { shortNames }),
      ...(categories.length > 0 && { categories }),
      storageVersionHash: storageVersionHash(resource),
    },
    ...(status ? [entry(`${plural}/status`, change)] : []),
    ...(scale ? [entry(`${plural}/scale`, change, { group: 'autoscaling', version: 'v1', kind: 'Scale' })] : []),
    ...(plural === 'pods'
      ? [entry('pods/exec', ['create', 'get'], { kind: 'PodExecOptions' }), entry('pods/log', ['get'])]
      : []),
    ...(plural === 'serviceaccounts'
      ? [
          entry('serviceaccounts/token', ['create'], {
            group: 'authentication.k8s.io',
            version: 'v1',
            kind: 'TokenRequest',
          }),
        ]
      : []),
  ];
}

/** Tells a client's cache when a kind is stored another way. */
function storageVersionHash({ group, version, kind }: Resource): string {
  return createHash('sha256').update(`${group}/${version}/${kind}`).digest().subarray(0, 8).toString('base64');
}

function versionDocument(): Json {
  const [major = '', minor = ''] = kubernetesVersion.split('.');
  return {
    major,
    minor,
    gitVersion: `v${kubernetesVersion}+svc`,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: 'none',
    compiler: 'none',
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
}
