import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './command.ts';
import { network, node } from './settings.ts';

/** A certificate to be signed by the cluster's own authority. */
export interface CertificateRequest {
  /** Name of its files: `<name>.crt` and `<name>.key`. */
  readonly name: string;
  /** Who it says the holder is: Kubernetes takes it as the user's name. */
  readonly commonName: string;
  /** Kubernetes takes it as the user's group. */
  readonly organization?: string;
  /** Who signs it: the cluster's authority unless told. */
  readonly authority?: Authority;
  readonly usages: readonly ('serverAuth' | 'clientAuth')[];
  /** Names and addresses that a server answers at, as `DNS:…` and `IP:…`. */
  readonly alternativeNames?: readonly string[];
}

/**
 * Signers. The front proxy has one of its own: whoever holds a certificate of it may speak for any user.
 */
export type Authority = 'ca' | 'front-proxy-ca';

const validDays = 3650;
const serverNames = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc'];

/** Every certificate of the cluster but its authority's. The names and groups are those that Kubernetes grants rights to. */
export const certificateRequests: readonly CertificateRequest[] = [
  {
    name: 'apiserver',
    commonName: 'kube-apiserver',
    usages: ['serverAuth'],
    alternativeNames: [
      ...[...serverNames, `kubernetes.default.svc.${network.domain}`, 'localhost'].map((name) => `DNS:${name}`),
      ...[network.kubernetesService, '127.0.0.1', node.address].map((address) => `IP:${address}`),
    ],
  },
  { name: 'apiserver-kubelet-client', commonName: 'testcluster:kube-apiserver', usages: ['clientAuth'] },
  { name: 'etcd', commonName: 'etcd', usages: ['serverAuth', 'clientAuth'], alternativeNames: ['IP:127.0.0.1'] },
  {
    name: 'kubelet',
    commonName: `system:node:${node.name}`,
    organization: 'system:nodes',
    usages: ['serverAuth'],
    alternativeNames: [`DNS:${node.name}`, `IP:${node.address}`],
  },
  { name: 'front-proxy', commonName: 'front-proxy', authority: 'front-proxy-ca', usages: ['clientAuth'] },
  client('admin', 'testcluster:admin', 'system:masters'),
  client('node', `system:node:${node.name}`, 'system:nodes'),
  client('controller-manager', 'system:kube-controller-manager'),
  client('scheduler', 'system:kube-scheduler'),
  client('proxy', 'system:kube-proxy'),
  client('volume-provisioner', 'testcluster:volume-provisioner'),
];

function client(name: string, commonName: string, organization?: string): CertificateRequest {
  return { name, commonName, usages: ['clientAuth'], ...(organization === undefined ? {} : { organization }) };
}

/** The openssl configuration for one certificate. A file of our own, since the system's adds extensions. Pure. */
export function certificateConfiguration(request: CertificateRequest): string {
  const organization = request.organization === undefined ? [] : [`O = ${request.organization}`];
  const alternatives =
    request.alternativeNames === undefined ? [] : [`subjectAltName = ${request.alternativeNames.join(', ')}`];
  return lines(
    ...['[req]', 'prompt = no', 'distinguished_name = subject', 'x509_extensions = extensions'],
    ...['[subject]', ...organization, `CN = ${request.commonName}`],
    ...['[extensions]', 'basicConstraints = critical, CA:FALSE', 'keyUsage = critical, digitalSignature'],
    ...['authorityKeyIdentifier = keyid', `extendedKeyUsage = ${request.usages.join(', ')}`, ...alternatives],
  );
}

/** The openssl configuration for one authority. Pure. */
function authorityConfiguration(name: Authority): string {
  return lines(
    ...['[req]', 'prompt = no', 'distinguished_name = subject', 'x509_extensions = extensions'],
    ...['[subject]', `CN = testcluster-${name}`],
    ...['[extensions]', 'basicConstraints = critical, CA:TRUE', 'keyUsage = critical, keyCertSign, cRLSign'],
    'subjectKeyIdentifier = hash',
  );
}

function lines(...each: string[]): string {
  return `${each.join('\n')}\n`;
}

/** Parameters of `openssl` that make a key and a certificate in `folder`; without `authority` it signs itself. Pure. */
export function opensslParameters(folder: string, name: string, authority?: Authority): string[] {
  const file = (ending: string): string => join(folder, `${name}.${ending}`);
  const signer =
    authority === undefined
      ? []
      : ['-CA', join(folder, `${authority}.crt`), '-CAkey', join(folder, `${authority}.key`)];
  return [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', String(validDays)],
    ...['-config', file('cnf'), '-keyout', file('key'), '-out', file('crt'), ...signer],
  ];
}

/**
 * Makes the authority, all certificates and the key that signs service account tokens.
 * @param folder made when missing, readable by its owner only
 * @throws ClusterProblem when openssl fails
 */
export async function createCertificates(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
  const create = async (name: string, configuration: string, authority?: Authority): Promise<void> => {
    writeFileSync(join(folder, `${name}.cnf`), configuration);
    await run('openssl', opensslParameters(folder, name, authority));
    chmodSync(join(folder, `${name}.key`), 0o600);
  };
  const authorities: readonly Authority[] = ['ca', 'front-proxy-ca'];
  await Promise.all(authorities.map((name) => create(name, authorityConfiguration(name))));
  await Promise.all([
    ...certificateRequests.map((request) =>
      create(request.name, certificateConfiguration(request), request.authority ?? 'ca'),
    ),
    createTokenKey(folder),
  ]);
}

async function createTokenKey(folder: string): Promise<void> {
  const key = join(folder, 'service-accounts.key');
  // RSA, since some readers of such tokens know no other kind.
  await run('openssl', ['genpkey', '-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048', '-out', key]);
  chmodSync(key, 0o600);
  await run('openssl', ['pkey', '-in', key, '-pubout', '-out', join(folder, 'service-accounts.pub')]);
}
