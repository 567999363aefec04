import type { Pool } from 'pg';
import type { z } from 'zod';
import {
  deviceCookieName,
  sessionCookieName,
  sessionCreate,
  sessionCreated,
  sessionView,
  signInBodyLimit,
} from '../../runtime/contracts/api/sessions.ts';
import { clientNetwork } from '../../runtime/domain/address.ts';
import { generateSessionToken } from '../../runtime/domain/api-key.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { Problem, tooManyAttempts } from '../../runtime/domain/problem.ts';
import { route, sessionOf, type Route, type RouteRequest, type SessionToken } from '../../runtime/http/route.ts';
import { deleteSession, insertSession, sessionTokenDigest } from '../../runtime/records/sessions.ts';
import { clientName } from '../../runtime/domain/client-name.ts';
import { normaliseEmail } from '../../runtime/domain/email.ts';
import { dayMs } from '../../runtime/domain/period.ts';
import { findUserByEmail } from '../../runtime/records/users.ts';
import { accountSessionRoutes } from './account-sessions.ts';
import { cookiesOf, createCookieWriter } from './cookies.ts';
import { deviceLifetimeMs, type Devices } from './devices.ts';
import type { Guesser, LoginLimit } from './login-limit.ts';
import type { Passwords, Verify } from './password.ts';

/** Lifetime of a session. */
const lifetimeMs = 30 * dayMs;

export interface SessionRoutesOptions {
  pool: Pool;
  clock: Clock;
  passwords: Passwords;
  loginLimit: LoginLimit;
  devices: Devices;
  /** The public address of the management API; https makes the cookie `Secure`. */
  baseUrl: string;
}

type SignIn = Pick<
  RouteRequest<unknown, unknown, z.output<typeof sessionCreate>>,
  'body' | 'headers' | 'clientAddress'
>;

function tokenToView({ name, project, environment, scopes, projectRole, expiresAt }: SessionToken) {
  return {
    name,
    project,
    ...(environment !== null && { environment }),
    scopes,
    ...(projectRole && { projectRole }),
    expiresAt: expiresAt.toISOString(),
  };
}

/** `/session`: sign in, show the signed-in user, sign out; and `/account/sessions`. */
export function createSessionRoutes({
  pool,
  clock,
  passwords,
  loginLimit,
  devices,
  baseUrl,
}: SessionRoutesOptions): Route[] {
  const cookie = createCookieWriter(baseUrl);
  const names = { session: sessionCookieName(baseUrl), device: deviceCookieName(baseUrl) };
  const guesserOf = (account: string, { body, headers, clientAddress }: SignIn): Guesser => {
    const [inCookie, second] = cookiesOf(headers, names.device);
    const own = devices.idOf(account, body.device ?? (second === undefined ? inCookie : undefined));
    return own === undefined ? { client: clientAddress } : { own };
  };

  return [
    route({
      method: 'POST',
      path: '/session',
      access: 'public',
      summary: 'Signs in with an email address and a password. The token is shown only once.',
      tag: 'sessions',
      body: sessionCreate,
      bodyLimit: signInBodyLimit,
      replies: { 201: sessionCreated },
      async handle(request) {
        const { body, clientAddress, log } = request;
        const account = normaliseEmail(body.email);
        const guesser = guesserOf(account, request);
        const own = 'own' in guesser ? guesser.own : undefined;
        const caller = own === undefined ? { network: clientNetwork(clientAddress, 48) } : { known: account };
        const check = async (verify: Verify) => {
          const wait = await loginLimit.take(account, guesser);
          if (wait > 0) {
            log.warn({ clientAddress }, 'login refused: too many attempts');
            throw tooManyAttempts(wait);
          }
          const record = await findUserByEmail(pool, account);
          return { user: record, proven: await verify(body.password, record?.passwordHash) };
        };
        const { user, proven } = await passwords.signIn(caller, check, request.signal);
        const now = clock.now();
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
                  client: clientName(request.headers['user-agent']),
                },
                now,
              )
            : false;
        if (!user || !signedIn) {
          log.warn({ clientAddress }, 'login failed');
          throw new Problem('invalid_credentials', 'The email address or the password is wrong.');
        }
        await loginLimit.clear(account, guesser);
        const device = devices.issue(account, own);
        log.info({ email: user.email, sessionId: id }, 'login');
        return {
          status: 201,
          headers: {
            'Set-Cookie': [
              cookie(names.session, token, lifetimeMs / 1000),
              cookie(names.device, device, deviceLifetimeMs / 1000),
            ],
          },
          body: {
            token,
            device,
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
      access: 'principal',
      summary: 'Shows the signed-in user, or the access token of the request and what it may do.',
      tag: 'sessions',
      replies: { 200: sessionView },
      handle(request) {
        const { email, role, passwordChangeRequired, token } = sessionOf(request);
        const body = {
          email,
          role,
          ...(passwordChangeRequired && { passwordChangeRequired }),
          ...(token && { token: tokenToView(token) }),
        };
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
        return { status: 204, headers: { 'Set-Cookie': cookie(names.session, '', 0) } };
      },
    }),
    ...accountSessionRoutes({ pool, clock }),
  ];
}
