import type { Pool } from 'pg';
import { z } from 'zod';
import type { UserView } from '../../runtime/contracts/api/users.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { checkPassword, generatePassword } from '../../runtime/domain/password.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { pageOfRows } from '../../runtime/host/page.ts';
import { route, sessionOf, type Route, type RouteRequest } from '../../runtime/host/route.ts';
import {
  deleteUser,
  findUserByEmail,
  findUserById,
  insertUser,
  listUsers,
  normaliseEmail,
  setPassword,
  updateUser,
  type User,
} from '../../runtime/records/users.ts';
import {
  changePasswordSchema,
  createUserSchema,
  deleteUserSchema,
  getUserSchema,
  listUsersSchema,
  resetPasswordSchema,
  updateUserSchema,
} from './schema.ts';

/** A one-time password signs in for so long. */
const oneTimeMs = 7 * 24 * 3_600_000;

export interface UserDependencies {
  pool: Pool;
  clock: Clock;
  passwords: {
    hash(password: string): Promise<string>;
    verify(password: string, stored: string | undefined): Promise<boolean>;
  };
  /** Whoever has got hold of a session must not guess the password with it either. */
  loginLimit: {
    take(account: string, client: string): Promise<number>;
    clear(account: string, client: string): Promise<void>;
  };
}

const tag = 'users';
const path = '/users/:user';

function toView({ id, email, role, disabledAt, oneTimeUntil, createdAt }: User): UserView {
  return {
    ...{ id, email, role },
    status: disabledAt ? 'disabled' : oneTimeUntil ? 'invited' : 'active',
    ...(oneTimeUntil && !disabledAt && { passwordExpiresAt: oneTimeUntil.toISOString() }),
    createdAt: createdAt.toISOString(),
  };
}

function audit(
  request: Pick<RouteRequest<unknown, unknown, unknown>, 'log' | 'session'>,
  action: string,
  { id, email }: Pick<User, 'id' | 'email'>,
  changes?: object,
): void {
  const actor = sessionOf(request).email;
  request.log.info({ action, actor, user: { id, email }, ...(changes && { changes }) }, 'user audit');
}

