import type { Pool } from 'pg';
import { z } from 'zod';
import type { UserView } from '../../runtime/contracts/api/users.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Project } from '../../runtime/contracts/resources/project.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { checkEmail } from '../../runtime/domain/email.ts';
import { newId, type Id } from '../../runtime/domain/ids.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import { checkPassword, generatePassword } from '../../runtime/domain/password.ts';
import { dayMs } from '../../runtime/domain/period.ts';
import { Problem, tooManyAttempts } from '../../runtime/domain/problem.ts';
import { pageOfRows } from '../../runtime/http/page.ts';
import { route, sessionOf, type Route } from '../../runtime/http/route.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { listOnlyAdminOf } from '../../runtime/records/members.ts';
import {
  deleteUser,
  findUserByEmail,
  findUserById,
  insertUser,
  listUsers,
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

/** Lifetime of a one-time password. */
const oneTimeMs = 7 * dayMs;

export interface UserDependencies {
  pool: Pool;
  kube: Pick<KubeClient, 'list'>;
  clock: Clock;
  passwords: {
    hash(password: string, account: string): Promise<string>;
    verify(password: string, stored: string | undefined, account: string): Promise<boolean>;
  };
  /** Also limits password changes, so that a stolen session cannot be used to guess the password. */
  loginLimit: {
    take(account: string, guesser: { own: string }): Promise<number>;
    clear(account: string, guesser: { own: string }): Promise<void>;
  };
}

const tag = 'users';
const path = '/users/:user';

function toView({ id, email, role, disabledAt, oneTimeUntil, createdAt }: User): UserView {
  return {
    id,
    email,
    role,
    status: disabledAt ? 'disabled' : oneTimeUntil ? 'invited' : 'active',
    ...(oneTimeUntil && !disabledAt && { passwordExpiresAt: oneTimeUntil.toISOString() }),
    createdAt: createdAt.toISOString(),
  };
}

/** The fields of an audit entry about a user. */
function auditOf({ id, email }: Pick<User, 'id' | 'email'>, changes?: object) {
  return { user: { id, email }, ...(changes && { changes }) };
}

/** `/users`: user management for platform admins, and every user's own password. */
export function createUserRoutes({ pool, kube, clock, passwords, loginLimit }: UserDependencies): Route[] {
  const find = async (idOrEmail: string): Promise<User> => {
    const byId = z.uuid().safeParse(idOrEmail).success;
    const user = await (byId ? findUserById(pool, idOrEmail) : findUserByEmail(pool, idOrEmail));
    if (!user) throw noUser(idOrEmail);
    return user;
  };
  /** The names of the projects whose only admin is the user, sorted. */
  const onlyAdminOf = async (userId: Id): Promise<string[]> => {
    const ids = new Set<string | undefined>(await listOnlyAdminOf(pool, userId));
    if (ids.size === 0) return [];
    const { items } = await kube.list<Project>(kinds.Project);
    return items.flatMap(({ metadata: { name, labels } }) => (ids.has(labels?.[idLabel]) ? [name] : [])).sort();
  };
  /** A chosen password, or a generated one-time password, which the response shows. */
  const newPassword = (requestedPassword: string | undefined, email: string) => {
    const password = requestedPassword === undefined ? generatePassword() : checkPassword(requestedPassword, { email });
    const oneTimeUntil = requestedPassword === undefined ? new Date(clock.now().getTime() + oneTimeMs) : null;
    return {
      password,
      oneTimeUntil,
      oneTimeFields: requestedPassword === undefined ? { oneTimePassword: password } : {},
    };
  };

  return [
    route({
      ...createUserSchema,
      method: 'POST',
      path: '/users',
      access: 'platform-admin',
      tag,
      summary: 'Creates a user. Without a password, the response contains a one-time password.',
      audit: 'user.create',
      async handle(request) {
        const { role, password: requestedPassword } = request.body;
        const email = checkEmail(request.body.email);
        const { password, oneTimeUntil, oneTimeFields } = newPassword(requestedPassword, email);
        const passwordHash = await passwords.hash(password, sessionOf(request).email);
        const user = await insertUser(pool, { id: newId(), email, passwordHash, role, oneTimeUntil });
        if (!user) throw new Problem('already_exists', `There is already a user "${email}".`);
        return { status: 201, body: { ...toView(user), ...oneTimeFields }, audit: auditOf(user, { role }) };
      },
    }),
    route({
      ...listUsersSchema,
      method: 'GET',
      path: '/users',
      access: 'platform-admin',
      tag,
      summary: 'Lists the users by email address.',
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
      summary: 'Changes your password and ends your other sessions.',
      audit: 'user.password.change',
      async handle(request) {
        const { body, log, clientAddress } = request;
        const { userId, sessionId, email } = sessionOf(request);
        checkPassword(body.newPassword, { email, field: 'newPassword' });
        if (body.newPassword === body.currentPassword) {
          throw new Problem('invalid_value', 'The new password is the same as the current one. Choose another.', {
            details: { field: 'newPassword' },
          });
        }
        const guesser = { own: sessionId };
        const wait = await loginLimit.take(email, guesser);
        if (wait > 0) throw tooManyAttempts(wait);
        const user = await findUserById(pool, userId);
        const proven = await passwords.verify(body.currentPassword, user?.passwordHash, email);
        if (!user || !proven) {
          log.warn({ email, clientAddress }, 'password change failed');
          throw new Problem('invalid_value', 'The current password is wrong.', {
            details: { field: 'currentPassword' },
          });
        }
        const changed = await setPassword(pool, userId, await passwords.hash(body.newPassword, email), {
          provenHash: user.passwordHash,
          keepSession: sessionId,
        });
        if (!changed)
          throw new Problem('conflict', 'Another request changed the password at the same time. Try again.');
        await loginLimit.clear(email, guesser);
        return { status: 204, audit: auditOf(user) };
      },
    }),
    route({
      ...getUserSchema,
      method: 'GET',
      path,
      access: 'platform-admin',
      tag,
      summary: 'Shows a user, by email address or id.',
      async handle({ params }) {
        const user = await find(params.user);
        return { status: 200, body: { ...toView(user), onlyAdminOf: await onlyAdminOf(user.id) } };
      },
    }),
    route({
      ...updateUserSchema,
      method: 'PATCH',
      path,
      access: 'platform-admin',
      tag,
      summary: 'Changes a user’s role, or disables the user, which ends the user’s sessions.',
      audit: 'user.update',
      async handle(request) {
        const { params, body } = request;
        if (Object.keys(body).length === 0)
          throw new Problem('invalid_request', 'The request changes nothing. Set role or disabled.');
        const changed = await updateUser(pool, (await find(params.user)).id, body, clock.now());
        if (!changed) throw noUser(params.user);
        const { before, after } = changed;
        const state = ({ role, disabledAt }: User) => ({ role, disabled: disabledAt !== null });
        const audit = auditOf(after, { before: state(before), after: state(after) });
        return { status: 200, body: toView(after), audit };
      },
    }),
    route({
      ...resetPasswordSchema,
      method: 'POST',
      path: `${path}/password`,
      access: 'platform-admin',
      tag,
      summary:
        'Resets a user’s password and ends the user’s sessions. Without a password, the response contains a one-time password.',
      audit: 'user.password.reset',
      async handle(request) {
        const user = await find(request.params.user);
        const { password, oneTimeUntil, oneTimeFields } = newPassword(request.body.password, user.email);
        const passwordHash = await passwords.hash(password, sessionOf(request).email);
        const reset = await setPassword(pool, user.id, passwordHash, { oneTimeUntil });
        if (!reset) throw noUser(request.params.user);
        return { status: 200, body: { ...toView({ ...user, oneTimeUntil }), ...oneTimeFields }, audit: auditOf(user) };
      },
    }),
    route({
      ...deleteUserSchema,
      method: 'DELETE',
      path,
      access: 'platform-admin',
      tag,
      summary: 'Deletes a user with all roles and sessions.',
      audit: 'user.delete',
      async handle(request) {
        const user = await find(request.params.user);
        if (!(await deleteUser(pool, user.id))) throw noUser(request.params.user);
        return { status: 204, audit: auditOf(user) };
      },
    }),
  ];
}

function noUser(idOrEmail: string): Problem {
  return new Problem('not_found', `There is no user "${idOrEmail}".`);
}
