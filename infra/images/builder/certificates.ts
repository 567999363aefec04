import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { trustBundle } from '../../../runtime/domain/certificates.ts';

/** Where RUN steps of a container build find the certificates. */
const mountedFolder = '/run/svc-certificates';
const files = { own: 'ca.pem', all: 'bundle.pem' } as const;

/** The variables that make programs trust the installation's CAs: Node.js adds them, and the others need all CAs. */
const variables: Readonly<Record<string, keyof typeof files>> = {
  NODE_EXTRA_CA_CERTS: 'own',
  PIP_CERT: 'all',
  REQUESTS_CA_BUNDLE: 'all',
  SSL_CERT_FILE: 'all',
  GIT_SSL_CAINFO: 'all',
};

/** The names of the variables in the order in which Dockerfiles declare them. */
export const certificateVariables = Object.keys(variables);

function variablesIn(folder: string): Record<string, string> {
  return Object.fromEntries(Object.entries(variables).map(([name, file]) => [name, join(folder, files[file])]));
}

/**
 * Writes the installation's CA certificates to files that all programs of this step trust.
 * @returns the folder, and the variables that name its files; undefined when the installation has none
 */
export function writeCertificates(
  certificates: string | undefined,
): { folder: string; variables: Record<string, string> } | undefined {
  if (certificates === undefined || certificates === '') return undefined;
  // Below the step's own folder for temporary files.
  const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
  writeFileSync(join(folder, files.own), certificates);
  writeFileSync(join(folder, files.all), trustBundle(certificates));
  return { folder, variables: variablesIn(folder) };
}

/** The files in a container build: the volume of its RUN steps, and the variables that name them there. Pure. */
export function mountCertificates(folder: string): { volume: string; variables: Record<string, string> } {
  return { volume: `${folder}:${mountedFolder}:ro`, variables: variablesIn(mountedFolder) };
}
