import { generateKeyPairSync, randomBytes, sign, X509Certificate } from 'node:crypto';

const validYears = 10;

const identifiers = {
  commonName: '550403',
  ecdsaWithSha256: '2a8648ce3d040302',
  basicConstraints: '551d13',
  keyUsage: '551d0f',
  extendedKeyUsage: '551d25',
  serverAuth: '2b06010505070301',
  subjectAltName: '551d11',
} as const;

/** One element of DER: tag, length, content. */
function der(tag: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size =
    length < 128 ? [length] : [...Buffer.from(length.toString(16).padStart(length > 255 ? 4 : 2, '0'), 'hex')];
  return Buffer.concat([Buffer.from(length < 128 ? [tag, ...size] : [tag, 0x80 | size.length, ...size]), content]);
}

const sequence = (...items: Buffer[]) => der(0x30, ...items);
const identifier = (name: keyof typeof identifiers) => der(0x06, Buffer.from(identifiers[name], 'hex'));
const boolean = (value: boolean) => der(0x01, Buffer.from([value ? 0xff : 0]));
const octets = (content: Buffer) => der(0x04, content);
const bits = (content: Buffer, unused = 0) => der(0x03, Buffer.from([unused]), content);
const time = (date: Date) => der(0x18, Buffer.from(date.toISOString().replaceAll(/[-:T]|\.\d+/g, '')));
const nameOf = (commonName: string) =>
  sequence(der(0x31, sequence(identifier('commonName'), der(0x0c, Buffer.from(commonName)))));
const extension = (name: keyof typeof identifiers, critical: boolean, value: Buffer) =>
  sequence(identifier(name), ...(critical ? [boolean(true)] : []), octets(value));

/** A key and a certificate, both PEM. */
export interface KeyPair {
  key: string;
  certificate: string;
}

/**
 * A certificate of a server that signs itself, so that it is its own authority: whoever is given it trusts this server
 * and nothing else. ECDSA on P-256, for ten years. https://www.rfc-editor.org/rfc/rfc5280#section-4.1
 */
export function selfSignedCertificate(
  commonName: string,
  subjects: { names: readonly string[]; addresses: readonly string[] },
  now: Date,
): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const end = new Date(now);
  end.setFullYear(end.getFullYear() + validYears);
  const alternatives = [
    ...subjects.names.map((name) => der(0x82, Buffer.from(name))),
    ...subjects.addresses.map((address) => der(0x87, Buffer.from(address.split('.').map(Number)))),
  ];
  const algorithm = sequence(identifier('ecdsaWithSha256'));
  const serial = randomBytes(16);
  // A number that is neither negative nor has needless zeros in front.
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40;
  const certified = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    algorithm,
    nameOf(commonName),
    sequence(time(now), time(end)),
    nameOf(commonName),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(
      0xa3,
      sequence(
        extension('basicConstraints', true, sequence(boolean(true))),
        extension('keyUsage', true, bits(Buffer.from([0b1000_0100]), 2)),
        extension('extendedKeyUsage', false, sequence(identifier('serverAuth'))),
        extension('subjectAltName', false, sequence(...alternatives)),
      ),
    ),
  );
  const signed = sequence(certified, algorithm, bits(sign('sha256', certified, privateKey)));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    certificate: new X509Certificate(signed).toString(),
  };
}
