import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import type { PlatformConfigView } from '../../../runtime/contracts/api/platform.ts';
import { eventually, type Platform } from '../../support/platform.ts';

const publicRegistry = 'https://registry.npmjs.org/';

/**
 * Lets builds of the platform use the npm registry that this machine uses, and trust the CAs that Node.js trusts here besides
 * the public ones, unless the platform has such settings.
 * @param folder for a file of certificates
 * @returns restores the settings
 */
export async function useOwnRegistry(platform: Platform, folder: string): Promise<() => Promise<void>> {
  const { packageRegistries, caCertificates } = await readConfig(platform);
  const registry = npmRegistry();
  const certificates = ownCertificates();
  const setRegistry = packageRegistries?.npm === undefined && registry !== publicRegistry;
  const setCertificates = caCertificates === undefined && certificates.length > 0;
  const file = join(folder, 'ca.pem');
  writeFileSync(file, certificates.join('\n'));
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

/** The CA certificates of `NODE_EXTRA_CA_CERTS` that are not public ones. */
function ownCertificates(): string[] {
  const file = process.env['NODE_EXTRA_CA_CERTS'];
  if (file === undefined || !existsSync(file)) return [];
  const fingerprint = (pem: string) => new X509Certificate(pem).fingerprint256;
  const known = new Set(rootCertificates.map(fingerprint));
  const pems = readFileSync(file, 'utf8').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return pems.filter((pem) => !known.has(fingerprint(pem)) && new X509Certificate(pem).ca);
}
