import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The content of a kubeconfig. Certificates and key are PEM text. */
export interface KubeconfigInput {
  readonly server: string;
  readonly user: string;
  readonly authority: string;
  readonly certificate: string;
  readonly key: string;
}

/** A self-contained kubeconfig that can be copied. Pure. */
export function kubeconfig(input: KubeconfigInput): string {
  return `apiVersion: v1
kind: Config
clusters:
  - name: testcluster
    cluster:
      server: ${input.server}
      certificate-authority-data: ${encoded(input.authority)}
users:
  - name: ${input.user}
    user:
      client-certificate-data: ${encoded(input.certificate)}
      client-key-data: ${encoded(input.key)}
contexts:
  - name: testcluster
    context:
      cluster: testcluster
      user: ${input.user}
current-context: testcluster
`;
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64');
}

/**
 * Writes the kubeconfig of the holder of one of the certificates, readable by its owner only.
 * @param pki folder of the certificates
 * @param user name of the certificate's files
 */
export function writeKubeconfig(file: string, pki: string, user: string, server: string): void {
  const read = (name: string): string => readFileSync(join(pki, name), 'utf8');
  const input = { authority: read('ca.crt'), certificate: read(`${user}.crt`), key: read(`${user}.key`) };
  writeFileSync(file, kubeconfig({ server, user, ...input }), { mode: 0o600 });
}
