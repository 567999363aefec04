import { createHmac, timingSafeEqual } from 'node:crypto';

export const tokenIssuer = 'https://kubernetes.default.svc.cluster.local';

/** What a service account's token says. Times in seconds. https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/ */
export interface TokenClaims {
  iss: string;
  sub: string;
  aud: string[];
  iat: number;
  nbf: number;
  exp: number;
  'kubernetes.io': {
    namespace: string;
    serviceaccount: { name: string; uid: string };
    pod?: { name: string; uid: string };
  };
}

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const header = encode({ alg: 'HS256', typ: 'JWT' });
const digest = (text: string, key: Buffer) => createHmac('sha256', key).update(text).digest();

/** A JSON Web Token of these claims. */
export function signToken(claims: TokenClaims, key: Buffer): string {
  const content = `${header}.${encode(claims)}`;
  return `${content}.${digest(content, key).toString('base64url')}`;
}

/** The claims of a token that this server signed and that has not run out; undefined for any other. */
export function verifyToken(token: string, key: Buffer, now: Date): TokenClaims | undefined {
  const end = token.lastIndexOf('.');
  const [content, signature] = [token.slice(0, end), Buffer.from(token.slice(end + 1), 'base64url')];
  const expected = digest(content, key);
  if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) return undefined;
  // What was signed with this key is of this server's making.
  const claims = JSON.parse(Buffer.from(content.slice(header.length + 1), 'base64url').toString()) as TokenClaims;
  const seconds = now.getTime() / 1000;
  return seconds >= claims.nbf && seconds < claims.exp ? claims : undefined;
}
