import type { z } from 'zod';
import { keyChanged, keyCreated, keyRevoked, keyRotated } from '../../runtime/contracts/api/keys.ts';
import { command, type Command, type Commands } from '../command.ts';
import { scopeFlags, noPromptFlag, yesFlag } from '../common-flags.ts';
import { confirmDeletion } from '../deletion.ts';
import { expiryForms, expiryTime } from '../expiry.ts';
import { usageFailure } from '../failure.ts';
import { parseDuration, requiredText, text, textOrNone, texts, toggle } from '../flags.ts';
import { gateWaitFlag, reportGateChange } from '../gate-change.ts';
import { resolveScope } from '../scope.ts';
import { keyKind } from './key-kind.ts';
import { keyUsageCommand } from './key-usage.ts';

const create = command({
  name: 'create',
  description: 'Create an API key, and print it once on standard output.',
  flags: {
    plan: requiredText('<plan>', 'plan, by name or ID'),
    name: text('<text>', 'name, such as the customer'),
    app: texts('<app>', 'limit the key to this app or function'),
    allow: texts('<cidr>', 'limit the key to clients in this network'),
    expires: text('<when>', `expiry: ${expiryForms} (default never)`),
    ...gateWaitFlag,
    ...scopeFlags,
  },
  data: keyCreated,
  examples: [
    "svc key create --plan small --name 'first customer'",
    'svc key create --plan small --app api --expires 2027-01-31 > key.txt',
    'svc key create --plan small --allow 192.0.2.0/24',
  ],
  async run({ context, flags }) {
    const scope = resolveScope(context, flags);
    const body = {
      plan: flags.plan,
      ...(flags.name !== undefined && { name: flags.name }),
      ...(flags.app.length > 0 && { apps: flags.app }),
      ...(flags.allow.length > 0 && { allowedCidrs: flags.allow }),
      ...(flags.expires !== undefined && { expiresAt: expiryTime(flags.expires, context.clock.now()) }),
    };
    const created = await scope.api.call('POST', scope.path('api-keys'), keyCreated, { query: scope.query, body });
    context.print({ data: created, table: created.key, names: [created.handle] }, flags.output);
    context.say(`store the key ${created.handle} now, it is not shown again; clients send it in the header X-API-Key`);
    await reportGateChange(context, flags, scope.api, { change: created.change, verb: 'applied' });
  },
});

const update = command({
  name: 'update',
  args: ['key'],
  description: 'Change an API key, by handle or ID.',
  flags: {
    plan: text('<plan>', 'plan, by name or ID'),
    name: textOrNone('<text>', 'new name; empty removes the name'),
    app: texts('<app>', 'limit the key to this app or function'),
    allApps: toggle('allow all apps and functions in the environment'),
    allow: texts('<cidr>', 'limit the key to clients in this network'),
    allowAll: toggle('allow all client addresses'),
    expires: text('<when>', `expiry: ${expiryForms}, or never`),
    ...gateWaitFlag,
    ...scopeFlags,
  },
  data: keyChanged,
  examples: ['svc key update k3x9q2ab --plan large', 'svc key update k3x9q2ab --expires never --all-apps'],
  async run({ context, args, flags }) {
    const { plan, name, app, allApps, allow, allowAll, expires } = flags;
    if (allApps && app.length > 0) throw usageFailure('Use either --app or --all-apps.');
    if (allowAll && allow.length > 0) throw usageFailure('Use either --allow or --allow-all.');
    const body = {
      ...(plan !== undefined && { plan }),
      ...(name !== undefined && { name: name === '' ? null : name }),
      ...((allApps || app.length > 0) && { apps: allApps ? null : app }),
      ...((allowAll || allow.length > 0) && { allowedCidrs: allowAll ? null : allow }),
      ...(expires !== undefined && {
        expiresAt: expires === 'never' ? null : expiryTime(expires, context.clock.now()),
      }),
    };
    if (Object.keys(body).length === 0) throw usageFailure('Nothing to change.', 'see svc key update --help');
    const scope = resolveScope(context, flags);
    const options = { query: scope.query, body };
    const key = await scope.api.call('PATCH', scope.path('api-keys', args.key), keyChanged, options);
    keyKind.print(context, key, flags.output);
    await reportGateChange(context, flags, scope.api, { change: key.change, verb: 'applied' });
  },
});

