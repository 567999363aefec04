import { forbidden, notFound } from './api-error.ts';
import { applyLimitRanges, checkQuotas } from './limits.ts';
import type { Admission } from './objects.ts';
import type { Store } from './store.ts';

/** What is asked of every new object, and given to it, beyond its own kind's rules. */
export function createAdmission(store: Store): Admission {
  return (object, resource) => {
    const { name, namespace } = object.metadata;
    if (namespace === undefined) return;
    const home = store.get('/namespaces', undefined, namespace);
    if (!home) throw notFound({ group: '', plural: 'namespaces', kind: 'Namespace' }, namespace);
    if (home.metadata.deletionTimestamp !== undefined) {
      const message = `namespace ${namespace} is being terminated`;
      const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
      throw forbidden(resource, name, why, [{ reason: 'NamespaceTerminating', message, field: 'metadata.namespace' }]);
    }
    if (resource.group !== '') return;
    if (resource.kind === 'Pod') applyLimitRanges(store, object);
    if (resource.kind === 'Pod' || resource.kind === 'PersistentVolumeClaim') checkQuotas(store, object, resource);
  };
}
