import { createHash, timingSafeEqual } from 'node:crypto';
import { unauthorized } from './api-error.ts';
import { tokenIssuer, verifyToken } from './tokens.ts';
import type { Store } from './store.ts';

/** Who asks. */
export interface User {
  name: string;
  groups: readonly string[];
}

/** The group that may do everything. */
export const masters = 'system:masters';
/** The user of the server's own kubeconfig. */
const admin: User = { name: 'kubernetes-admin', groups: [masters, 'system:authenticated'] };

export interface Authentication {
  /** Who the header of a request belongs to. @throws ApiError 401 */
  authenticate(authorization: string | undefined): User;
  /**
   * The service account that a token for one of these audiences belongs to; undefined where the token, its account or
   * the pod it was made for is gone.
   */
  accountOf(token: string, audiences: readonly string[]): { user: User; audiences: string[] } | undefined;
}

const digest = (text: string) => createHash('sha256').update(text).digest();

/** @param options.adminToken the token of the administrator */
export function createAuthentication(options: {
  store: Store;
  adminToken: string;
  signingKey: Buffer;
  now: () => Date;
}): Authentication {
  const { store, signingKey, now } = options;
  const adminDigest = digest(options.adminToken);

  const authentication: Authentication = {
    authenticate(authorization) {
      const token = /^Bearer (.+)$/i.exec(authorization ?? '')?.[1]?.trim();
      if (token === undefined) throw unauthorized();
      if (timingSafeEqual(digest(token), adminDigest)) return admin;
      const account = authentication.accountOf(token, [tokenIssuer]);
      if (!account) throw unauthorized();
      return account.user;
    },
    accountOf(token, audiences) {
      const claims = verifyToken(token, signingKey, now());
      const shared = claims?.aud.filter((audience) => audiences.includes(audience)) ?? [];
      if (!claims || shared.length === 0) return undefined;
      const { namespace, serviceaccount, pod } = claims['kubernetes.io'];
      const account = store.get('/serviceaccounts', namespace, serviceaccount.name);
      if (account?.metadata.uid !== serviceaccount.uid) return undefined;
      if (pod && store.get('/pods', namespace, pod.name)?.metadata.uid !== pod.uid) return undefined;
      const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
      return { user: { name: claims.sub, groups }, audiences: shared };
    },
  };
  return authentication;
}
