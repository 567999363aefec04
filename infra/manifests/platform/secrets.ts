import type { V1Secret } from '@kubernetes/client-node';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { systemNamespace } from '../../../runtime/domain/labels.ts';
import { monitoringNamespace } from '../../../runtime/domain/monitoring.ts';
import { systemObject, type Manifest } from './object.ts';

/** A generated Secret of the platform. It is created once and never changed, since the data it protects outlives upgrades. */
export interface SystemSecret {
  name: string;
  /** Default `svc-system`. */
  namespace?: string;
  /** The only key of its data. */
  key: string;
  /** Where it is mounted in the processes' pods. */
  mountPath: string;
  /** Its content, for messages. */
  purpose: string;
}

/** The platform's generated Secrets. */
export const systemSecrets = {
  database: {
    name: 'svc-database',
    key: 'password',
    mountPath: '/var/run/svc/database',
    purpose: 'password of the database',
  },
  redis: { name: 'svc-redis', key: 'password', mountPath: '/var/run/svc/redis', purpose: 'password of Redis' },
  encryptionKeys: {
    name: 'svc-encryption-keys',
    key: 'keys.json',
    mountPath: '/var/run/svc/encryption',
    purpose: 'keys of encrypted values',
  },
  gateProbe: {
    name: 'svc-gate-probe',
    key: 'key',
    mountPath: '/var/run/svc/gate-probe',
    purpose: "key that signs the platform's checks of gates",
  },
  logStore: {
    name: 'svc-log-store',
    key: 'read-token',
    mountPath: '/var/run/svc/log-store',
    purpose: 'token that reads the log store',
  },
  admin: {
    name: 'svc-admin',
    key: 'password',
    mountPath: '/var/run/svc/admin',
    purpose: 'password of the first admin',
  },
  dashboards: {
    name: 'grafana-admin',
    namespace: monitoringNamespace,
    key: 'admin-password',
    mountPath: '/var/run/svc/grafana',
    purpose: 'password of the dashboards',
  },
} as const satisfies Record<string, SystemSecret>;

export type SecretName = keyof typeof systemSecrets;

/** The namespace of a Secret. */
export function secretNamespace(name: SecretName): string {
  const secret: SystemSecret = systemSecrets[name];
  return secret.namespace ?? systemNamespace;
}

/** The path of a Secret's file in the pods that mount it. */
export function secretFile(name: SecretName): string {
  return `${systemSecrets[name].mountPath}/${systemSecrets[name].key}`;
}

/** The Secret object with its value, which `infra/install` generates. Pure. */
export function secretManifest(name: SecretName, value: string): Manifest {
  const { name: objectName, key } = systemSecrets[name];
  const secret = systemObject<V1Secret>(kinds.Secret, objectName, {
    type: 'Opaque',
    data: { [key]: Buffer.from(value).toString('base64') },
  });
  return { ...secret, metadata: { ...secret.metadata, namespace: secretNamespace(name) } };
}
