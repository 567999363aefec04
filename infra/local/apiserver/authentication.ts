import { hash, timingSafeEqual, type KeyObject } from 'node:crypto';
import { unauthorized } from './api-error.ts';
import { tokenIssuer, verifyToken } from './tokens.ts';
import type { Store } from './store.ts';
import type { User } from './user.ts';

/** The group whose members have all rights. */
export const masters = 'system:masters';
/** The user of the administrator's kubeconfig. */
const admin: User = { name: 'kubernetes-admin', groups: [masters, 'system:authenticated'] };

/** Authenticates a request by its Authorization header. @throws ApiError 401 */
export type Authentication = (authorization: string | undefined) => User;

const digest = (text: string) => hash('sha256', text, 'buffer');

/** The data for verifying service account tokens. */
export interface AccountTokens {
  store: Store;
  signingKey: KeyObject;
  now: () => Date;
}

/**
 * The service account of a token for one of the audiences; undefined when the token is invalid, or its account or pod
 * no longer exists.
 */
export function verifyAccountToken(
  { store, signingKey, now }: AccountTokens,
  token: string,
  audiences: readonly string[],
): (User & { audiences: string[] }) | undefined {
  const claims = verifyToken(token, signingKey, now());
  const granted = claims?.aud.filter((audience) => audiences.includes(audience)) ?? [];
  if (!claims || granted.length === 0) return undefined;
  const { namespace, serviceaccount, pod } = claims['kubernetes.io'];
  const account = store.get('/serviceaccounts', namespace, serviceaccount.name);
  if (account?.metadata.uid !== serviceaccount.uid) return undefined;
  if (pod && store.get('/pods', namespace, pod.name)?.metadata.uid !== pod.uid) return undefined;
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
  return { name: claims.sub, groups, ...(pod && { pod }), audiences: granted };
}

/** @param options.adminToken the administrator's token */
export function createAuthentication(options: AccountTokens & { adminToken: string }): Authentication {
  const adminDigest = digest(options.adminToken);

  return (authorization) => {
    const token = /^Bearer (.+)$/i.exec(authorization ?? '')?.[1]?.trim() ?? '';
    const user = timingSafeEqual(digest(token), adminDigest)
      ? admin
      : verifyAccountToken(options, token, [tokenIssuer]);
    if (!user) throw unauthorized();
    return user;
  };
}
