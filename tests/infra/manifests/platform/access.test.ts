import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import {
  accessManifests,
  clusterRules,
  environmentAccess,
  environmentRoles,
  environmentRules,
  systemRules,
  type PolicyRule,
} from '../../../../infra/manifests/platform/access.ts';
import { processNames, type ProcessName } from '../../../../infra/manifests/platform/processes.ts';
import { buildNamespace } from '../../../../runtime/domain/labels.ts';

/** What the API server would answer to `kubectl auth can-i`. */
function can(rules: readonly PolicyRule[], verb: string, group: string, resource: string): boolean {
  return rules.some(
    (rule) =>
      rule.apiGroups.includes(group) &&
      rule.resources.includes(resource) &&
      rule.verbs.includes(verb) &&
      rule.resourceNames === undefined,
  );
}

const platform = 'platform.svc';
const traefik = 'traefik.io';

/** Process → the rights that its work needs, as `verbs group/resource`. */
const needed: Record<ProcessName, string[]> = {
  'console-api': [
    `get,list,watch,create,patch,delete ${platform}/projects`,
    `get,list,watch,create,patch,delete ${platform}/apps`,
    `get,list,watch,create,patch,delete ${platform}/functions`,
    `get,list,watch,create,update,patch,delete ${platform}/jobs`,
    `get,list,watch,create,update,delete ${platform}/volumes`,
    `get,list,watch,create,delete ${platform}/services`,
    'get,list storage.k8s.io/storageclasses',
    `get,create,delete ${platform}/workloadnames`,
    `get,create,delete ${platform}/hostnames`,
    `get,update ${platform}/platformconfigs`,
    'get /namespaces',
  ],
  'svc-workers': [
    `get,list,watch,update ${platform}/apps`,
    `update ${platform}/apps/finalizers`,
    `get,list,update ${platform}/functions`,
    `update ${platform}/functions/status`,
    `update ${platform}/functions/finalizers`,
    `get,list,update ${platform}/jobs`,
    `update ${platform}/jobs/status`,
    `update ${platform}/jobs/finalizers`,
    `get ${platform}/services`,
  ],
  'svc-controllers': [
    `patch ${platform}/apps`,
    `patch ${platform}/functions`,
    `patch ${platform}/jobs`,
    ...['projects', 'apps', 'functions', 'jobs', 'volumes', 'services'].flatMap((kind) => [
      `get,list,watch,update ${platform}/${kind}`,
      `update ${platform}/${kind}/status`,
      `update ${platform}/${kind}/finalizers`,
    ]),
    `get,list,watch,update ${platform}/builds`,
    `update ${platform}/builds/status`,
    `list,watch ${platform}/platformconfigs`,
    `get,create,delete ${platform}/workloadnames`,
    `get,create,patch,delete ${platform}/hostnames`,
    'list,watch,get,create,update,delete /namespaces',
    'list,watch,get,create,update,delete apps/deployments',
    'list,watch,get,create,update,delete apps/statefulsets',
    'list,watch,get,create,update,delete policy/poddisruptionbudgets',
    'update apps/deployments/scale',
    'list,watch /pods',
    'list apps/replicasets',
    'list,watch,get,create,update,delete rbac.authorization.k8s.io/rolebindings',
    'list,watch,get,create,update,delete /services',
    'list,watch,get,create,update,delete /configmaps',
    `list,watch,get,create,update,delete ${traefik}/ingressroutes`,
    `list,watch,get,create,update,delete ${traefik}/middlewares`,
    `list,watch,get,create,update,delete ${traefik}/serverstransports`,
    'list,watch,get,create,update,delete batch/cronjobs',
    'list,watch,get,create,patch,delete batch/jobs',
    'list,watch,get,create,update,delete /persistentvolumeclaims',
    'get storage.k8s.io/storageclasses',
    'get,create,update /events',
  ],
  'svc-authz': [],
  'svc-interceptor': [`list,watch ${platform}/functions`, 'list,watch /pods'],
};

