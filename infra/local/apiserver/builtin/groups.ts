import { isDeepStrictEqual } from 'node:util';
import type { Cause } from '../api-error.ts';
import { valueAt, textIn } from '../json.ts';
import type { ApiObject, Resource, Strategy } from '../resource.ts';
import { checkDefinition, establishedStatus } from '../custom-resource.ts';
import { columnsOf } from './columns.ts';
import { apps } from './apps.ts';
import { batch } from './batch.ts';
import { core } from './core.ts';
import { define } from './define.ts';
import { fill, objects, section } from './pod-defaults.ts';

const rbac = 'rbac.authorization.k8s.io/v1';

function defaultBinding(object: ApiObject): void {
  fill(section(object, 'roleRef'), { apiGroup: 'rbac.authorization.k8s.io' });
  for (const subject of objects(object['subjects'])) {
    if (subject['kind'] !== 'ServiceAccount') fill(subject, { apiGroup: 'rbac.authorization.k8s.io' });
  }
}

function checkRoleReference(object: ApiObject, old: ApiObject | undefined): Cause[] {
  if (!old || isDeepStrictEqual(object['roleRef'], old['roleRef'])) return [];
  const message = `Invalid value: ${JSON.stringify(object['roleRef'])}: cannot change roleRef`;
  return [{ reason: 'FieldValueInvalid', message, field: 'roleRef' }];
}

const binding: Strategy = { default: defaultBinding, validate: checkRoleReference };

function defaultNetworkPolicy(object: ApiObject): void {
  const spec = section(object, 'spec');
  const both = spec['egress'] === undefined ? ['Ingress'] : ['Ingress', 'Egress'];
  fill(spec, { policyTypes: both });
  for (const rule of [...objects(spec['ingress']), ...objects(spec['egress'])]) {
    for (const port of objects(rule['ports'])) fill(port, { protocol: 'TCP' });
  }
}

function defaultEndpointSlice(object: ApiObject): void {
  for (const port of objects(object['ports'])) fill(port, { name: '', protocol: 'TCP' });
}

function defaultDefinition(object: ApiObject): void {
  const names = section(section(object, 'spec'), 'names');
  fill(section(object, 'spec'), { conversion: { strategy: 'None' } });
  const kind = textIn(names['kind']);
  fill(names, { listKind: `${kind}List`, singular: kind.toLowerCase() });
}

/** Every built-in kind that the server knows. What is not here, it does not serve. */
export const builtinResources: readonly Resource[] = [
  ...core,
  ...apps,
  ...batch,
  define('storage.k8s.io/v1', 'StorageClass', 'storageclasses', {
    namespaced: false,
    shortNames: ['sc'],
    strategy: {
      default: (object) => fill(object, { reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' }),
      immutable: ['provisioner', 'reclaimPolicy', 'volumeBindingMode', 'parameters'],
    },
    columns: columnsOf('StorageClass'),
  }),
  define('coordination.k8s.io/v1', 'Lease', 'leases', { unconditionalUpdate: false, columns: columnsOf('Lease') }),
  define('discovery.k8s.io/v1', 'EndpointSlice', 'endpointslices', {
    generation: true,
    strategy: { default: defaultEndpointSlice, immutable: ['addressType'] },
    columns: columnsOf('EndpointSlice'),
  }),
  define('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies', {
    shortNames: ['netpol'],
    generation: true,
    strategy: { default: defaultNetworkPolicy },
    columns: columnsOf('NetworkPolicy'),
  }),
  define('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets', {
    shortNames: ['pdb'],
    generation: true,
    status: true,
    columns: columnsOf('PodDisruptionBudget'),
    strategy: {
      prepareCreate: (object) => {
        object.status = { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 };
      },
    },
  }),
  ...[
    define(rbac, 'Role', 'roles', { names: 'segment', columns: columnsOf('Role') }),
    define(rbac, 'ClusterRole', 'clusterroles', {
      namespaced: false,
      names: 'segment',
      columns: columnsOf('ClusterRole'),
    }),
    define(rbac, 'RoleBinding', 'rolebindings', {
      names: 'segment',
      strategy: binding,
      columns: columnsOf('RoleBinding'),
    }),
    define(rbac, 'ClusterRoleBinding', 'clusterrolebindings', {
      namespaced: false,
      names: 'segment',
      strategy: binding,
      columns: columnsOf('ClusterRoleBinding'),
    }),
  ],
  define('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions', {
    namespaced: false,
    shortNames: ['crd', 'crds'],
    generation: true,
    status: true,
    unconditionalUpdate: false,
    strategy: {
      default: defaultDefinition,
      prepareCreate: (object, now) => {
        object.status = establishedStatus(object, now);
      },
      immutable: ['spec.group', 'spec.scope'],
      validate: (object) => {
        const expected = `${String(valueAt(object, 'spec.names.plural'))}.${String(valueAt(object, 'spec.group'))}`;
        if (object.metadata.name === expected) return checkDefinition(object);
        const message = `Invalid value: ${JSON.stringify(object.metadata.name)}: must be spec.names.plural+"."+spec.group`;
        return [{ reason: 'FieldValueInvalid', message, field: 'metadata.name' }];
      },
    },
    columns: columnsOf('CustomResourceDefinition'),
  }),
];
