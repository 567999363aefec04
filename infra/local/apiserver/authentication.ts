import { hash, timingSafeEqual, type KeyObject } from 'node:crypto';
import { unauthorized } from './api-error.ts';
import { tokenIssuer, verifyToken } from './tokens.ts';
import type { Store } from './store.ts';

/** Who asks. */
export interface User {
  name: string;
  groups: readonly string[];
  /** Of a token that was made for a pod: which one. */
  pod?: { name: string; uid: string };
}

/** The group that may do everything. */
export const masters = 'system:masters';
/** The user of the server's own kubeconfig. */
const admin: User = { name: 'kubernetes-admin', groups: [masters, 'system:authenticated'] };

/** Who the header of a request belongs to. @throws ApiError 401 */
export type Authentication = (authorization: string | undefined) => User;

const digest = (text: string) => hash('sha256', text, 'buffer');

/** What tokens of service accounts are judged by. */
export interface AccountTokens {
  store: Store;
  signingKey: KeyObject;
  now: () => Date;
}

/**
 * The service account of a token for one of the audiences; undefined where the token, its account or the pod it was made
 * for is gone.
 */
export function accountOf(
  { store, signingKey, now }: AccountTokens,
  token: string,
  audiences: readonly string[],
): (User & { audiences: string[] }) | undefined {
  const claims = verifyToken(token, signingKey, now());
  const known = claims?.aud.filter((audience) => audiences.includes(audience)) ?? [];
  if (!claims || known.length === 0) return undefined;
  const { namespace, serviceaccount, pod } = claims['kubernetes.io'];
  const account = store.get('/serviceaccounts', namespace, serviceaccount.name);
  if (account?.metadata.uid !== serviceaccount.uid) return undefined;
  if (pod && store.get('/pods', namespace, pod.name)?.metadata.uid !== pod.uid) return undefined;
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
  return { name: claims.sub, groups, ...(pod && { pod }), audiences: known };
}

/** @param options.adminToken the token of the administrator */
export function createAuthentication(options: AccountTokens & { adminToken: string }): Authentication {
  const adminDigest = digest(options.adminToken);

  return (authorization) => {
    const token = /^Bearer (.+)$/i.exec(authorization ?? '')?.[1]?.trim() ?? '';
    const user = timingSafeEqual(digest(token), adminDigest) ? admin : accountOf(options, token, [tokenIssuer]);
    if (!user) throw unauthorized();
    return user;
  };
}
