import { X509Certificate } from 'node:crypto';
import { rootCertificates } from 'node:tls';

/** Maximum bytes of the CA certificates of an installation, which are passed to pods in a variable. */
export const certificatesMaxBytes = 64 * 1024;

const begin = '-----BEGIN CERTIFICATE-----';
const end = '-----END CERTIFICATE-----';

/**
 * Checks CA certificates in PEM form. @returns the certificates alone, without the text around them, or the fault. Pure.
 */
export function parseCertificates(pem: string): { certificates: string } | { fault: string } {
  if (Buffer.byteLength(pem) > certificatesMaxBytes) {
    return { fault: `the certificates have more than ${certificatesMaxBytes / 1024} KiB` };
  }
  if (pem.includes('PRIVATE KEY-----')) return { fault: 'contains a private key; give the certificates only' };
  const blocks = blocksOf(pem);
  if (blocks.length === 0) return { fault: `contains no certificate in PEM form (${begin})` };
  const certificates: string[] = [];
  for (const [index, block] of blocks.entries()) {
    const position = blocks.length === 1 ? 'the certificate' : `certificate ${index + 1} of ${blocks.length}`;
    const certificate = block === undefined ? undefined : readCertificate(block);
    if (!certificate) return { fault: `${position} cannot be read` };
    if (!certificate.ca) {
      return { fault: `${position} (${subjectOf(certificate)}) is not a CA certificate; give the one that signed it` };
    }
    certificates.push(certificate.toString());
  }
  return { certificates: certificates.join('') };
}

/** The subjects of valid certificates and when they expire, for people. Pure. */
export function describeCertificates(pem: string): string[] {
  return blocksOf(pem).flatMap((block) => {
    const certificate = block === undefined ? undefined : readCertificate(block);
    if (!certificate) return [];
    return [`${subjectOf(certificate)} (expires ${new Date(certificate.validTo).toISOString().slice(0, 10)})`];
  });
}

/** The public CAs together with other ones, for programs that trust exactly the CAs in one file. Pure. */
export function trustBundle(certificates: string): string {
  return `${rootCertificates.join('\n')}\n${certificates}`;
}

/** Each block of a PEM text; undefined for one without its end. */
function blocksOf(pem: string): (string | undefined)[] {
  return pem
    .split(begin)
    .slice(1)
    .map((rest) => {
      const length = rest.indexOf(end);
      return length < 0 ? undefined : `${begin}${rest.slice(0, length)}${end}\n`;
    });
}

function readCertificate(block: string): X509Certificate | undefined {
  try {
    return new X509Certificate(block);
  } catch {
    return undefined;
  }
}

/** One line: `CN=Example Root, O=Example`. */
function subjectOf(certificate: X509Certificate): string {
  // Node returns undefined for a certificate without a subject, which its types do not say.
  const subject = certificate.subject as string | undefined;
  return subject?.split('\n').toReversed().join(', ').slice(0, 200) || 'without a subject';
}