/** `/users`: who may sign in, for admins of the platform; and everybody's own password. */
export function createUserRoutes({ pool, clock, passwords, loginLimit }: UserDependencies): Route[] {
  const find = async (idOrEmail: string): Promise<User> => {
    const byId = z.uuid().safeParse(idOrEmail).success;
    const user = await (byId ? findUserById(pool, idOrEmail) : findUserByEmail(pool, idOrEmail));
    if (!user) throw noUser(idOrEmail);
    return user;
  };
  /** The one that was given, or one that works once, for a while. */
  const secretFor = (given: string | undefined) => {
    const password = given === undefined ? generatePassword() : checkPassword(given);
    const oneTimeUntil = given === undefined ? new Date(clock.now().getTime() + oneTimeMs) : null;
    return { password, oneTimeUntil, shown: given === undefined ? { oneTimePassword: password } : {} };
  };

  return [
    route({
      ...createUserSchema,
      method: 'POST',
      path: '/users',
      access: 'platform-admin',
      tag,
      summary: 'Creates a user; without a password, a one-time one is made and shown this once.',
      async handle(request) {
        const { role, password: given } = request.body;
        const email = checkEmail(request.body.email);
        const { password, oneTimeUntil, shown } = secretFor(given);
        const passwordHash = await passwords.hash(password);
        const user = await insertUser(pool, { id: newId(), email, passwordHash, role, oneTimeUntil });
        if (!user) throw new Problem('already_exists', `There is a user "${email}" already.`);
        audit(request, 'user.create', user, { role });
        return { status: 201, body: { ...toView(user), ...shown } };
      },
    }),
    route({
      ...listUsersSchema,
      method: 'GET',
      path: '/users',
      access: 'platform-admin',
      tag,
      summary: 'Lists the users by address.',
      async handle({ query: { limit, cursor } }) {
        const users = await listUsers(pool, { limit: limit + 1, after: cursor });
        return { status: 200, body: pageOfRows(users, limit, { cursorOf: ({ email }) => email, toItem: toView }) };
      },
    }),
    route({
      ...changePasswordSchema,
      method: 'PUT',
      path: '/users/me/password',
      access: 'account',
      tag,
      summary: 'Changes one’s own password and ends all other sessions.',
      async handle(request) {
        const { body, log, clientAddress } = request;
        const { userId, sessionId, email } = sessionOf(request);
        checkPassword(body.newPassword, 'newPassword');
        if (body.newPassword === body.currentPassword) {
          throw new Problem('invalid_value', 'The new password is the old one.', { details: { field: 'newPassword' } });
        }
        const wait = await loginLimit.take(email, clientAddress);
        if (wait > 0) {
          throw new Problem('too_many_requests', `Too many attempts; try again in ${Math.ceil(wait / 60)} minutes.`, {
            details: { retryAfterSeconds: wait },
          });
        }
        const user = await findUserById(pool, userId);
        const proven = await passwords.verify(body.currentPassword, user?.passwordHash);
        if (!user || !proven) {
          log.warn({ email, clientAddress }, 'password change failed');
          throw new Problem('invalid_value', 'The current password is wrong.', {
            details: { field: 'currentPassword' },
          });
        }
        const changed = await setPassword(pool, userId, await passwords.hash(body.newPassword), {
          provenHash: user.passwordHash,
          keepSession: sessionId,
        });
        if (!changed) throw new Problem('conflict', 'The password was changed by somebody else at the same moment.');
        await loginLimit.clear(email, clientAddress);
        audit(request, 'user.password.change', user);
        return { status: 204 };
      },
    }),
    route({
      ...getUserSchema,
      method: 'GET',
      path,
      access: 'platform-admin',
      tag,
      summary: 'Shows a user, by address or id.',
      handle: async ({ params }) => ({ status: 200, body: toView(await find(params.user)) }),
    }),
    route({
      ...updateUserSchema,
      method: 'PATCH',
      path,
      access: 'platform-admin',
      tag,
      summary: 'Changes a user’s role, or disables the user, who is then signed out at once.',
      async handle(request) {
        const { params, body } = request;
        if (Object.keys(body).length === 0)
          throw new Problem('invalid_request', 'Give what to change: role, disabled.');
        const changed = await updateUser(pool, (await find(params.user)).id, body, clock.now());
        if (!changed) throw noUser(params.user);
        const { before, after } = changed;
        const of = ({ role, disabledAt }: User) => ({ role, disabled: disabledAt !== null });
        audit(request, 'user.update', after, { before: of(before), after: of(after) });
        return { status: 200, body: toView(after) };
      },
    }),
    route({
      ...resetPasswordSchema,
      method: 'POST',
      path: `${path}/password`,
      access: 'platform-admin',
      tag,
      summary: 'Replaces a user’s password and ends the user’s sessions; a one-time one is shown this once.',
      async handle(request) {
        const user = await find(request.params.user);
        const { password, oneTimeUntil, shown } = secretFor(request.body.password);
        const reset = await setPassword(pool, user.id, await passwords.hash(password), { oneTimeUntil });
        if (!reset) throw noUser(request.params.user);
        audit(request, 'user.password.reset', user);
        return { status: 200, body: { ...toView({ ...user, oneTimeUntil }), ...shown } };
      },
    }),
    route({
      ...deleteUserSchema,
      method: 'DELETE',
      path,
      access: 'platform-admin',
      tag,
      summary: 'Deletes a user with all roles, who is signed out at once.',
      async handle(request) {
        const user = await find(request.params.user);
        if (!(await deleteUser(pool, user.id))) throw noUser(request.params.user);
        audit(request, 'user.delete', user);
        return { status: 204 };
      },
    }),
  ];
}

function noUser(idOrEmail: string): Problem {
  return new Problem('not_found', `There is no user "${idOrEmail}".`);
}

/** Something that people can be told apart by; whether mail arrives there is not asked. */
function checkEmail(typed: string): string {
  const email = normaliseEmail(typed);
  if (/^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(email)) return email;
  throw new Problem('invalid_value', `"${email}" is not an e-mail address.`, { details: { field: 'email' } });
}
