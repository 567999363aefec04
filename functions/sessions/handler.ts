import type { Pool } from 'pg';
import { sessionCookieName, sessionCreate, sessionCreated, sessionView } from '../../runtime/contracts/api/sessions.ts';
import { generateSessionToken } from '../../runtime/domain/api-key.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { route, sessionOf, type Route } from '../../runtime/http/route.ts';
import { deleteSession, insertSession, sessionTokenDigest } from '../../runtime/records/sessions.ts';
import { normaliseEmail } from '../../runtime/domain/email.ts';
import { findUserByEmail } from '../../runtime/records/users.ts';
import type { LoginLimit } from './login-limit.ts';
import type { Passwords } from './password.ts';

/** Lifetime of a session. */
const lifetimeMs = 30 * 24 * 3_600_000;

export interface SessionRoutesOptions {
  pool: Pool;
  clock: Clock;
  passwords: Passwords;
  loginLimit: LoginLimit;
  /** The public address of the management API; https makes the cookie `Secure`. */
  baseUrl: string;
}

/** `/session`: sign in, show the signed-in user, sign out. */
export function createSessionRoutes({ pool, clock, passwords, loginLimit, baseUrl }: SessionRoutesOptions): Route[] {
  const cookie = (value: string, maxAgeSeconds: number) =>
    [
      `${sessionCookieName(baseUrl)}=${value}`,
      `Max-Age=${maxAgeSeconds}`,
      'Path=/',
      'HttpOnly',
      'SameSite=Strict',
      ...(baseUrl.startsWith('https:') ? ['Secure'] : []),
    ].join('; ');

  return [
    route({
      method: 'POST',
      path: '/session',
      access: 'public',
      summary: 'Signs in with an email address and a password. The token is shown only once.',
      tag: 'sessions',
      body: sessionCreate,
      bodyLimit: 8 * 1024,
      replies: { 201: sessionCreated },
      async handle({ body, clientAddress, log }) {
        const account = normaliseEmail(body.email);
        const wait = await loginLimit.take(account, clientAddress);
        if (wait > 0) {
          log.warn({ clientAddress }, 'login refused: too many attempts');
          throw new Problem('too_many_requests', `Too many attempts. Try again in ${Math.ceil(wait / 60)} minutes.`, {
            details: { retryAfterSeconds: wait },
          });
        }
        const now = clock.now();
        const user = await findUserByEmail(pool, account);
        const proven = await passwords.verify(body.password, user?.passwordHash);
        const token = generateSessionToken();
        const expiresAt = new Date(now.getTime() + lifetimeMs);
        const id = newId();
        const signedIn =
          user && proven && (user.oneTimeUntil === null || user.oneTimeUntil > now)
            ? await insertSession(
                pool,
                {
                  id,
                  userId: user.id,
                  provenHash: user.passwordHash,
                  tokenDigest: sessionTokenDigest(token),
                  expiresAt,
                },
                now,
              )
            : false;
        if (!user || !signedIn) {
          log.warn({ clientAddress }, 'login failed');
          throw new Problem('invalid_credentials', 'The email address or the password is wrong.');
        }
        await loginLimit.clear(account, clientAddress);
        log.info({ email: user.email, sessionId: id }, 'login');
        return {
          status: 201,
          headers: { 'Set-Cookie': cookie(token, lifetimeMs / 1000) },
          body: {
            token,
            email: user.email,
            expiresAt: expiresAt.toISOString(),
            ...(user.oneTimeUntil && { passwordChangeRequired: true }),
          },
        };
      },
    }),
    route({
      method: 'GET',
      path: '/session',
      access: 'account',
      summary: 'Shows the signed-in user.',
      tag: 'sessions',
      replies: { 200: sessionView },
      handle(request) {
        const { email, role, passwordChangeRequired } = sessionOf(request);
        const body = { email, role, ...(passwordChangeRequired && { passwordChangeRequired }) };
        return Promise.resolve({ status: 200, body });
      },
    }),
    route({
      method: 'DELETE',
      path: '/session',
      access: 'account',
      summary: 'Signs out. The token stops working.',
      tag: 'sessions',
      replies: { 204: null },
      async handle(request) {
        await deleteSession(pool, sessionOf(request).sessionId);
        return { status: 204, headers: { 'Set-Cookie': cookie('', 0) } };
      },
    }),
  ];
}
