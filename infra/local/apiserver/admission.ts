import { forbidden, notFound } from './api-error.ts';
import { applyLimitRanges, checkQuotas } from './limits.ts';
import type { Admission } from './objects.ts';
import { isJson } from './json.ts';
import type { Resource } from './resource.ts';
import type { Store } from './store.ts';

const namespaceKind = { group: '', plural: 'namespaces', kind: 'Namespace' };

/** What is asked of every new object, and given to it, beyond its own kind's rules. */
export function createAdmission(options: { store: Store }): Admission {
  const { store } = options;

  const checkNamespace = (namespace: string, resource: Resource, name: string) => {
    const home = store.get('/namespaces', undefined, namespace);
    if (!home) throw notFound(namespaceKind, namespace);
    if (home.metadata.deletionTimestamp === undefined) return;
    throw forbidden(
      resource,
      name,
      `unable to create new content in namespace ${namespace} because it is being terminated`,
      [
        {
          reason: 'NamespaceTerminating',
          message: `namespace ${namespace} is being terminated`,
          field: 'metadata.namespace',
        },
      ],
    );
  };

  return (object, resource) => {
    const { name, namespace } = object.metadata;
    if (namespace !== undefined) checkNamespace(namespace, resource, name);
    if (resource.group !== '') return;
    if (resource.kind === 'Pod' && isJson(object.spec)) {
      object.spec['serviceAccountName'] ??= 'default';
      object.spec['serviceAccount'] ??= object.spec['serviceAccountName'];
      applyLimitRanges(store, object);
    }
    if (resource.kind === 'Pod' || resource.kind === 'PersistentVolumeClaim') checkQuotas(store, object, resource);
  };
}
