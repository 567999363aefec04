import { X509Certificate } from 'node:crypto';
import { rootCertificates } from 'node:tls';
import t from 'tap';
import { selfSignedCertificate } from '../../../infra/local/apiserver/certificate.ts';
import { describeCertificates, parseCertificates, trustBundle } from '../../../runtime/domain/certificates.ts';

const root = (name: string) =>
  selfSignedCertificate(name, { names: [], addresses: [] }, new Date('2026-01-01T00:00:00Z'));
const { certificate: pem, key } = root('Own Root');
const second = root('Second Root').certificate;
/** A server's own certificates: neither may sign others, and the second one has no subject. */
const leaf = `-----BEGIN CERTIFICATE-----
MIIBnjCCAUSgAwIBAgIUCkLKehoRcxVTNwD6UF7JYBRvqfMwCgYIKoZIzj0EAwIw
JjESMBAGA1UEAwwJbGVhZi50ZXN0MRAwDgYDVQQKDAdFeGFtcGxlMB4XDTI2MTEy
NTIzMjQyN1oXDTM2MTEyMjIzMjQyN1owJjESMBAGA1UEAwwJbGVhZi50ZXN0MRAw
DgYDVQQKDAdFeGFtcGxlMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEgMNip1ub
xOo5p65k06pxAUbhM2qe1qoYXbXrY8qIjZxsO8o2Hu1Ct8I38ClF1o0Av1NnLqPN
YMz4JNJVJyLhaaNQME4wHQYDVR0OBBYEFIlQWREieg/1ozEXEQf8piT3MkoKMB8G
A1UdIwQYMBaAFIlQWREieg/1ozEXEQf8piT3MkoKMAwGA1UdEwEB/wQCMAAwCgYI
KoZIzj0EAwIDSAAwRQIgEMvhNt8qalQ91RH3nqpYNH/e9cljrvqgGYZc5w758OUC
IQCRGchwdCAfMg3XMt8MK+c3CAKbYJuZbQ+x/KKValFg6Q==
-----END CERTIFICATE-----
`;
const leafWithoutSubject = `-----BEGIN CERTIFICATE-----
MIIBUTCB+KADAgECAhRJKKZMUPXJ+TW8/sQAz4pCoIOj+zAKBggqhkjOPQQDAjAA
MB4XDTI2MTEyNTIzMjQyN1oXDTM2MTEyMjIzMjQyN1owADBZMBMGByqGSM49AgEG
CCqGSM49AwEHA0IABEM2c2zFtEG1NXZEJQooj4OMg/eHuzvtFuJ5eEFKtxNJ6jwt
Bvs0wMRuOMqrfGWf0cXr6hpAoq4a9zh6HVw9RcejUDBOMB0GA1UdDgQWBBRD83WF
lv+dFw9GoUhI2+7Q168YtTAfBgNVHSMEGDAWgBRD83WFlv+dFw9GoUhI2+7Q168Y
tTAMBgNVHRMBAf8EAjAAMAoGCCqGSM49BAMCA0gAMEUCIQDF44YYUbdTRAAuSCSk
KKq+Futr3gsZDyLPA1i33l42cgIgFRiX2OkTd+F/jWISz8FFTCM9Zr66Ow+KLhre
+ln+G6U=
-----END CERTIFICATE-----
`;
const unreadable = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const faultOf = (text: string) => {
  const parsed = parseCertificates(text);
  return 'fault' in parsed ? parsed.fault : undefined;
};

t.test('CA certificates are kept in order, without the text around them', async (t) => {
  t.same(parseCertificates(`subject: Own Root\n${pem}\nand\n${second}the end`), { certificates: `${pem}${second}` });
});

t.test('anything else is refused, with the certificate that is at fault', async (t) => {
  t.equal(faultOf(''), 'contains no certificate in PEM form (-----BEGIN CERTIFICATE-----)');
  t.equal(faultOf(`${pem}${key}`), 'contains a private key; give the certificates only');
  t.equal(faultOf(unreadable), 'the certificate cannot be read');
  t.equal(faultOf(pem.slice(0, -2)), 'the certificate cannot be read', 'without its end');
  t.equal(faultOf(`${unreadable}${pem}`), 'certificate 1 of 2 cannot be read');
  t.equal(faultOf(`${pem}${unreadable}`), 'certificate 2 of 2 cannot be read');
  t.match(faultOf(leaf), /^the certificate \(O=Example, CN=leaf\.test\) is not a CA certificate/);
  t.match(faultOf(`${pem}${leafWithoutSubject}`), /^certificate 2 of 2 \(without a subject\) is not a CA certificate/);
});

t.test('certificates have at most 64 KiB with the text around them', async (t) => {
  const filled = (bytes: number) => `é${' '.repeat(bytes - pem.length - 2)}${pem}`;
  t.equal(faultOf(filled(65_536)), undefined);
  t.equal(faultOf(` ${filled(65_536)}`), 'the certificates have more than 64 KiB');
});

t.test('people read the subjects and when they expire', async (t) => {
  const texts = describeCertificates(`${pem}${unreadable}${second}-----BEGIN CERTIFICATE-----\nAAAA`);
  t.same(texts, ['CN=Own Root (expires 2036-01-01)', 'CN=Second Root (expires 2036-01-01)']);
  t.same(describeCertificates(leaf), ['O=Example, CN=leaf.test (expires 2036-11-22)']);
  const [long] = describeCertificates(root('x'.repeat(300)).certificate);
  t.equal(long, `CN=${'x'.repeat(197)} (expires 2036-01-01)`, 'a subject is cut');
});

t.test('a bundle trusts the public CAs too', async (t) => {
  const bundle = trustBundle(pem);
  const blocks = [...bundle.matchAll(/-----BEGIN[^]*?-----END CERTIFICATE-----/g)].map(([block]) => block);
  t.equal(blocks.length, rootCertificates.length + 1);
  t.equal(new X509Certificate(blocks.at(-1) ?? '').subject, 'CN=Own Root');
  t.ok(blocks.includes(rootCertificates.at(-1) ?? ''));
});
