import { createSecretKey, randomBytes, type KeyObject } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { selfSignedCertificate, type KeyPair } from './certificate.ts';

const tokenBytes = 32;

/** What the server proves itself with, and what others prove themselves with to it. */
export interface Access {
  tls: KeyPair;
  /** May do everything. */
  adminToken: string;
  /** Signs the tokens of service accounts. */
  signingKey: KeyObject;
}

/** Reads the keys in a folder, making those that are missing: they outlive the server, so that clients need not change. */
export function loadAccess(folder: string, addresses: readonly string[], now: Date): Access {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const kept = (name: string, make: () => string): string => {
    const path = join(folder, name);
    if (!existsSync(path)) writeSecret(path, make());
    return readFileSync(path, 'utf8');
  };
  const names = ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'];
  const pair = kept('apiserver.json', () =>
    JSON.stringify(selfSignedCertificate('svc-apiserver', { names, addresses }, now)),
  );
  return {
    tls: JSON.parse(pair) as KeyPair,
    adminToken: kept('admin.token', () => randomBytes(tokenBytes).toString('base64url')),
    signingKey: createSecretKey(
      kept('accounts.key', () => randomBytes(tokenBytes).toString('base64url')),
      'base64url',
    ),
  };
}

/** A kubeconfig for the administrator. */
export function kubeconfigOf(server: string, { tls, adminToken }: Pick<Access, 'tls' | 'adminToken'>): string {
  const name = 'svc-local';
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name,
        cluster: { server, 'certificate-authority-data': Buffer.from(tls.certificate).toString('base64') },
      },
    ],
    users: [{ name, user: { token: adminToken } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  });
}

/** Whole or not at all, and for the owner only. */
export function writeSecret(path: string, text: string): void {
  const unfinished = `${path}.${process.pid}.part`;
  writeFileSync(unfinished, text, { mode: 0o600 });
  renameSync(unfinished, path);
}
