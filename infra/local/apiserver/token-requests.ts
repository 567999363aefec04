import { badRequest, methodNotAllowed, notFound } from './api-error.ts';
import { readJson, sendJson, type Exchange } from './exchange.ts';
import { isJson, valueAt } from './json.ts';
import type { Objects, Place } from './objects.ts';
import { timestamp } from './resource.ts';
import type { Store } from './store.ts';
import { signToken, tokenIssuer } from './tokens.ts';

const defaultSeconds = 3600;
const leastSeconds = 600;
const mostSeconds = 365 * 24 * 3600;

/** `serviceaccounts/token`: a token of a service account for a time, perhaps bound to a pod. */
export function createTokenRequests(options: {
  store: Store;
  objects: Objects;
  signingKey: Buffer;
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
    const given = valueAt(await readJson(exchange.request), 'spec');
    const spec = isJson(given) ? given : {};
    const seconds = Number(spec['expirationSeconds'] ?? defaultSeconds);
    if (!(seconds >= leastSeconds)) {
      throw badRequest('spec.expirationSeconds: may not specify a duration less than 10 minutes');
    }
    const audiences = Array.isArray(spec['audiences']) ? spec['audiences'].map(String) : [];
    if (audiences.length === 0) audiences.push(tokenIssuer);
    const issued = Math.floor(now().getTime() / 1000);
    const expires = issued + Math.min(seconds, mostSeconds);
    const pod = boundPod(namespace, spec['boundObjectRef']);
    const claims = {
      iss: tokenIssuer,
      sub: `system:serviceaccount:${namespace}:${name}`,
      aud: audiences,
      iat: issued,
      nbf: issued,
      exp: expires,
      'kubernetes.io': { namespace, serviceaccount: { name, uid }, ...(pod && { pod }) },
    };
    sendJson(exchange, 201, {
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: { name, namespace, creationTimestamp: timestamp(now()) },
      spec: { ...spec, audiences, expirationSeconds: expires - issued },
      status: { token: signToken(claims, signingKey), expirationTimestamp: timestamp(new Date(expires * 1000)) },
    });
  };
}
