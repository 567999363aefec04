import { randomBytes, randomInt } from 'node:crypto';
import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { managedByLabel, managedByValue, systemNamespace } from '../../runtime/domain/labels.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import { readSecretText } from '../../runtime/kube/secret-text.ts';
import { secretManifest, secretNamespace, systemSecrets, type SecretName } from '../manifests/platform/secrets.ts';
import { InstallError } from './install-error.ts';

interface Secret extends KubeObject {
  data?: Record<string, string>;
}

// No characters that look alike, since people type the admin's password.
const readable = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';

const generate: Readonly<Record<SecretName, () => string>> = {
  database: () => randomBytes(32).toString('base64url'),
  redis: () => randomBytes(32).toString('base64url'),
  logStore: () => randomBytes(32).toString('base64url'),
  gateProbe: () => randomBytes(32).toString('base64url'),
  // The format of `parseKeyRing`.
  encryptionKeys: () => JSON.stringify({ current: 'k1', keys: { k1: randomBytes(32).toString('base64') } }),
  dashboards: () => randomBytes(24).toString('base64url'),
  admin: () => Array.from({ length: 24 }, () => readable[randomInt(readable.length)]).join(''),
};

/**
 * Creates a Secret of the platform if it does not exist. An existing one is never changed, since the database, Redis and
 * encrypted values depend on it. @throws InstallError when it belongs to someone else or has no value
 */
export async function ensureSecret(kube: KubeClient, name: SecretName): Promise<'created' | 'unchanged'> {
  const secret = systemSecrets[name];
  const namespace = secretNamespace(name);
  const existing = await kube.get<Secret>(kinds.Secret, secret.name, namespace);
  if (!existing) {
    try {
      await kube.create(secretManifest(name, generate[name]()));
      return 'created';
    } catch (error) {
      // Another installation created it at the same time; its value is used.
      if (!isKubeError(error, 409)) throw error;
      return await ensureSecret(kube, name);
    }
  }
  if (existing.metadata.labels?.[managedByLabel] !== managedByValue) {
    throw new InstallError(
      `Secret ${namespace}/${secret.name} exists, but svc did not create it.`,
      `Delete or rename it: svc stores the ${secret.purpose} under this name.`,
    );
  }
  if (!existing.data?.[secret.key]) {
    throw new InstallError(
      `Secret ${namespace}/${secret.name} has no key "${secret.key}": the ${secret.purpose} is lost.`,
      'Restore it from a backup. A new value would not work with the existing data.',
    );
  }
  return 'unchanged';
}

/** The generated password of the first admin. @throws InstallError when nothing is installed */
export async function readAdminPassword(kube: KubeClient): Promise<string> {
  const { name, key } = systemSecrets.admin;
  const value = await readSecretText(kube, { namespace: systemNamespace, name, key });
  if (value === undefined)
    throw new InstallError(`Secret ${systemNamespace}/${name} does not exist.`, 'Run `svc install` first.');
  return value;
}
