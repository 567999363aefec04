import type { V1Secret } from '@kubernetes/client-node';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { systemObject, type Manifest } from './object.ts';

/** A generated Secret of the platform. It is created once and never changed, since the data it protects outlives upgrades. */
export interface SystemSecret {
  name: string;
  /** The only key of its data. */
  key: string;
  /** Where it is mounted in the processes' pods. */
  mountPath: string;
  /** Its content, for messages. */
  purpose: string;
}

/** The platform's Secrets in `svc-system`. */
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
  admin: {
    name: 'svc-admin',
    key: 'password',
    mountPath: '/var/run/svc/admin',
    purpose: 'password of the first admin',
  },
} as const satisfies Record<string, SystemSecret>;

export type SecretName = keyof typeof systemSecrets;

/** The path of a Secret's file in the pods that mount it. */
export function secretFile(name: SecretName): string {
  return `${systemSecrets[name].mountPath}/${systemSecrets[name].key}`;
}

/** The Secret object with its value, which `infra/install` generates. Pure. */
export function secretManifest(name: SecretName, value: string): Manifest {
  const { name: objectName, key } = systemSecrets[name];
  return systemObject<V1Secret>(kinds.Secret, objectName, {
    type: 'Opaque',
    data: { [key]: Buffer.from(value).toString('base64') },
  });
}
