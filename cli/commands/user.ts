import { userView, userWithPassword, type UserView } from '../../runtime/contracts/api/users.ts';
import { platformRoles } from '../../runtime/domain/roles.ts';
import { command, type Commands } from '../command.ts';
import { segment } from '../client.ts';
import { apiFlags, yesFlag } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { Failure, usageFailure } from '../failure.ts';
import { choice, toggle } from '../flags.ts';
import { ago, table, type Shown } from '../output.ts';
import { askHidden, confirm, readStdin } from '../prompt.ts';

const pathOf = (user: string) => `/users/${segment(user)}`;
const given = { passwordStdin: toggle('read the password from standard input, instead of a one-time one') };

function shown(users: UserView[], data: unknown, now: Date): Shown {
  return {
    data,
    table: table(users, [
      { title: 'USER', value: ({ email }) => email },
      { title: 'ROLE', value: ({ role }) => role },
      { title: 'STATUS', value: ({ status }) => status },
      { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now) },
    ]),
    names: users.map(({ email }) => email),
  };
}

/** A password that was made is the data of the command: alone on standard output, with the rest on stderr. */
function printPassword(
  context: Context,
  flags: Parameters<Context['api']>[0] & { output: Parameters<Context['print']>[1] },
  user: UserView & { oneTimePassword?: string | undefined },
): void {
  const { email, oneTimePassword } = user;
  if (oneTimePassword === undefined) {
    context.print(shown([user], user, context.clock.now()), flags.output);
    return;
  }
  context.print({ data: user, table: oneTimePassword, names: [email] }, flags.output);
  context.say(
    `this one-time password of ${email} is shown this once, and works for ${daysLeft(user, context)} days: ` +
      `svc login --api ${context.address(flags)} --email ${email}`,
  );
}

function daysLeft({ passwordExpiresAt }: UserView, { clock }: Context): number {
  if (passwordExpiresAt === undefined) return 0;
  return Math.round((Date.parse(passwordExpiresAt) - clock.now().getTime()) / 86_400_000);
}

const create = command({
  name: 'create',
  args: ['email'],
  description: 'Create a user. A one-time password is printed alone on standard output, this once.',
  flags: { role: choice(platformRoles, 'role on the platform (default member)'), ...given, ...apiFlags },
  examples: ['svc user create dana@example.com', 'svc user create ci@example.com --password-stdin < password'],
  async run({ context, args, flags }) {
    const body = {
      email: args.email,
      ...(flags.role !== undefined && { role: flags.role }),
      ...(flags.passwordStdin && { password: await readStdin(context) }),
    };
    printPassword(context, flags, await context.api(flags).call('POST', '/users', userWithPassword, { body }));
  },
});

const list = command({
  name: 'list',
  description: 'List the users.',
  flags: apiFlags,
  examples: ['svc user list', 'svc user list -o json'],
  async run({ context, flags }) {
    const users = await context.api(flags).list('/users', userView);
    context.print(shown(users, users, context.clock.now()), flags.output);
  },
});

const show = command({
  name: 'show',
  args: ['email'],
  description: 'Show a user, by address or id.',
  flags: apiFlags,
  examples: ['svc user show dana@example.com'],
  async run({ context, args, flags }) {
    const user = await context.api(flags).call('GET', pathOf(args.email), userView);
    context.print(shown([user], user, context.clock.now()), flags.output);
  },
});

const update = command({
  name: 'update',
  args: ['email'],
  description: 'Change a user’s role on the platform; disable a user, who is signed out at once, or enable one again.',
  flags: {
    role: choice(platformRoles, 'role on the platform'),
    disable: toggle('may not sign in any more'),
    enable: toggle('may sign in again'),
    ...apiFlags,
  },
  examples: ['svc user update dana@example.com --role admin', 'svc user update dana@example.com --disable'],
  async run({ context, args, flags }) {
    if (flags.disable && flags.enable) throw usageFailure('Give --disable or --enable, not both.');
    const body = {
      ...(flags.role !== undefined && { role: flags.role }),
      ...((flags.disable || flags.enable) && { disabled: flags.disable }),
    };
    if (Object.keys(body).length === 0) throw usageFailure('There is nothing to change.', 'see --help');
    const user = await context.api(flags).call('PATCH', pathOf(args.email), userView, { body });
    context.print(shown([user], user, context.clock.now()), flags.output);
  },
});

const resetPassword = command({
  name: 'reset-password',
  args: ['email'],
  description: 'Replace a user’s password, which ends the user’s sessions; a one-time one is printed this once.',
  flags: { ...given, ...yesFlag, ...apiFlags },
  examples: ['svc user reset-password dana@example.com'],
  async run({ context, args, flags }) {
    // Standard input is the password then, and nobody who could answer.
    if (!flags.passwordStdin) await confirm(context, flags, `Sign ${args.email} out and replace the password?`);
    const body = flags.passwordStdin ? { password: await readStdin(context) } : {};
    const path = `${pathOf(args.email)}/password`;
    printPassword(context, flags, await context.api(flags).call('POST', path, userWithPassword, { body }));
  },
});

const remove = command({
  name: 'delete',
  args: ['email'],
  description: 'Delete a user with all roles, who is signed out at once.',
  flags: { ...yesFlag, api: apiFlags.api },
  examples: ['svc user delete dana@example.com --yes'],
  async run({ context, args, flags }) {
    const { email } = await context.api(flags).call('GET', pathOf(args.email), userView);
    await confirm(context, flags, `Delete user ${email}?`);
    await context.api(flags).send('DELETE', pathOf(args.email));
    context.say(`user ${email} is deleted`);
  },
});

const password = command({
  name: 'password',
  description: 'Change your own password, which ends your other sessions.',
  flags: {
    passwordStdin: toggle('read the current and the new one from standard input, a line each'),
    api: apiFlags.api,
  },
  examples: ['svc user password'],
  async run({ context, flags }) {
    const [currentPassword, newPassword] = flags.passwordStdin ? await readTwo(context) : await askTwo(context);
    await context.api(flags).send('PUT', '/users/me/password', { body: { currentPassword, newPassword } });
    context.say('the password is changed, and your other sessions have ended');
  },
});

async function readTwo(context: Context): Promise<[string, string]> {
  const [current, next, ...rest] = (await readStdin(context)).split(/\r?\n/);
  if (current && next && rest.length === 0) return [current, next];
  throw usageFailure('Standard input holds the current and the new password, a line each.');
}

async function askTwo(context: Context): Promise<[string, string]> {
  const instead = 'give --password-stdin';
  const current = await askHidden(context, 'Current password', instead);
  const next = await askHidden(context, 'New password', instead);
  if ((await askHidden(context, 'New password again', instead)) === next) return [current, next];
  throw new Failure('The two new passwords differ; nothing was changed.', { code: 'not_confirmed' });
}

export const userCommands: Commands = {
  commands: [create, list, show, update, resetPassword, remove, password],
};