function switchCommand(enabled: boolean): Command {
  const name = enabled ? 'enable' : 'disable';
  return command({
    name,
    args: ['key'],
    description: enabled ? 'Enable a disabled API key, by handle or ID.' : 'Disable an API key, by handle or ID.',
    flags: { ...noPromptFlag, ...gateWaitFlag, ...scopeFlags },
    examples: [`svc key ${name} k3x9q2ab`],
    async run({ context, args, flags }) {
      const scope = resolveScope(context, flags);
      const options = { query: scope.query, body: { enabled } };
      const key = await scope.api.call('PATCH', scope.path('api-keys', args.key), keyChanged, options);
      keyKind.print(context, key, flags.output);
      await reportGateChange(context, flags, scope.api, { change: key.change, verb: `${name}d` });
    },
  });
}

const rotate = command({
  name: 'rotate',
  args: ['key'],
  description: 'Replace an API key, by handle or ID, and print the new key once.',
  flags: {
    grace: text('<duration>', 'how long the old key stays valid, such as 0, 12h or 7d (default 1d)'),
    expires: text('<when>', `expiry: ${expiryForms} (default: unchanged)`),
    ...gateWaitFlag,
    ...scopeFlags,
  },
  examples: ['svc key rotate k3x9q2ab > key.txt', 'svc key rotate k3x9q2ab --grace 0'],
  async run({ context, args, flags }) {
    const graceSeconds = flags.grace === undefined ? undefined : parseDuration(flags.grace);
    if (flags.grace !== undefined && graceSeconds === undefined) {
      throw usageFailure(`--grace takes a duration such as 0, 12h or 7d, not "${flags.grace}".`);
    }
    const body = {
      ...(graceSeconds !== undefined && { graceSeconds }),
      ...(flags.expires !== undefined && { expiresAt: expiryTime(flags.expires, context.clock.now()) }),
    };
    const scope = resolveScope(context, flags);
    const path = scope.path('api-keys', args.key, 'rotate');
    const rotated = await scope.api.call('POST', path, keyRotated, { query: scope.query, body });
    const { handle, replaces } = rotated;
    context.print({ data: rotated, table: rotated.key, names: [handle] }, flags.output);
    context.say(
      `store the key ${handle} now, it is not shown again; the old key ${replaces.handle} expires at ${replaces.expiresAt}`,
    );
    await reportGateChange(context, flags, scope.api, { change: rotated.change, verb: 'applied' });
  },
});

const revoke = command({
  name: 'revoke',
  args: ['...keys'],
  description: 'Delete API keys permanently, by handle or ID.',
  flags: { ...yesFlag, ...gateWaitFlag, ...scopeFlags },
  examples: ['svc key revoke k3x9q2ab', 'svc key revoke k3x9q2ab p7m4w1cd --yes'],
  async run({ context, args, flags }) {
    const scope = resolveScope(context, flags);
    const deletion = { kind: keyKind, scope, names: args.keys, verb: 'Permanently revoke' };
    const keys = await confirmDeletion(context, flags, deletion);
    const revoked: z.infer<typeof keyRevoked>[] = [];
    for (const { name } of keys) {
      const key = await scope.api.call('DELETE', keyKind.path(scope, name), keyRevoked, { query: scope.query });
      revoked.push(key);
      context.say(`key ${key.handle} is revoked`);
    }
    const data = revoked.length === 1 ? revoked[0] : revoked;
    context.print({ data, table: '', names: revoked.map(({ handle }) => handle) }, flags.output);
    // The gate applies changes in order, so waiting for the last one is enough.
    await reportGateChange(context, flags, scope.api, { change: revoked.at(-1)?.change, verb: 'revoked' });
  },
});

export const keyCommands: Commands = {
  commands: [
    create,
    keyKind.list,
    keyKind.show,
    update,
    switchCommand(true),
    switchCommand(false),
    rotate,
    revoke,
    keyUsageCommand,
  ],
};
