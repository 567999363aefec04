import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, rootCertificates } from 'node:tls';
import type { PlatformConfigView } from '../../../runtime/contracts/api/platform.ts';
import { eventually, type Platform } from '../../support/platform.ts';

const publicRegistry = 'https://registry.npmjs.org/';

/**
 * Lets builds of the platform use the npm registry that this machine uses, and trust its CA if that is not a public one, unless
 * the platform has such settings.
 * @param folder for a file of certificates
 * @returns restores the settings
 */
export async function useOwnRegistry(platform: Platform, folder: string): Promise<() => Promise<void>> {
  const { packageRegistries, caCertificates } = await readConfig(platform);
  const registry = npmRegistry();
  const certificate = await ownCertificate(registry);
  const setRegistry = packageRegistries?.npm === undefined && registry !== publicRegistry;
  const setCertificates = caCertificates === undefined && certificate !== undefined;
  const file = join(folder, 'ca.pem');
  writeFileSync(file, certificate ?? '');
  const change = (npm: string, ca: string) => [
    ...(setRegistry ? ['--npm-registry', npm] : []),
    ...(setCertificates ? ['--ca-file', ca] : []),
  ];
  const apply = async (flags: readonly string[]) => {
    if (flags.length === 0) return;
    await platform.ok(['platform', 'config', 'set', ...flags]);
    await eventually(
      () => readConfig(platform),
      ({ status }) => status !== 'pending',
    );
  };
  await apply(change(registry, file));
  return () => apply(change('default', 'default'));
}

function readConfig(platform: Platform): Promise<PlatformConfigView> {
  return platform.json<PlatformConfigView>(['platform', 'config', 'show']);
}

function npmRegistry(): string {
  const { stdout, status, stderr } = spawnSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return stdout.trim();
}

/**
 * The certificate at the end of a registry's chain, if Node.js does not know it, but the file `NODE_EXTRA_CA_CERTS` has it. The
 * file itself may be that of a whole system, which is more than an installation takes.
 */
async function ownCertificate(registry: string): Promise<string | undefined> {
  const file = process.env['NODE_EXTRA_CA_CERTS'];
  const { protocol, hostname: host, port } = new URL(registry);
  if (file === undefined || !existsSync(file) || protocol !== 'https:') return undefined;
  const ca = [...rootCertificates, readFileSync(file, 'utf8')];
  const socket = connect({ host, port: Number(port || 443), servername: host, ca });
  try {
    await once(socket, 'secureConnect');
    let certificate = socket.getPeerCertificate(true);
    while (certificate.issuerCertificate.fingerprint256 !== certificate.fingerprint256) {
      certificate = certificate.issuerCertificate;
    }
    const isPublic = rootCertificates.some(
      (pem) => new X509Certificate(pem).fingerprint256 === certificate.fingerprint256,
    );
    return isPublic ? undefined : new X509Certificate(certificate.raw).toString();
  } finally {
    socket.destroy();
  }
}
