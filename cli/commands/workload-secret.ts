import { secretReveal, secretView, type SecretView } from '../../runtime/contracts/api/variables.ts';
import { segment } from '../client.ts';
import { command, type Commands } from '../command.ts';
import { scopeFlags, yesFlag } from '../common-flags.ts';
import { Failure, usageFailure } from '../failure.ts';
import { toggle } from '../flags.ts';
import { refuseValue } from '../new-environment.ts';
import { ago, table, type Output } from '../output.ts';
import { resolveScope, type Scope } from '../scope.ts';
import { askHidden, confirm, readStdin } from '../prompt.ts';
import { changeFlags, type Restartable } from './workload-restart.ts';

function toOutput(secrets: readonly SecretView[], data: unknown, now: Date): Output {
  return {
    data,
    table: table(secrets, [
      { title: 'NAME', value: ({ name }) => name },
      { title: 'UPDATED', value: ({ updatedAt }) => ago(updatedAt, now) },
      { title: 'PREVIOUS', value: ({ hasPrevious }) => (hasPrevious ? 'kept' : undefined) },
    ]),
    names: secrets.map(({ name }) => name),
  };
}

/** The commands for the secrets of a kind of workload. */
export function secretCommands({ kind, example, article, applyChange, restarts }: Restartable): Commands {
  const restartFlags = changeFlags({ restarts });
  const restart = restarts ? ' --restart' : '';
  const collection = `${kind}s` as const;
  const pathOf = (scope: Scope, workload: string, secret: string, below = '') =>
    scope.path(collection, workload, `secrets/${segment(secret)}${below}`);

  const set = command({
    name: 'set',
    args: [kind, 'name'],
    description: `Set a secret of ${article} from a prompt or standard input.`,
    flags: {
      valueStdin: toggle('read the value from standard input (default: prompt)'),
      ...restartFlags,
      ...scopeFlags,
    },
    examples: [
      `svc ${kind} secret set ${example} DB_PASSWORD`,
      `svc ${kind} secret set ${example} TLS_KEY --value-stdin${restart} < key.pem`,
    ],
    async run({ context, args, flags }) {
      const retry = (bare: string) => `type the value at the prompt of: svc ${kind} secret set ${args[kind]} ${bare}`;
      refuseValue('secret set', args.name, retry);
      const scope = resolveScope(context, flags);
      const value = flags.valueStdin
        ? await readStdin(context)
        : await askHidden(context, `Value of ${args.name}`, 'use --value-stdin and pass the value on standard input');
      if (value === '') throw usageFailure(`The value is empty. To remove the secret: svc ${kind} secret delete`);
      const secret = await scope.api.call('PUT', pathOf(scope, args[kind], args.name), secretView, {
        query: scope.query,
        body: { value },
      });
      if (!flags.restart) context.print(toOutput([secret], secret, context.clock.now()), flags.output);
      await applyChange(context, flags, scope, args[kind]);
    },
  });

  const list = command({
    name: 'list',
    args: [kind],
    description: `List the secrets of ${article}, without their values.`,
    flags: scopeFlags,
    data: secretView,
    watch: true,
    examples: [`svc ${kind} secret list ${example}`, `svc ${kind} secret list ${example} -o name`],
    async run({ context, args, flags }) {
      const scope = resolveScope(context, flags);
      const secrets = await scope.api.list(scope.path(collection, args[kind], 'secrets'), secretView, scope.query);
      context.print(toOutput(secrets, secrets, context.clock.now()), flags.output);
    },
  });

  const reveal = command({
    name: 'reveal',
    args: [kind, 'name'],
    description: 'Print the value of a secret (project admins only; audited).',
    flags: scopeFlags,
    examples: [`svc ${kind} secret reveal ${example} DB_PASSWORD`],
    async run({ context, args, flags }) {
      const scope = resolveScope(context, flags);
      const path = pathOf(scope, args[kind], args.name);
      const secret = await scope.api.call('GET', path, secretReveal, { query: scope.query });
      context.print({ data: secret, table: secret.value, names: [secret.name] }, flags.output);
    },
  });

  const restore = command({
    name: 'restore',
    args: [kind, 'name'],
    description: 'Restore the previous value of a secret, and keep the current one for undo.',
    flags: { ...restartFlags, ...scopeFlags },
    examples: [`svc ${kind} secret restore ${example} DB_PASSWORD${restart}`],
    async run({ context, args, flags }) {
      const scope = resolveScope(context, flags);
      const path = pathOf(scope, args[kind], args.name, '/restore');
      const secret = await scope.api.call('POST', path, secretView, { query: scope.query });
      if (!flags.restart) context.print(toOutput([secret], secret, context.clock.now()), flags.output);
      await applyChange(context, flags, scope, args[kind]);
    },
  });

  const remove = command({
    name: 'delete',
    args: [kind, '...names'],
    description: `Delete secrets of ${article} and their previous values.`,
    flags: { ...yesFlag, ...restartFlags, ...scopeFlags },
    examples: [
      `svc ${kind} secret delete ${example} DB_PASSWORD`,
      `svc ${kind} secret delete ${example} OLD_TOKEN --yes${restart}`,
    ],
    async run({ context, args, flags }) {
      const scope = resolveScope(context, flags);
      const secrets = await scope.api.list(scope.path(collection, args[kind], 'secrets'), secretView, scope.query);
      const missing = args.names.find((name) => !secrets.some((secret) => secret.name === name));
      if (missing !== undefined) {
        throw new Failure(`${args[kind]} has no secret "${missing}".`, {
          code: 'not_found',
          hint: `list secrets: svc ${kind} secret list ${args[kind]} ${scope.flags}`,
        });
      }
      const noun = args.names.length === 1 ? 'secret' : 'secrets';
      await confirm(context, flags, `Delete ${noun} ${args.names.join(', ')} of ${args[kind]}?`);
      for (const name of new Set(args.names)) {
        await scope.api.send('DELETE', pathOf(scope, args[kind], name), { query: scope.query });
        context.say(`secret ${name} is deleted`);
      }
      await applyChange(context, flags, scope, args[kind]);
    },
  });

  return { commands: [set, list, reveal, restore, remove] };
}
