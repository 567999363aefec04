import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './command.ts';
import { network, node, secondNode, type NodeSettings } from './settings.ts';

/** A certificate that an authority of the cluster signs. */
export interface CertificateRequest {
  /** The name of its files, `<name>.crt` and `<name>.key`. */
  readonly name: string;
  /** The holder. Kubernetes uses it as the user's name. */
  readonly commonName: string;
  /** Kubernetes uses it as the user's group. */
  readonly organization?: string;
  /** The authority that signs it; default `ca`. */
  readonly authority?: Authority;
  readonly usages: readonly ('serverAuth' | 'clientAuth')[];
  /** Names and addresses of a server, as `DNS:…` and `IP:…`. */
  readonly alternativeNames?: readonly string[];
}

/** The authorities. The front proxy has its own, because holders of its certificates may impersonate any user. */
export type Authority = 'ca' | 'front-proxy-ca';

const validDays = 3650;
const serverNames = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc'];

/** All certificates except those of the authorities. Kubernetes grants rights to these names and groups. */
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
  kubelet('kubelet', node),
  kubelet('kubelet-2', secondNode),
  { name: 'front-proxy', commonName: 'front-proxy', authority: 'front-proxy-ca', usages: ['clientAuth'] },
  client('admin', 'testcluster:admin', 'system:masters'),
  client('node', `system:node:${node.name}`, 'system:nodes'),
  client('node-2', `system:node:${secondNode.name}`, 'system:nodes'),
  client('controller-manager', 'system:kube-controller-manager'),
  client('scheduler', 'system:kube-scheduler'),
  client('proxy', 'system:kube-proxy'),
  client('volume-provisioner', 'testcluster:volume-provisioner'),
];

function client(name: string, commonName: string, organization?: string): CertificateRequest {
  return { name, commonName, usages: ['clientAuth'], ...(organization === undefined ? {} : { organization }) };
}

/** The certificate of a kubelet's server. */
function kubelet(name: string, { name: nodeName, address }: NodeSettings): CertificateRequest {
  return {
    name,
    commonName: `system:node:${nodeName}`,
    organization: 'system:nodes',
    usages: ['serverAuth'],
    alternativeNames: [`DNS:${nodeName}`, `IP:${address}`],
  };
}

/** The openssl configuration for one certificate. Used instead of the system's, which adds extensions. Pure. */
export function certificateConfiguration(request: CertificateRequest): string {
  const organization = request.organization === undefined ? [] : [`O = ${request.organization}`];
  const alternatives =
    request.alternativeNames === undefined ? [] : [`subjectAltName = ${request.alternativeNames.join(', ')}`];
  return lines(
    '[req]',
    'prompt = no',
    'distinguished_name = subject',
    'x509_extensions = extensions',
    '[subject]',
    ...organization,
    `CN = ${request.commonName}`,
    '[extensions]',
    'basicConstraints = critical, CA:FALSE',
    'keyUsage = critical, digitalSignature',
    'authorityKeyIdentifier = keyid',
    `extendedKeyUsage = ${request.usages.join(', ')}`,
    ...alternatives,
  );
}

/** The openssl configuration for one authority. Pure. */
function authorityConfiguration(name: Authority): string {
  return lines(
    '[req]',
    'prompt = no',
    'distinguished_name = subject',
    'x509_extensions = extensions',
    '[subject]',
    `CN = testcluster-${name}`,
    '[extensions]',
    'basicConstraints = critical, CA:TRUE',
    'keyUsage = critical, keyCertSign, cRLSign',
    'subjectKeyIdentifier = hash',
  );
}

function lines(...texts: string[]): string {
  return `${texts.join('\n')}\n`;
}

/** Parameters of `openssl` to create a key and a certificate in `folder`, self-signed without `authority`. Pure. */
export function opensslParameters(folder: string, name: string, authority?: Authority): string[] {
  const file = (ending: string): string => join(folder, `${name}.${ending}`);
  const signer =
    authority === undefined
      ? []
      : ['-CA', join(folder, `${authority}.crt`), '-CAkey', join(folder, `${authority}.key`)];
  return [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    String(validDays),
    '-config',
    file('cnf'),
    '-keyout',
    file('key'),
    '-out',
    file('crt'),
    ...signer,
  ];
}

/**
 * Creates the authorities, all certificates and the key that signs service account tokens.
 * @param folder created if it does not exist, readable by its owner only
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
  // RSA, because some programs that verify such tokens support no other type.
  await run('openssl', ['genpkey', '-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048', '-out', key]);
  chmodSync(key, 0o600);
  await run('openssl', ['pkey', '-in', key, '-pubout', '-out', join(folder, 'service-accounts.pub')]);
}
