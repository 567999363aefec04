import { generateKeyPairSync, randomBytes, sign, X509Certificate } from 'node:crypto';

const validYears = 10;

/** A DER element: tag, length, content. */
function der(tag: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...items: Buffer[]) => der(0x30, ...items);
const identifier = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
const bits = (content: Buffer) => der(0x03, Buffer.of(0), content);
const time = (date: Date) => der(0x18, Buffer.from(date.toISOString().replaceAll(/[-:T]|\.\d+/g, '')));
const commonName = (name: string) => sequence(der(0x31, sequence(identifier('550403'), der(0x0c, Buffer.from(name)))));
const ecdsaWithSha256 = sequence(identifier('2a8648ce3d040302'));
const subjectAltName = identifier('551d11');
/** Critical, with CA set to true. */
const basicConstraints = sequence(
  identifier('551d13'),
  der(0x01, Buffer.of(0xff)),
  der(0x04, sequence(der(0x01, Buffer.of(0xff)))),
);

/** A key and a certificate, both in PEM. */
export interface KeyPair {
  key: string;
  certificate: string;
}

/**
 * A self-signed server certificate that is its own authority: a client that trusts it trusts this server only. ECDSA on
 * P-256, valid for ten years. https://www.rfc-editor.org/rfc/rfc5280#section-4.1
 */
export function selfSignedCertificate(
  name: string,
  subjects: { names: readonly string[]; addresses: readonly string[] },
  now: Date,
): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const end = new Date(now);
  end.setFullYear(end.getFullYear() + validYears);
  const alternatives = [
    ...subjects.names.map((host) => der(0x82, Buffer.from(host))),
    ...subjects.addresses.map((address) => der(0x87, Buffer.from(address.split('.').map(Number)))),
  ];
  const extensions = [basicConstraints, sequence(subjectAltName, der(0x04, sequence(...alternatives)))];
  const tbsCertificate = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    // The first byte keeps the serial number positive and without leading zeros.
    der(0x02, Buffer.of(0x40), randomBytes(15)),
    ecdsaWithSha256,
    commonName(name),
    sequence(time(now), time(end)),
    commonName(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  );
  const signed = sequence(tbsCertificate, ecdsaWithSha256, bits(sign('sha256', tbsCertificate, privateKey)));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    certificate: new X509Certificate(signed).toString(),
  };
}
