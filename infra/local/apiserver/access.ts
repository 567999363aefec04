import { createSecretKey, randomBytes, type KeyObject } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { selfSignedCertificate, type KeyPair } from './certificate.ts';

const tokenBytes = 32;

/** The server's certificate and the keys of its clients. */
export interface Access {
  tls: KeyPair;
  /** The token of the administrator, who has all rights. */
  adminToken: string;
  /** Signs the tokens of service accounts. */
  signingKey: KeyObject;
}

/**
 * Reads the keys in a folder and creates missing ones. They outlive the server, so that clients keep working after a
 * restart.
 */
export function loadAccess(folder: string, addresses: readonly string[], now: Date): Access {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const readOrCreate = (name: string, make: () => string): string => {
    const path = join(folder, name);
    if (!existsSync(path)) writeSecret(path, make());
    return readFileSync(path, 'utf8');
  };
  const names = ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'];
  const pair = readOrCreate('apiserver.json', () =>
    JSON.stringify(selfSignedCertificate('svc-apiserver', { names, addresses }, now)),
  );
  return {
    tls: JSON.parse(pair) as KeyPair,
    adminToken: readOrCreate('admin.token', () => randomBytes(tokenBytes).toString('base64url')),
    signingKey: createSecretKey(
      readOrCreate('accounts.key', () => randomBytes(tokenBytes).toString('base64url')),
      'base64url',
    ),
  };
}

/** The administrator's kubeconfig. */
export function kubeconfigOf(server: string, { tls, adminToken }: Pick<Access, 'tls' | 'adminToken'>): string {
  const name = 'svc-local';
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name, cluster: { server, 'certificate-authority-data': Buffer.from(tls.certificate).toString('base64') } },
    ],
    users: [{ name, user: { token: adminToken } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  });
}

/** Writes a file atomically, readable by its owner only. */
export function writeSecret(path: string, text: string): void {
  const temporaryPath = `${path}.${process.pid}.part`;
  writeFileSync(temporaryPath, text, { mode: 0o600 });
  renameSync(temporaryPath, path);
}
