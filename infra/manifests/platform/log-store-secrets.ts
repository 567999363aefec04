import type { V1Secret } from '@kubernetes/client-node';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { monitoringNamespace, shipperNamespace } from '../../../runtime/domain/monitoring.ts';
import { systemObject, type Manifest } from './object.ts';

/** The Secret with the log store's tokens, in the namespace of the store and, with one token, in that of the shipper. */
export const logStoreSecret = { name: 'log-store', appendKey: 'append-token', readKey: 'read-token' } as const;

/** The address of the log store for the shipper, console-api and svc-workers. */
export const logStoreUrl = `http://log-store.${monitoringNamespace}.svc:3100`;

/** The tokens of a log store. */
export interface LogStoreTokens {
  append: string;
  read: string;
}

/** The Secrets of the store, which has both tokens, and of the shipper, which cannot read. Pure. */
export function logStoreSecrets({ append, read }: LogStoreTokens): Manifest[] {
  return [
    secret(monitoringNamespace, { [logStoreSecret.appendKey]: append, [logStoreSecret.readKey]: read }),
    secret(shipperNamespace, { [logStoreSecret.appendKey]: append }),
  ];
}

function secret(namespace: string, values: Readonly<Record<string, string>>): Manifest {
  const data = Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  );
  const object = systemObject<V1Secret>(kinds.Secret, logStoreSecret.name, { type: 'Opaque', data });
  return { ...object, metadata: { ...object.metadata, namespace } };
}
