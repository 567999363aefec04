import { keyChanged, keyCreated, keyRevoked, keyRotated, keyView } from '../../runtime/contracts/api/keys.ts';
import { paintFor } from '../colour.ts';
import { command, type Command, type Commands } from '../command.ts';
import { scopeFlags, unaskedFlag, yesFlag } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { parseDuration, requiredText, text, textOrNone, texts, toggle } from '../flags.ts';
import { gateWaitFlag, sayProgress } from '../gate-progress.ts';
import { shownKey, shownKeys } from '../key-view.ts';
import { placeOf } from '../place.ts';
import { confirm } from '../prompt.ts';
import { keyUsageCommand } from './key-usage.ts';

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

const when = 'date (2027-01-31, through its end in UTC), time (RFC 3339) or duration (30d)';

const create = command({
  name: 'create',
  description: 'Create an API key. The key is printed alone on standard output, this once.',
  flags: {
    plan: requiredText('<plan>', 'name or id of its plan'),
    name: text('<text>', 'who or what it is for'),
    app: texts('<app>', 'limit it to this app or function'),
    allow: texts('<cidr>', 'limit it to clients in this network, or at this address'),
    expires: text('<when>', `${when}; default never`),
    ...scopeFlags,
  },
  examples: [
    "svc key create --plan small --name 'first customer'",
    'svc key create --plan small --app api --expires 2027-01-31 > key.txt',
    'svc key create --plan small --allow 192.0.2.0/24',
  ],
  async run({ context, flags }) {
    const place = placeOf(context, flags);
    const body = {
      plan: flags.plan,
      ...(flags.name !== undefined && { name: flags.name }),
      ...(flags.app.length > 0 && { apps: flags.app }),
      ...(flags.allow.length > 0 && { allowedCidrs: flags.allow }),
      ...(flags.expires !== undefined && { expiresAt: expiryOf(flags.expires, context.clock.now()) }),
    };
    const created = await place.api.call('POST', place.path('api-keys'), keyCreated, { query: place.query, body });
    context.print({ data: created, table: created.key, names: [created.handle] }, flags.output);
    context.say(`this is the only time that the key ${created.handle} is shown; it goes into the header X-API-Key`);
  },
});

const list = command({
  name: 'list',
  description: 'List the API keys of an environment, with what the gate decided about them in the last 90 days.',
  flags: scopeFlags,
  examples: ['svc key list', 'svc key list -o json'],
  async run({ context, flags }) {
    const place = placeOf(context, flags);
    const items = await place.api.list(place.path('api-keys'), keyView, place.query);
    context.print(shownKeys(items, context.clock.now(), paintFor(context)), flags.output);
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
    context.print(shownKey(key, context.clock.now(), paintFor(context)), flags.output);
  },
});

