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

/** Who the header of a request belongs to. @throws ApiError 401 */
export type Authentication = (authorization: string | undefined) => User;

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

  /** The service account of a token; undefined where the token, its account or the pod it was made for is gone. */
  const accountOf = (token: string): User | undefined => {
    const claims = verifyToken(token, signingKey, now());
    if (!claims?.aud.includes(tokenIssuer)) return undefined;
    const { namespace, serviceaccount, pod } = claims['kubernetes.io'];
    const account = store.get('/serviceaccounts', namespace, serviceaccount.name);
    if (account?.metadata.uid !== serviceaccount.uid) return undefined;
    if (pod && store.get('/pods', namespace, pod.name)?.metadata.uid !== pod.uid) return undefined;
    const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
    return { name: claims.sub, groups };
  };

  return (authorization) => {
    const token = /^Bearer (.+)$/i.exec(authorization ?? '')?.[1]?.trim() ?? '';
    const user = timingSafeEqual(digest(token), adminDigest) ? admin : accountOf(token);
    if (!user) throw unauthorized();
    return user;
  };
}