/** As {@link needed}, in each environment. */
const neededInEnvironments: Record<keyof typeof environmentRules, string[]> = {
  'console-api': [
    'get,create,update /secrets',
    'get /persistentvolumeclaims',
    'get,list /pods',
    'get /pods/log',
    'get,create /pods/exec',
  ],
  'svc-workers': ['get,create,update /secrets', 'get,list /pods', 'get /pods/log'],
  'svc-controllers': ['get,create,delete /secrets', 'patch,delete /pods'],
  'svc-interceptor': ['get,update apps/deployments/scale'],
};

/** Rights of the named processes only: a leaked token of one process must not give the rights of all. */
const forbidden: [string, ProcessName[]][] = [
  ['get /secrets', []],
  ['create /secrets', []],
  ['update /secrets', []],
  ['delete /secrets', []],
  ['list /secrets', []],
  ['watch /secrets', []],
  ['get apps/deployments/scale', []],
  ['update apps/deployments/scale', ['svc-controllers']],
  ['patch apps/deployments/scale', []],
  ['get /persistentvolumeclaims', ['svc-controllers']],
  ['create /pods', []],
  ['create /pods/exec', []],
  ['get /pods/log', []],
  ['create batch/jobs', ['svc-controllers']],
  ['delete /persistentvolumeclaims', ['svc-controllers']],
  ['create /serviceaccounts/token', []],
  ['create rbac.authorization.k8s.io/clusterrolebindings', []],
  ['create rbac.authorization.k8s.io/rolebindings', ['svc-controllers']],
  ['bind rbac.authorization.k8s.io/clusterroles', []],
  ['escalate rbac.authorization.k8s.io/clusterroles', []],
  ['impersonate /users', []],
  ['delete /namespaces', ['svc-controllers']],
  ['create apps/deployments', ['svc-controllers']],
  ['update apps/deployments', ['svc-controllers']],
  [`create ${platform}/apps`, ['console-api']],
  [`delete ${platform}/apps`, ['console-api', 'svc-controllers']],
  [`create ${platform}/services`, ['console-api']],
  [`create ${platform}/builds`, []],
  [`update ${platform}/apps/status`, ['svc-workers', 'svc-controllers']],
  [`update ${platform}/functions/status`, ['svc-workers', 'svc-controllers']],
  [`update ${platform}/platformconfigs`, ['console-api']],
  [`create ${traefik}/ingressroutes`, ['svc-controllers']],
];

function parse(line: string): { verbs: string[]; group: string; resource: string } {
  const [verbs = '', path = ''] = line.split(' ');
  const slash = path.indexOf('/');
  return { verbs: verbs.split(','), group: path.slice(0, slash), resource: path.slice(slash + 1) };
}

for (const name of processNames) {
  t.test(`${name} has the rights that it needs`, (t) => {
    for (const line of needed[name]) {
      const { verbs, group, resource } = parse(line);
      for (const verb of verbs) t.ok(can(clusterRules[name], verb, group, resource), `${verb} ${group}/${resource}`);
    }
    t.end();
  });
}

t.test('only the processes that need them have dangerous rights', (t) => {
  for (const [line, allowed] of forbidden) {
    const { verbs, group, resource } = parse(line);
    const able = processNames.filter((name) => can(clusterRules[name], verbs[0] ?? '', group, resource));
    t.same(able, allowed, line);
  }
  t.end();
});

t.test('in environments, each process has exactly the rights that it needs, and no list of Secrets', (t) => {
  for (const [name, lines] of Object.entries(neededInEnvironments)) {
    const rules = environmentRules[name as keyof typeof environmentRules];
    const rights = rules.flatMap(({ apiGroups, resources, verbs }) => {
      return verbs.map((verb) => `${verb} ${apiGroups[0]}/${resources[0]}`);
    });
    const expected = lines.flatMap((line) => {
      const { verbs, group, resource } = parse(line);
      return verbs.map((verb) => `${verb} ${group}/${resource}`);
    });
    t.same(rights.sort(), expected.sort(), name);
  }
  t.end();
});

