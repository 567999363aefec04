import { memberView, type MemberView } from '../../runtime/contracts/api/members.ts';
import { projectRoles } from '../../runtime/domain/roles.ts';
import { command, type Commands } from '../command.ts';
import { apiFlags, scopeFlags, yesFlag } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { choice } from '../flags.ts';
import { ago, table, type Shown } from '../output.ts';
import { placeOf } from '../place.ts';
import { confirm } from '../prompt.ts';

/** Roles are the project's: no environment. */
const projectFlags = { project: scopeFlags.project, ...apiFlags };

function shown(members: MemberView[], data: unknown, now: Date): Shown {
  return {
    data,
    table: table(members, [
      { title: 'MEMBER', value: ({ email }) => email },
      { title: 'ROLE', value: ({ role }) => role },
      { title: 'STATUS', value: ({ disabled }) => (disabled ? 'disabled' : 'active') },
      { title: 'SINCE', value: ({ since }) => ago(since, now) },
    ]),
    names: members.map(({ email }) => email),
  };
}

const list = command({
  name: 'list',
  description: 'List the members of a project.',
  flags: projectFlags,
  examples: ['svc member list', 'svc member list --project shop -o json'],
  async run({ context, flags }) {
    const place = placeOf(context, { ...flags, environment: undefined });
    const members = await place.api.list(place.path('members'), memberView);
    context.print(shown(members, members, context.clock.now()), flags.output);
  },
});

const set = command({
  name: 'set',
  args: ['email'],
  description: 'Give a user a role in a project: viewers read, deployers deploy, admins may do everything in it.',
  flags: { role: choice(projectRoles, 'role (required)'), ...projectFlags },
  examples: ['svc member set dana@example.com --role deployer'],
  async run({ context, args, flags }) {
    const { role } = flags;
    if (role === undefined) throw usageFailure(`--role <${projectRoles.join('|')}> is required.`);
    const place = placeOf(context, { ...flags, environment: undefined });
    const member = await place.api.call('PUT', place.path('members', args.email), memberView, { body: { role } });
    context.print(shown([member], member, context.clock.now()), flags.output);
  },
});

const remove = command({
  name: 'remove',
  args: ['email'],
  description: 'Take a user’s role in a project.',
  flags: { ...yesFlag, project: scopeFlags.project, api: apiFlags.api },
  examples: ['svc member remove dana@example.com --yes'],
  async run({ context, args, flags }) {
    const place = placeOf(context, { ...flags, environment: undefined });
    await confirm(context, flags, `Remove ${args.email} from ${place.project}?`);
    await place.api.send('DELETE', place.path('members', args.email));
    context.say(`${args.email} is no member of ${place.project} any more`);
  },
});

export const memberCommands: Commands = {
  commands: [list, set, remove],
};
