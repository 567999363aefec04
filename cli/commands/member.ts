import { memberView, type MemberView } from '../../runtime/contracts/api/members.ts';
import { projectRoles } from '../../runtime/domain/roles.ts';
import { command, type Commands } from '../command.ts';
import { projectFlags, yesFlag } from '../common-flags.ts';
import { confirmDeletion } from '../deletion.ts';
import { Failure } from '../failure.ts';
import { requiredChoice } from '../flags.ts';
import { defineKind } from '../kind.ts';
import { ago } from '../output.ts';
import { resolveProject } from '../scope.ts';

const memberKind = defineKind<MemberView>({
  name: 'member',
  level: 'project',
  collection: 'members',
  schema: memberView,
  id: ({ email }) => email,
  examples: ['dana@example.com', 'lee@example.com'],
  columns: (_, { now }) => [
    { title: 'ROLE', value: ({ role }) => role },
    { title: 'STATUS', value: ({ disabled }) => (disabled ? 'disabled' : 'active') },
    { title: 'SINCE', value: ({ since }) => ago(since, now) },
  ],
  async read(scope, name) {
    const members = await scope.api.list(scope.path('members'), memberView);
    const member = members.find(({ email, userId }) => email === name.toLowerCase() || userId === name);
    if (member) return member;
    throw new Failure(`Project "${scope.project}" has no member "${name}".`, {
      code: 'not_found',
      hint: `list members: svc member list ${scope.flags}`,
    });
  },
});

const set = command({
  name: 'set',
  args: ['email'],
  description: 'Give a user a role in a project.',
  flags: {
    role: requiredChoice(projectRoles, 'viewers read, deployers also deploy, admins do everything'),
    ...projectFlags,
  },
  data: memberView,
  examples: ['svc member set dana@example.com --role deployer'],
  async run({ context, args, flags }) {
    const { role } = flags;
    const scope = resolveProject(context, flags);
    const member = await scope.api.call('PUT', scope.path('members', args.email), memberView, { body: { role } });
    memberKind.print(context, member, flags.output);
  },
});

const remove = command({
  name: 'remove',
  args: ['...emails'],
  description: 'Remove users from a project.',
  flags: { ...yesFlag, ...projectFlags },
  examples: ['svc member remove dana@example.com', 'svc member remove dana@example.com lee@example.com --yes'],
  async run({ context, args, flags }) {
    const scope = resolveProject(context, flags);
    const deletion = { kind: memberKind, scope, names: args.emails, verb: 'Remove' };
    for (const { name, view } of await confirmDeletion(context, flags, deletion)) {
      await scope.api.send('DELETE', memberKind.path(scope, name));
      context.say(`${view.email} is removed from ${scope.project}`);
    }
  },
});

export const memberCommands: Commands = { commands: [memberKind.list, set, remove] };
