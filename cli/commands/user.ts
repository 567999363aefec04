import { userView, userWithPassword, type UserView } from '../../runtime/contracts/api/users.ts';
import { platformRoles } from '../../runtime/domain/roles.ts';
import { command, type Commands } from '../command.ts';
import { segment } from '../client.ts';
import { apiFlags, yesFlag } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { Failure, usageFailure } from '../failure.ts';
import { choice, toggle } from '../flags.ts';
import { defineKind } from '../kind.ts';
import { ageColumn } from '../output.ts';
import { resolvePlatform } from '../scope.ts';
import { askHidden, confirm, readStdin } from '../prompt.ts';

const userKind = defineKind<UserView>({
  name: 'user',
  level: 'platform',
  collection: 'users',
  schema: userView,
  id: ({ email }) => email,
  examples: ['dana@example.com', 'lee@example.com'],
  columns: (_, { now }) => [
    { title: 'ROLE', value: ({ role }) => role },
    { title: 'STATUS', value: ({ status }) => status },
    ageColumn(now),
  ],
  help: {
    list: 'List the users.',
    show: 'Show a user, by address or ID.',
    delete: 'Delete users and their roles, and end their sessions.',
  },
  consequence: ({ email, onlyAdminOf = [] }) => {
    const [first] = onlyAdminOf;
    if (first === undefined) return undefined;
    const projects = `${onlyAdminOf.length === 1 ? 'project' : 'projects'} ${onlyAdminOf.join(', ')}`;
    const set = `svc member set <email> --role admin --project ${first}`;
    const rest = onlyAdminOf.length === 1 ? 'it' : 'them';
    return `${email} is the only admin of the ${projects}; without the user, only platform admins can manage ${rest}. Set another admin first: ${set}`;
  },
  immediate: true,
});

const passwordFlag = { passwordStdin: toggle('read the password from standard input (default: generate one)') };

/** Prints a generated password alone on standard output, and the rest on stderr. */
function printPassword(
  context: Context,
  flags: Parameters<Context['api']>[0] & { output: Parameters<Context['print']>[1] },
  user: UserView & { oneTimePassword?: string | undefined },
): void {
  const { email, oneTimePassword } = user;
  if (oneTimePassword === undefined) {
    userKind.print(context, user, flags.output);
    return;
  }
  context.print({ data: user, table: oneTimePassword, names: [email] }, flags.output);
  context.say(
    `store the one-time password of ${email} now, it is not shown again and expires in ${daysLeft(user, context)} days: ` +
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
  description: 'Create a user, and print a one-time password.',
  flags: { role: choice(platformRoles, 'role on the platform (default member)'), ...passwordFlag, ...apiFlags },
  data: userWithPassword,
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

const update = command({
  name: 'update',
  args: ['email'],
  description: 'Change the role of a user, or disable or enable a user.',
  flags: {
    role: choice(platformRoles, 'role on the platform'),
    disable: toggle('disable the user and end their sessions'),
    enable: toggle('enable the user'),
    ...apiFlags,
  },
  data: userView,
  examples: ['svc user update dana@example.com --role admin', 'svc user update dana@example.com --disable'],
  async run({ context, args, flags }) {
    if (flags.disable && flags.enable) throw usageFailure('Use either --disable or --enable.');
    const body = {
      ...(flags.role !== undefined && { role: flags.role }),
      ...((flags.disable || flags.enable) && { disabled: flags.disable }),
    };
    if (Object.keys(body).length === 0) throw usageFailure('Nothing to change.', 'see svc user update --help');
    const user = await userKind.update(resolvePlatform(context, flags), args.email, body);
    userKind.print(context, user, flags.output);
  },
});

const resetPassword = command({
  name: 'reset-password',
  args: ['email'],
  description: 'Reset the password of a user, end their sessions, and print a new one.',
  flags: { ...passwordFlag, ...yesFlag, ...apiFlags },
  examples: ['svc user reset-password dana@example.com'],
  async run({ context, args, flags }) {
    // Standard input contains the password, so the command cannot read a confirmation from it.
    if (!flags.passwordStdin) await confirm(context, flags, `Sign ${args.email} out and replace the password?`);
    const body = flags.passwordStdin ? { password: await readStdin(context) } : {};
    const path = `/users/${segment(args.email)}/password`;
    printPassword(context, flags, await context.api(flags).call('POST', path, userWithPassword, { body }));
  },
});

const password = command({
  name: 'password',
  description: 'Change your password and end your other sessions.',
  flags: {
    passwordStdin: toggle('read the current and the new password as two lines from standard input'),
    api: apiFlags.api,
    context: apiFlags.context,
  },
  examples: ['svc user password'],
  async run({ context, flags }) {
    const [currentPassword, newPassword] = flags.passwordStdin ? await readTwo(context) : await askTwo(context);
    await context.api(flags).send('PUT', '/users/me/password', { body: { currentPassword, newPassword } });
    context.say('your password is changed; your other sessions have ended');
  },
});

async function readTwo(context: Context): Promise<[string, string]> {
  const [current, next, ...rest] = (await readStdin(context)).split(/\r?\n/);
  if (current && next && rest.length === 0) return [current, next];
  throw usageFailure('Standard input must have two lines: the current and the new password.');
}

async function askTwo(context: Context): Promise<[string, string]> {
  const hint = 'use --password-stdin';
  const current = await askHidden(context, 'Current password', hint);
  const next = await askHidden(context, 'New password', hint);
  if ((await askHidden(context, 'New password again', hint)) === next) return [current, next];
  throw new Failure('The new passwords do not match. Nothing was changed.', { code: 'not_confirmed' });
}

export const userCommands: Commands = {
  commands: [create, userKind.list, userKind.show, update, resetPassword, userKind.delete, password],
};
