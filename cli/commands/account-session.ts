import { accountSession, sessionsEnded, type AccountSession } from '../../runtime/contracts/api/sessions.ts';
import { command, type Commands } from '../command.ts';
import { apiFlags, yesFlag } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { toggle } from '../flags.ts';
import { ago, ageColumn, table, type Column } from '../output.ts';
import { confirm } from '../prompt.ts';
import { resolvePlatform } from '../scope.ts';

const list = command({
  name: 'list',
  description: 'List where you are signed in. * marks the session of this command.',
  flags: apiFlags,
  data: accountSession,
  watch: true,
  examples: ['svc session list', 'svc session list -o json'],
  async run({ context, flags }) {
    const scope = resolvePlatform(context, flags);
    const sessions = await scope.api.list(scope.path('account/sessions'), accountSession);
    const now = context.clock.now();
    const columns: Column<AccountSession>[] = [
      { title: 'SESSION', value: ({ id, current }) => `${id}${current ? ' *' : ''}` },
      { title: 'CLIENT', value: ({ client }) => client },
      { title: 'LAST USED', value: ({ lastUsedAt }) => (lastUsedAt === undefined ? undefined : ago(lastUsedAt, now)) },
      ageColumn(now),
      { title: 'EXPIRES', value: ({ expiresAt }) => expiresAt },
    ];
    context.print(
      { data: sessions, table: table(sessions, columns), names: sessions.map(({ id }) => id) },
      flags.output,
    );
  },
});

const end = command({
  name: 'end',
  args: ['session?'],
  description: 'End a session, by ID, or all others with --others. Its token stops working.',
  flags: { others: toggle('end all sessions except that of this command'), ...yesFlag, ...apiFlags },
  examples: ['svc session end 019a0000-0000-7000-8000-000000000001', 'svc session end --others --yes'],
  async run({ context, args, flags }) {
    const { session } = args;
    if ((session === undefined) !== flags.others) throw usageFailure('Name a session, or use --others.');
    const scope = resolvePlatform(context, flags);
    if (session !== undefined) {
      await confirm(context, flags, `End the session ${session}?`);
      await scope.api.send('DELETE', scope.path('account/sessions', session));
      context.say(`session ${session} has ended`);
      return;
    }
    await confirm(context, flags, 'End all of your other sessions?');
    const { ended } = await scope.api.call('DELETE', scope.path('account/sessions'), sessionsEnded);
    context.say(ended === 1 ? '1 session has ended' : `${ended} sessions have ended`);
  },
});

export const sessionCommands: Commands = { commands: [list, end] };
