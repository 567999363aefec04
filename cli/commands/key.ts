import { keyCreated, keyView, type KeyView } from '../../runtime/contracts/api/keys.ts';
import { command, type Command, type Group } from '../command.ts';
import { scopeFlags, yesFlag } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { parseDuration, requiredText, text, texts } from '../flags.ts';
import { ago, fields, table, type Shown } from '../output.ts';
import { placeOf } from '../place.ts';
import { confirm } from '../prompt.ts';

function stateOf({ enabled, expiresAt }: KeyView, now: Date): string {
  if (expiresAt !== undefined && Date.parse(expiresAt) <= now.getTime()) return 'expired';
  return enabled ? 'enabled' : 'disabled';
}

function scopeOf({ apps }: KeyView): string {
  return apps === undefined ? 'all' : apps.join(', ');
}

function shown(key: KeyView, now: Date): Shown {
  return {
    data: key,
    table: fields([
      ['Key', key.handle],
      ['Name', key.name],
      ['Plan', key.plan],
      ['Apps', scopeOf(key)],
      ['Status', stateOf(key, now)],
      ['Expires', key.expiresAt],
      ['Created', ago(key.createdAt, now)],
      ['Created by', key.createdBy],
      ['ID', key.id],
    ]),
    names: [key.handle],
  };
}

/** A date is valid through its end in UTC (spec.md §2.2); a duration counts from now. */
function expiryOf(typed: string, now: Date): string {
  if (/^\d{4}-\d{2}-\d{2}$/.test(typed)) return `${typed}T23:59:59.999Z`;
  const seconds = parseDuration(typed);
  if (seconds !== undefined) return new Date(now.getTime() + seconds * 1000).toISOString();
  if (!/T/.test(typed) || Number.isNaN(Date.parse(typed))) {
    throw usageFailure(`--expires takes a date, a time as in RFC 3339, or a duration such as 30d; not "${typed}".`);
  }
  return typed;
}

const create = command({
  name: 'create',
  description: 'Create an API key. The key is printed alone on standard output, this once.',
  flags: {
    plan: requiredText('<plan>', 'name or id of its plan'),
    name: text('<text>', 'who or what it is for'),
    app: texts('<app>', 'limit it to this app'),
    expires: text('<when>', 'date (2027-01-31), time (RFC 3339) or duration (30d); default never'),
    ...scopeFlags,
  },
  examples: [
    "svc key create --plan small --name 'first customer'",
    'svc key create --plan small --app api --expires 2027-01-31 > key.txt',
  ],
  async run({ context, flags }) {
    const place = placeOf(context, flags);
    const body = {
      plan: flags.plan,
      ...(flags.name !== undefined && { name: flags.name }),
      ...(flags.app.length > 0 && { apps: flags.app }),
      ...(flags.expires !== undefined && { expiresAt: expiryOf(flags.expires, context.clock.now()) }),
    };
    const created = await place.api.call('POST', place.path('api-keys'), keyCreated, { query: place.query, body });
    context.print({ data: created, table: created.key, names: [created.handle] }, flags.output);
    context.say(`this is the only time that the key ${created.handle} is shown; it goes into the header X-API-Key`);
  },
});

const list = command({
  name: 'list',
  description: 'List the API keys of an environment.',
  flags: scopeFlags,
  examples: ['svc key list', 'svc key list -o json'],
  async run({ context, flags }) {
    const place = placeOf(context, flags);
    const items = await place.api.list(place.path('api-keys'), keyView, place.query);
    const now = context.clock.now();
    context.print(
      {
        data: { items },
        table: table(items, [
          { title: 'KEY', value: ({ handle }) => handle },
          { title: 'NAME', value: ({ name }) => name },
          { title: 'PLAN', value: ({ plan }) => plan },
          { title: 'APPS', value: scopeOf },
          { title: 'STATUS', value: (key) => stateOf(key, now) },
          { title: 'EXPIRES', value: ({ expiresAt }) => expiresAt },
          { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now) },
        ]),
        names: items.map(({ handle }) => handle),
      },
      flags.output,
    );
  },
});

const show = command({
  name: 'show',
  args: ['key'],
  description: 'Show an API key, by handle or id.',
  flags: scopeFlags,
  examples: ['svc key show k3x9q2ab'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const key = await place.api.call('GET', place.path('api-keys', args.key), keyView, { query: place.query });
    context.print(shown(key, context.clock.now()), flags.output);
  },
});

function switchCommand(enabled: boolean): Command {
  const name = enabled ? 'enable' : 'disable';
  return command({
    name,
    args: ['key'],
    description: enabled
      ? 'Let an API key, by handle or id, open apps again.'
      : 'Stop an API key, by handle or id; the gate follows within seconds.',
    flags: scopeFlags,
    examples: [`svc key ${name} k3x9q2ab`],
    async run({ context, args, flags }) {
      const place = placeOf(context, flags);
      const options = { query: place.query, body: { enabled } };
      const key = await place.api.call('PATCH', place.path('api-keys', args.key), keyView, options);
      context.print(shown(key, context.clock.now()), flags.output);
    },
  });
}

const revoke = command({
  name: 'revoke',
  args: ['key'],
  description: 'Delete an API key, by handle or id, for good; the gate follows within seconds.',
  flags: { ...yesFlag, ...scopeFlags },
  examples: ['svc key revoke k3x9q2ab --yes'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    await confirm(context, flags, `Revoke key ${args.key} for good?`);
    await place.api.send('DELETE', place.path('api-keys', args.key), { query: place.query });
    context.say(`key ${args.key} is revoked`);
  },
});

export const keyGroup: Group = {
  name: 'key',
  description: 'API keys of consumers.',
  commands: [create, list, show, switchCommand(true), switchCommand(false), revoke],
};