const update = command({
  name: 'update',
  args: ['key'],
  description: 'Change an API key, by handle or id; the gate follows within seconds.',
  flags: {
    plan: text('<plan>', 'name or id of its plan'),
    name: textOrNone('<text>', 'who or what it is for; empty for no name'),
    app: texts('<app>', 'limit it to this app or function'),
    allApps: toggle('let it open every app of its environment'),
    allow: texts('<cidr>', 'limit it to clients in this network, or at this address'),
    allowAll: toggle('let clients of every address use it'),
    expires: text('<when>', `${when}, or never`),
    ...gateWaitFlag,
    ...scopeFlags,
  },
  examples: ['svc key update k3x9q2ab --plan large', 'svc key update k3x9q2ab --expires never --all-apps'],
  async run({ context, args, flags }) {
    const { plan, name, app, allApps, allow, allowAll, expires } = flags;
    if (allApps && app.length > 0) throw usageFailure('Give either --app or --all-apps.');
    if (allowAll && allow.length > 0) throw usageFailure('Give either --allow or --allow-all.');
    const body = {
      ...(plan !== undefined && { plan }),
      ...(name !== undefined && { name: name === '' ? null : name }),
      ...((allApps || app.length > 0) && { apps: allApps ? null : app }),
      ...((allowAll || allow.length > 0) && { allowedCidrs: allowAll ? null : allow }),
      ...(expires !== undefined && { expiresAt: expires === 'never' ? null : expiryOf(expires, context.clock.now()) }),
    };
    if (Object.keys(body).length === 0) throw usageFailure('There is nothing to change.', 'see --help');
    const place = placeOf(context, flags);
    const options = { query: place.query, body };
    const key = await place.api.call('PATCH', place.path('api-keys', args.key), keyChanged, options);
    context.print(shownKey(key, context.clock.now(), paintFor(context)), flags.output);
    await sayProgress(context, flags, place.api, key.change, 'in force');
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
    flags: { ...unaskedFlag, ...gateWaitFlag, ...scopeFlags },
    examples: [`svc key ${name} k3x9q2ab`],
    async run({ context, args, flags }) {
      const place = placeOf(context, flags);
      const options = { query: place.query, body: { enabled } };
      const key = await place.api.call('PATCH', place.path('api-keys', args.key), keyChanged, options);
      context.print(shownKey(key, context.clock.now(), paintFor(context)), flags.output);
      await sayProgress(context, flags, place.api, key.change, `${name}d`);
    },
  });
}

const rotate = command({
  name: 'rotate',
  args: ['key'],
  description:
    'Put a new API key in the place of another, by handle or id. The new key is printed alone on standard output, this once.',
  flags: {
    grace: text('<duration>', 'how long the old key goes on, such as 12h or 7d; 0 ends it at once (default 1d)'),
    expires: text('<when>', `expiry of the new key: ${when}; default that of the old one`),
    ...gateWaitFlag,
    ...scopeFlags,
  },
  examples: ['svc key rotate k3x9q2ab > key.txt', 'svc key rotate k3x9q2ab --grace 0'],
  async run({ context, args, flags }) {
    const graceSeconds = flags.grace === undefined ? undefined : parseDuration(flags.grace);
    if (flags.grace !== undefined && graceSeconds === undefined) {
      throw usageFailure(`--grace takes a duration such as 0, 12h or 7d; not "${flags.grace}".`);
    }
    const body = {
      ...(graceSeconds !== undefined && { graceSeconds }),
      ...(flags.expires !== undefined && { expiresAt: expiryOf(flags.expires, context.clock.now()) }),
    };
    const place = placeOf(context, flags);
    const path = place.path('api-keys', args.key, 'rotate');
    const rotated = await place.api.call('POST', path, keyRotated, { query: place.query, body });
    const { handle, replaces } = rotated;
    context.print({ data: rotated, table: rotated.key, names: [handle] }, flags.output);
    context.say(
      `this is the only time that the key ${handle} is shown; the old key ${replaces.handle} ends at ${replaces.expiresAt}`,
    );
    await sayProgress(context, flags, place.api, rotated.change, 'in force');
  },
});

const revoke = command({
  name: 'revoke',
  args: ['key'],
  description: 'Delete an API key, by handle or id, for good; the gate follows within seconds.',
  flags: { ...yesFlag, ...gateWaitFlag, ...scopeFlags },
  examples: ['svc key revoke k3x9q2ab --yes'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    await confirm(context, flags, `Revoke key ${args.key} for good?`);
    const path = place.path('api-keys', args.key);
    const revoked = await place.api.call('DELETE', path, keyRevoked, { query: place.query });
    context.print({ data: revoked, table: '', names: [revoked.handle] }, flags.output);
    context.say(`key ${revoked.handle} is revoked`);
    await sayProgress(context, flags, place.api, revoked.change, 'revoked');
  },
});

export const keyCommands: Commands = {
  commands: [create, list, show, update, switchCommand(true), switchCommand(false), rotate, revoke, keyUsageCommand],
};
