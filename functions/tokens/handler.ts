import type { Pool } from 'pg';
import type { TokenView } from '../../runtime/contracts/api/tokens.ts';
import { checkTokenName, tokenLifetimeMaxMs, tokenLifetimeMs } from '../../runtime/domain/access-token.ts';
import { scopeRole, tokenScopes, type TokenScope } from '../../runtime/domain/token-scopes.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { includesRole, type ProjectRole } from '../../runtime/domain/roles.ts';
import { pageOfRows } from '../../runtime/http/page.ts';
import { projectIdOf, route, sessionOf, type ProjectGrant, type Route } from '../../runtime/http/route.ts';
import { resolveEnvironment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import {
  deleteToken,
  findToken,
  insertToken,
  listTokens,
  type AccessToken,
} from '../../runtime/records/access-tokens.ts';
import { createTokenSchema, getTokenSchema, listTokensSchema, revokeTokenSchema } from './schema.ts';

export interface TokenDependencies {
  kube: Pick<KubeClient, 'get'>;
  pool: Pool;
  clock: Clock;
}

const tag = 'tokens';
const path = '/projects/:project/tokens';

/** A token is `inactive` while no request with it can succeed. */
function statusOf({ expiresAt, userEnabled, projectRole }: AccessToken, now: Date): TokenView['status'] {
  if (expiresAt <= now) return 'expired';
  return userEnabled && projectRole !== null ? 'active' : 'inactive';
}

function toView(token: AccessToken, now: Date): TokenView {
  const { id, name, handle, environment, scopes, createdAt, email, expiresAt, lastUsedAt } = token;
  return {
    id,
    name,
    handle,
    ...(environment !== null && { environment }),
    scopes,
    status: statusOf(token, now),
    createdAt: createdAt.toISOString(),
    createdBy: email,
    expiresAt: expiresAt.toISOString(),
    ...(lastUsedAt && { lastUsedAt: lastUsedAt.toISOString() }),
  };
}

function audited({ id, name, handle, environment, scopes, expiresAt }: AccessToken) {
  return {
    accessToken: { id, name, handle, scopes, expiresAt: expiresAt.toISOString() },
    ...(environment !== null && { environment }),
  };
}

/** @throws Problem `forbidden` for a scope that needs a higher role than the caller has */
function checkScopes(scopes: readonly TokenScope[], role: ProjectRole): TokenScope[] {
  for (const scope of scopes) {
    const needs = scopeRole[scope];
    if (includesRole(role, needs)) continue;
    const message = `A token with the scope "${scope}" requires the role "${needs}" in the project; yours is "${role}".`;
    throw new Problem('forbidden', message, { details: { needs, has: role } });
  }
  return tokenScopes.filter((scope) => scopes.includes(scope));
}

/** @throws Problem `invalid_value` */
function expiryOf(text: string | undefined, now: Date): Date {
  if (text === undefined) return new Date(now.getTime() + tokenLifetimeMs);
  const expiresAt = new Date(text);
  const lifetimeMs = expiresAt.getTime() - now.getTime();
  if (lifetimeMs > 0 && lifetimeMs <= tokenLifetimeMaxMs) return expiresAt;
  const message =
    lifetimeMs <= 0
      ? `The expiry ${text} is in the past. Choose a later time.`
      : `The expiry ${text} is too late. An access token is valid for at most 366 days.`;
  throw new Problem('invalid_value', message, { details: { field: 'expiresAt' } });
}

/** `/projects/{project}/tokens`: tokens with which programs call the API (docs/reference/tokens.md). For users only. */
export function createTokenRoutes({ kube, pool, clock }: TokenDependencies): Route[] {
  const locate = async (request: { params: { project: string; token: string }; grant: ProjectGrant | undefined }) => {
    const { project, token: nameOrId } = request.params;
    const token = await findToken(pool, projectIdOf(request), nameOrId);
    if (token) return token;
    // The message does not repeat the request, which may contain a whole token by mistake.
    throw new Problem(
      'not_found',
      `The project "${project}" has no access token with this name or id. List its tokens with \`svc token list\`.`,
    );
  };

  return [
    route({
      ...createTokenSchema,
      method: 'POST',
      path,
      access: { project: 'viewer' },
      tag,
      summary:
        'Creates an access token. It never has more rights than its user. The response is the only place where the token is shown.',
      audit: 'token.create',
      async handle(request) {
        const { params, body, grant } = request;
        const now = clock.now();
        const environment =
          body.environment === undefined ? undefined : await resolveEnvironment(kube, params.project, body.environment);
        const { token, record } = await insertToken(
          pool,
          {
            name: checkTokenName(body.name),
            projectId: projectIdOf(request),
            project: params.project,
            environmentId: environment?.environmentId ?? null,
            environment: environment?.environment ?? null,
            scopes: checkScopes(body.scopes, grant?.role ?? 'viewer'),
            expiresAt: expiryOf(body.expiresAt, now),
            userId: sessionOf(request).userId,
          },
          now,
        );
        return { status: 201, body: { ...toView(record, now), token }, audit: audited(record) };
      },
    }),
    route({
      ...listTokensSchema,
      method: 'GET',
      path,
      access: { project: 'viewer' },
      tag,
      summary: 'Lists the access tokens of a project, newest first, with their last use.',
      async handle(request) {
        const { limit, cursor } = request.query;
        const rows = await listTokens(pool, projectIdOf(request), { limit: limit + 1, before: cursor });
        const now = clock.now();
        const toItem = (token: AccessToken) => toView(token, now);
        return { status: 200, body: pageOfRows(rows, limit, { cursorOf: ({ id }) => id, toItem }) };
      },
    }),
    route({
      ...getTokenSchema,
      method: 'GET',
      path: `${path}/:token`,
      access: { project: 'viewer' },
      tag,
      summary: 'Shows an access token, by name or id.',
      async handle(request) {
        return { status: 200, body: toView(await locate(request), clock.now()) };
      },
    }),
    route({
      ...revokeTokenSchema,
      method: 'DELETE',
      path: `${path}/:token`,
      access: { project: 'viewer' },
      tag,
      summary: 'Revokes an access token permanently. Members revoke their own, admins of the project every token.',
      audit: 'token.revoke',
      async handle(request) {
        const token = await locate(request);
        if (token.userId !== sessionOf(request).userId && request.grant?.role !== 'admin') {
          const message = `The token "${token.name}" belongs to ${token.email}. Only this user and admins of the project can revoke it.`;
          throw new Problem('forbidden', message, { details: { needs: 'admin', has: request.grant?.role } });
        }
        await deleteToken(pool, token.id);
        return { status: 204, audit: audited(token) };
      },
    }),
  ];
}
