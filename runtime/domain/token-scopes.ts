import type { ProjectRole } from './roles.ts';

/** What an access token may do (docs/reference/tokens.md#scopes). */
export const tokenScopes = ['read', 'logs:read', 'deploy', 'write'] as const;

export type TokenScope = (typeof tokenScopes)[number];

/** The scopes that each scope contains: following a deployment needs to read. */
const contents: Readonly<Record<TokenScope, readonly TokenScope[]>> = {
  read: ['read'],
  'logs:read': ['logs:read'],
  deploy: ['deploy', 'read'],
  write: ['write', 'deploy', 'read'],
};

/** Whether a token's scopes contain another. */
export function includesScope(scopes: readonly TokenScope[], needed: TokenScope): boolean {
  return scopes.some((scope) => contents[scope].includes(needed));
}

/** The role that a member must have to create a token of a scope, and to use it. */
export const scopeRole: Readonly<Record<TokenScope, ProjectRole>> = {
  read: 'viewer',
  'logs:read': 'viewer',
  deploy: 'deployer',
  write: 'deployer',
};
