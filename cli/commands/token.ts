import { tokenCreated, tokenView, type TokenView } from '../../runtime/contracts/api/tokens.ts';
import { tokenScopes, type TokenScope } from '../../runtime/domain/token-scopes.ts';
import type { Tone } from '../colour.ts';
import { command, type Command, type Commands } from '../command.ts';
import { projectFlags, yesFlag } from '../common-flags.ts';
import { confirmDeletion } from '../deletion.ts';
import { expiryTime } from '../expiry.ts';
import { usageFailure } from '../failure.ts';
import { text, texts } from '../flags.ts';
import { defineKind } from '../kind.ts';
import { ago } from '../output.ts';
import { resolveProject } from '../scope.ts';

const statusText: Readonly<Record<TokenView['status'], string>> = {
  active: 'active',
  expired: 'expired',
  inactive: 'its user is disabled or has no role',
};

const toneOf = ({ status }: TokenView): Tone | undefined => (status === 'active' ? undefined : 'danger');
const lastUse = ({ lastUsedAt }: TokenView, now: Date) => (lastUsedAt === undefined ? 'never' : ago(lastUsedAt, now));

/** Access tokens; they are revoked, so that {@link revoke} replaces the usual deletion. */
const tokenKind = defineKind<TokenView>({
  name: 'token',
  plural: 'tokens',
  article: 'an',
  level: 'project',
  collection: 'tokens',
  schema: tokenView,
  id: ({ name }) => name,
  examples: ['ci', 'assistant'],
  columns: (_, { now }) => [
    { title: 'SCOPES', value: ({ scopes }) => scopes.join(',') },
    { title: 'ENVIRONMENT', value: ({ environment }) => environment ?? 'all' },
    { title: 'STATUS', value: ({ status }) => statusText[status], tone: toneOf },
    { title: 'EXPIRES', value: ({ expiresAt }) => expiresAt },
    { title: 'LAST USED', value: (view) => lastUse(view, now) },
    { title: 'CREATED BY', value: ({ createdBy }) => createdBy },
  ],
  details(view, { now }) {
    return [
      ['Token', view.name],
      ['Begins with', `svct_${view.handle}_`],
      ['Scopes', view.scopes.join(', ')],
      ['Environment', view.environment ?? 'all'],
      ['Status', statusText[view.status], toneOf(view)],
      ['Expires', view.expiresAt],
      ['Last used', lastUse(view, now)],
      ['Created', ago(view.createdAt, now)],
      ['Acts for', view.createdBy],
      ['ID', view.id],
    ];
  },
  help: {
    list: 'List the access tokens of a project with their last use.',
    show: 'Show an access token, by name or ID.',
  },
});

/** The scopes of a flag that is repeated or lists them: `deploy,logs:read`. */
function scopesOf(values: readonly string[]): TokenScope[] {
  const names = values.flatMap((value) => value.split(',')).map((name) => name.trim());
  if (names.length === 0) throw usageFailure(`--scope is required: one or more of ${tokenScopes.join(', ')}.`);
  return names.map((name) => {
    const scope = tokenScopes.find((candidate) => candidate === name);
    if (scope) return scope;
    throw usageFailure(`--scope must be one or more of ${tokenScopes.join(', ')}, not "${name}".`);
  });
}

const create = command({
  name: 'create',
  args: ['name'],
  description: 'Create an access token for a program, and print it once on standard output.',
  flags: {
    scope: texts('<scopes>', `what the token may do: ${tokenScopes.join(', ')} (required)`),
    environment: text('<environment>', 'limit the token to this environment (default: all)', { short: 'e' }),
    expires: text('<when>', 'expiry: date, time or duration, at most 366d (default 90d)'),
    ...projectFlags,
  },
  data: tokenCreated,
  examples: [
    'svc token create ci --project shop --environment prod --scope deploy,logs:read',
    'svc token create assistant --scope read --expires 30d > token.txt',
  ],
  async run({ context, args, flags }) {
    const scope = resolveProject(context, flags);
    const body = {
      name: args.name,
      scopes: scopesOf(flags.scope),
      ...(flags.environment !== undefined && { environment: flags.environment }),
      ...(flags.expires !== undefined && { expiresAt: expiryTime(flags.expires, context.clock.now()) }),
    };
    const created = await scope.api.call('POST', scope.path('tokens'), tokenCreated, { body });
    context.print({ data: created, table: created.token, names: [created.name] }, flags.output);
    context.say(`store the token ${created.name} now, it is not shown again; it expires at ${created.expiresAt}`);
    context.say(
      `programs use it with SVC_TOKEN=<token> SVC_API=${context.address(flags)} SVC_PROJECT=${scope.project}`,
    );
  },
});

/** The same command under the name of the field and the name that all other things have. */
function revokeCommand(name: string): Command {
  return command({
    name,
    args: ['...tokens'],
    description: 'Revoke access tokens permanently, by name or ID.',
    flags: { ...yesFlag, ...projectFlags },
    examples: [`svc token ${name} ci`, `svc token ${name} ci assistant --yes`],
    async run({ context, args, flags }) {
      const scope = resolveProject(context, flags);
      const deletion = { kind: tokenKind, scope, names: args.tokens, verb: 'Permanently revoke' };
      for (const { name: token, view } of await confirmDeletion(context, flags, deletion)) {
        await scope.api.send('DELETE', tokenKind.path(scope, token));
        context.say(`token ${view.name} is revoked`);
      }
    },
  });
}

export const tokenCommands: Commands = {
  commands: [create, tokenKind.list, tokenKind.show, revokeCommand('revoke'), revokeCommand('delete')],
};
