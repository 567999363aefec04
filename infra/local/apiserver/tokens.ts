import { createHmac, timingSafeEqual } from 'node:crypto';
import { isJson, type Json } from './json.ts';

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
const signature = (content: string, key: Buffer) => createHmac('sha256', key).update(content).digest();

/** A JSON Web Token of these claims. */
export function signToken(claims: TokenClaims, key: Buffer): string {
  const content = `${header}.${encode(claims)}`;
  return `${content}.${signature(content, key).toString('base64url')}`;
}

/** The claims of a token that this server signed and that has not run out; undefined for any other. */
export function verifyToken(token: string, key: Buffer, now: Date): TokenClaims | undefined {
  const [head, body, signed, ...rest] = token.split('.');
  if (head !== header || body === undefined || signed === undefined || rest.length > 0) return undefined;
  const expected = signature(`${head}.${body}`, key);
  const given = Buffer.from(signed, 'base64url');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as Json;
  const seconds = now.getTime() / 1000;
  const { exp, nbf } = claims;
  if (typeof exp !== 'number' || typeof nbf !== 'number' || seconds >= exp || seconds < nbf) return undefined;
  return isJson(claims['kubernetes.io']) ? (claims as unknown as TokenClaims) : undefined;
}
