import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto';
import { badRequest, methodNotAllowed, notFound } from './api-error.ts';
import { readJson, sendJson, type Exchange } from './exchange.ts';
import { isJson, valueAt } from './json.ts';
import type { Objects, Place } from './objects.ts';
import { timestamp } from './resource.ts';
import type { Store } from './store.ts';

const defaultSeconds = 3600;
const minSeconds = 600;
const maxSeconds = 365 * 24 * 3600;

export const tokenIssuer = 'https://kubernetes.default.svc.cluster.local';

/**
 * The claims of a service account token, with times in seconds.
 * https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/
 */
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
const digest = (text: string, key: KeyObject) => createHmac('sha256', key).update(text).digest();

/** Signs a JSON Web Token with these claims. */
export function signToken(claims: TokenClaims, key: KeyObject): string {
  const content = `${header}.${encode(claims)}`;
  return `${content}.${digest(content, key).toString('base64url')}`;
}

/** The claims of a token that this server signed and that has not expired; otherwise undefined. */
export function verifyToken(token: string, key: KeyObject, now: Date): TokenClaims | undefined {
  const end = token.lastIndexOf('.');
  const [content, signature] = [token.slice(0, end), Buffer.from(token.slice(end + 1), 'base64url')];
  const expected = digest(content, key);
  if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) return undefined;
  // The signature proves that this server wrote the claims, so they need no validation.
  const claims = JSON.parse(Buffer.from(content.slice(header.length + 1), 'base64url').toString()) as TokenClaims;
  const seconds = now.getTime() / 1000;
  return seconds >= claims.nbf && seconds < claims.exp ? claims : undefined;
}

/** Serves `serviceaccounts/token`: issues a token for a limited time, optionally bound to a pod. */
export function createTokenRequests(options: {
  store: Store;
  objects: Objects;
  signingKey: KeyObject;
  now: () => Date;
}): (exchange: Exchange, place: Place) => Promise<void> {
  const { store, objects, signingKey, now } = options;

  const boundPod = (namespace: string, ref: unknown): { name: string; uid: string } | undefined => {
    if (!isJson(ref)) return undefined;
    const name = String(ref['name']);
    if (ref['kind'] !== 'Pod') throw badRequest('spec.boundObjectRef: only pods are supported');
    const uid = store.get('/pods', namespace, name)?.metadata.uid;
    if (uid !== undefined && (ref['uid'] ?? uid) === uid) return { name, uid };
    throw notFound({ group: '', plural: 'pods', kind: 'Pod' }, name);
  };

  return async (exchange, place) => {
    if (exchange.method !== 'POST') throw methodNotAllowed();
    const { namespace = '', name, uid = '' } = objects.get(place).metadata;
    const body = valueAt(await readJson(exchange.request), 'spec');
    const spec = isJson(body) ? body : {};
    const seconds = Number(spec['expirationSeconds'] ?? defaultSeconds);
    if (!(seconds >= minSeconds)) {
      throw badRequest('spec.expirationSeconds: may not specify a duration less than 10 minutes');
    }
    const audiences = Array.isArray(spec['audiences']) ? spec['audiences'].map(String) : [];
    if (audiences.length === 0) audiences.push(tokenIssuer);
    const issuedAt = Math.floor(now().getTime() / 1000);
    const expiresAt = issuedAt + Math.min(seconds, maxSeconds);
    const pod = boundPod(namespace, spec['boundObjectRef']);
    const claims = {
      iss: tokenIssuer,
      sub: `system:serviceaccount:${namespace}:${name}`,
      aud: audiences,
      iat: issuedAt,
      nbf: issuedAt,
      exp: expiresAt,
      'kubernetes.io': { namespace, serviceaccount: { name, uid }, ...(pod && { pod }) },
    };
    sendJson(exchange, 201, {
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: { name, namespace, creationTimestamp: timestamp(now()) },
      spec: { ...spec, audiences, expirationSeconds: expiresAt - issuedAt },
      status: { token: signToken(claims, signingKey), expirationTimestamp: timestamp(new Date(expiresAt * 1000)) },
    });
  };
}
