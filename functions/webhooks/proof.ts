import { createHmac, hash, timingSafeEqual } from 'node:crypto';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

function sameText(a: string, b: string): boolean {
  // Digests have one length, so that comparing does not tell the length either.
  return timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'));
}

/**
 * Whether a request proves that its sender knows the token: `X-Svc-Token` is the token itself; without that header
 * `X-Hub-Signature-256` is `sha256=<hex>`, the HMAC-SHA256 of the body's exact bytes under the token (spec.md §5).
 */
export function provesToken(token: string, headers: Headers, rawBody: Buffer): boolean {
  const given = headers['x-svc-token'];
  const signature = headers['x-hub-signature-256'];
  if (given !== undefined) return typeof given === 'string' && sameText(given, token);
  const expected = `sha256=${createHmac('sha256', token).update(rawBody).digest('hex')}`;
  return typeof signature === 'string' && sameText(signature, expected);
}