t.test('the controllers bind only the roles of environments, which an environment grants by RoleBindings', (t) => {
  const roles = environmentRoles().map(({ metadata }) => metadata.name);
  const bind = clusterRules['svc-controllers'].filter(({ verbs }) => verbs.includes('bind'));
  t.same(
    bind.map(({ resources, resourceNames }) => ({ resources, resourceNames })),
    [{ resources: ['clusterroles'], resourceNames: roles }],
  );
  const bindings = environmentAccess('shop-prod');
  t.same(
    bindings.map(({ roleRef }) => `${roleRef.kind} ${roleRef.name}`),
    roles.map((role) => `ClusterRole ${role}`),
  );
  for (const { metadata, subjects } of bindings) {
    t.equal(metadata.namespace, 'shop-prod');
    t.match(subjects, [{ kind: 'ServiceAccount', namespace: 'svc-system' }]);
  }
  t.end();
});

t.test('no rule has a wildcard', (t) => {
  for (const rules of [clusterRules, systemRules, environmentRules].flatMap((each) => Object.values(each))) {
    for (const { apiGroups, resources, verbs } of rules) t.notOk([...apiGroups, ...resources, ...verbs].includes('*'));
  }
  t.end();
});

t.test('the right to use Leases is limited to svc-system', (t) => {
  t.ok(can(systemRules['svc-controllers'] ?? [], 'update', 'coordination.k8s.io', 'leases'));
  for (const name of processNames) t.notOk(can(clusterRules[name], 'update', 'coordination.k8s.io', 'leases'));
  t.end();
});

t.test('the controllers read, write and delete the git credentials of builds', (t) => {
  const role = accessManifests('svc-controllers').find(({ kind, metadata }) => {
    return kind === 'Role' && metadata.namespace === 'svc-builds';
  }) as { rules?: PolicyRule[] } | undefined;
  for (const verb of ['get', 'create', 'update', 'delete']) t.ok(can(role?.rules ?? [], verb, '', 'secrets'), verb);
  t.end();
});

t.test('svc-authz has an account without a token and without rights', (t) => {
  t.same(accessManifests('svc-authz'), [
    {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'svc-authz', namespace: 'svc-system', labels: { 'app.kubernetes.io/managed-by': 'kipper' } },
      automountServiceAccountToken: false,
    },
  ]);
  t.end();
});

t.test('rights are bound to the account of the process', (t) => {
  const [, role, binding] = accessManifests('svc-interceptor');
  t.equal(role?.metadata.name, 'platform.svc:svc-interceptor');
  t.match(binding, {
    kind: 'ClusterRoleBinding',
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'platform.svc:svc-interceptor' },
    subjects: [{ kind: 'ServiceAccount', name: 'svc-interceptor', namespace: 'svc-system' }],
  });
  t.end();
});

t.test('only the controllers reach the Secrets of builds; svc-workers reads the credential for deletions', (t) => {
  const reaching = processNames.filter((name) =>
    accessManifests(name).some((manifest) => {
      const { rules = [] } = manifest as { rules?: PolicyRule[] };
      return (
        manifest.metadata.namespace === buildNamespace &&
        rules.some(
          ({ resources, resourceNames }) =>
            resources.includes('secrets') && !isDeepStrictEqual(resourceNames, ['svc-registry-delete']),
        )
      );
    }),
  );
  t.same(reaching, ['svc-controllers']);
  t.end();
});

t.test(
  'of the registry’s credentials, svc-workers reads those for deletions, and no further process those for pushes',
  (t) => {
    const readable = processNames.flatMap((name) =>
      (accessManifests(name) as { metadata: { namespace?: string }; rules?: PolicyRule[] }[])
        .filter(({ metadata }) => metadata.namespace === 'svc-builds')
        .flatMap(({ rules = [] }) => rules)
        .filter(({ resources, verbs }) => resources.includes('secrets') && verbs.includes('get'))
        .map(({ verbs, resourceNames }) => ({ name, verbs, resourceNames })),
    );
    t.same(readable, [
      { name: 'svc-workers', verbs: ['get'], resourceNames: ['svc-registry-delete'] },
      // The git credentials of builds, each in a Secret of its own.
      { name: 'svc-controllers', verbs: ['get', 'create', 'update', 'delete'], resourceNames: undefined },
    ]);
    t.end();
  },
);
