import type { Pool } from 'pg';
import { sessionCookieName } from '../../runtime/contracts/api/sessions.ts';
import { accessTokenPrefix } from '../../runtime/domain/access-token-prefix.ts';
import { createTurnLookup } from '../../runtime/db/turn-lookup.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { Authenticate, Session } from '../../runtime/http/route.ts';
import { findValidToken } from '../../runtime/records/access-tokens.ts';
import { findSessions, sessionTokenDigest } from '../../runtime/records/sessions.ts';
import { cookiesOf } from './cookies.ts';
import type { LastUses } from './last-uses.ts';

const tokenPattern = /^svcs_[a-z0-9]{40}$/;
const safeMethods = ['GET', 'HEAD', 'OPTIONS'];

export interface AuthenticateOptions {
  pool: Pool;
  clock: Clock;
  /** The public address of the management API: where the console's own requests come from. */
  baseUrl: string;
  /** Records the uses of access tokens; default: they are not recorded. */
  tokenUses?: LastUses;
  /** As {@link tokenUses}, of sessions. */
  sessionUses?: LastUses;
}

type Headers = Parameters<Authenticate>[0]['headers'];

/**
 * Finds the session of a bearer token (command line) or of the console's cookie, or the access token of a program. Browsers
 * also send the cookie on requests of other hosts of the site, such as tenants' apps, so a request with a cookie may change
 * something only if it comes from the console's origin, and reads nothing if the browser says that another page sent it:
 * a page cannot see the answer, but reading opens streams and is recorded in the user's name. Nothing is cached: a session
 * or token that was ended is refused by the next request.
 */
export function createAuthenticate({
  pool,
  clock,
  baseUrl,
  tokenUses,
  sessionUses,
}: AuthenticateOptions): Authenticate {
  const ownOrigin = new URL(baseUrl).origin;
  const cookieName = sessionCookieName(baseUrl);
  const findSession = createTurnLookup((digests: readonly Buffer[]) => findSessions(pool, digests, clock.now()));
  const tokenSession = async (text: string): Promise<Session> => {
    const token = await findValidToken(pool, text, clock.now());
    // One answer for all, so that a token that leaked and was revoked tells nothing.
    if (!token) {
      throw new Problem(
        'unauthenticated',
        'The access token is not valid: it is unknown, expired or revoked, or its user is disabled. Create one with `svc token create`.',
      );
    }
    tokenUses?.add(token);
    const { id, userId, email, platformRole: userRole } = token;
    const { hasChanged } = token;
    const { name, projectId, project, environmentId, environment, scopes, expiresAt, projectRole } = token;
    const limits = { name, projectId, project, environmentId, environment, scopes, expiresAt, userRole, projectRole };
    // A token never has the rights of a platform admin.
    return { sessionId: id, userId, email, role: 'member', token: limits, hasChanged };
  };
  return async ({ method, headers }) => {
    const bearer = bearerOf(headers);
    if (bearer?.startsWith(accessTokenPrefix)) return tokenSession(bearer);
    const token = bearer ?? cookieOf(headers, cookieName);
    if (token === undefined || !tokenPattern.test(token)) {
      throw new Problem(
        'unauthenticated',
        'You are not signed in. Run `svc login`, or send Authorization: Bearer <token>.',
      );
    }
    const isOwn = safeMethods.includes(method) ? isNotFromOther(headers) : isSameOrigin(headers, ownOrigin);
    if (bearer === undefined && !isOwn) {
      throw new Problem('cross_site', 'The browser sent this request from another site. Send it from the console.');
    }
    const session = await findSession(sessionTokenDigest(token));
    if (!session) throw new Problem('unauthenticated', 'The session has expired. Sign in again with `svc login`.');
    const { lastUsedAt, ...caller } = session;
    sessionUses?.add({ id: caller.sessionId, lastUsedAt });
    return caller;
  };
}

function bearerOf(headers: Headers): string | undefined {
  const value = headers['authorization'];
  return typeof value === 'string' ? /^Bearer +(\S+) *$/i.exec(value)?.[1] : undefined;
}

/** @throws Problem `unauthenticated` for two cookies of the name: another host of the domain may have set one of them */
function cookieOf(headers: Headers, name: string): string | undefined {
  const [value, second] = cookiesOf(headers, name);
  if (second === undefined) return value;
  throw new Problem(
    'unauthenticated',
    `The browser sent two cookies named ${name}. Delete the cookies of this site, and sign in again.`,
  );
}

/**
 * Checks headers that only the browser can set: `Sec-Fetch-Site`, and `Origin` in older browsers. The Host header is also
 * accepted, because the console has another address through a port-forward.
 */
function isSameOrigin(headers: Headers, ownOrigin: string): boolean {
  const site = headers['sec-fetch-site'];
  const origin = headers['origin'];
  if (site !== undefined && site !== 'same-origin') return false;
  if (origin === undefined) return site === 'same-origin';
  if (typeof origin !== 'string') return false;
  return origin === ownOrigin || URL.parse(origin)?.host === headers['host'];
}

/** Whether no page of another origin sent a request: the console did, the user typed its address, or nothing is known. */
function isNotFromOther(headers: Headers): boolean {
  return [undefined, 'same-origin', 'none'].includes(headers['sec-fetch-site'] as string | undefined);
}
