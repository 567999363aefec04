import { badRequest, methodNotAllowed, notFound } from './api-error.ts';
import type { Authentication } from './authentication.ts';
import { readJson, sendJson, type Exchange } from './exchange.ts';
import type { Objects, Place } from './objects.ts';
import { isJson, valueAt, type Json, textIn } from './json.ts';
import { timestamp } from './resource.ts';
import type { Store } from './store.ts';
import { signToken, tokenIssuer } from './tokens.ts';

const defaultSeconds = 3600;
const leastSeconds = 600;
const mostSeconds = 365 * 24 * 3600;

/** What a token is signed with, and when. */
export interface Signing {
  store: Store;
  signingKey: Buffer;
  now: () => Date;
}

const audiencesOf = (spec: unknown): string[] => {
  const given = valueAt(spec, 'audiences');
  return Array.isArray(given) && given.length > 0 ? given.map(String) : [tokenIssuer];
};

/** `serviceaccounts/token`: a token of a service account for a time, perhaps bound to a pod. */
export async function serveTokenRequest(
  exchange: Exchange,
  objects: Objects,
  place: Place,
  { store, signingKey, now }: Signing,
): Promise<void> {
  if (exchange.method !== 'POST') throw methodNotAllowed();
  const account = objects.get(place);
  const body = await readJson(exchange.request);
  const spec = isJson(body) && isJson(body['spec']) ? body['spec'] : {};
  const seconds = Number(spec['expirationSeconds'] ?? defaultSeconds);
  if (!(seconds >= leastSeconds))
    throw badRequest(`spec.expirationSeconds: may not specify a duration less than 10 minutes`);
  const { namespace = '', name, uid = '' } = account.metadata;
  const audiences = audiencesOf(spec);
  const issued = Math.floor(now().getTime() / 1000);
  const expires = issued + Math.min(seconds, mostSeconds);
  const pod = boundPod(store, namespace, spec['boundObjectRef']);
  const token = signToken(
    {
      iss: tokenIssuer,
      sub: `system:serviceaccount:${namespace}:${name}`,
      aud: audiences,
      iat: issued,
      nbf: issued,
      exp: expires,
      'kubernetes.io': { namespace, serviceaccount: { name, uid }, ...(pod && { pod }) },
    },
    signingKey,
  );
  sendJson(exchange, 201, {
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { name, namespace, creationTimestamp: timestamp(now()) },
    spec: { ...spec, audiences, expirationSeconds: expires - issued, boundObjectRef: spec['boundObjectRef'] ?? null },
    status: { token, expirationTimestamp: timestamp(new Date(expires * 1000)) },
  });
}

function boundPod(store: Store, namespace: string, ref: unknown): { name: string; uid: string } | undefined {
  if (!isJson(ref)) return undefined;
  const name = String(ref['name']);
  if (ref['kind'] !== 'Pod') throw badRequest('spec.boundObjectRef: only pods are supported');
  const uid = store.get('/pods', namespace, name)?.metadata.uid;
  if (uid === undefined || (ref['uid'] !== undefined && ref['uid'] !== uid)) {
    throw notFound({ group: '', plural: 'pods', kind: 'Pod' }, name);
  }
  return { name, uid };
}

/** `tokenreviews`: whose token it is. */
export function reviewToken(body: Json, authentication: Authentication): Json {
  const spec = isJson(body['spec']) ? body['spec'] : {};
  const found = authentication.accountOf(textIn(spec['token']), audiencesOf(spec));
  const status = found
    ? {
        authenticated: true,
        user: { username: found.user.name, groups: found.user.groups },
        audiences: found.audiences,
      }
    : { user: {}, error: '[invalid bearer token, token is not valid]' };
  return { kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1', metadata: {}, spec, status };
}
