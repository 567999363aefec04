import { existsSync } from 'node:fs';
import { secretReveal, secretView, variablesView } from '../../runtime/contracts/api/variables.ts';
import { segment } from '../client.ts';
import { command, type Command } from '../command.ts';
import { scopeFlags, yesFlag } from '../common-flags.ts';
import { envLines, readEnvFile, writeEnvFile } from '../env-file.ts';
import { toggle } from '../flags.ts';
import { columns } from '../output.ts';
import { confirm } from '../prompt.ts';
import { resolveScope, type Scope } from '../scope.ts';
import { changeFlags, type Restartable } from './workload-restart.ts';

const defaultFile = '.env';

function counted(values: object, noun: string): string {
  const { length } = Object.keys(values);
  return `${length} ${noun}${length === 1 ? '' : 's'}`;
}

interface Workload {
  scope: Scope;
  collection: `${Restartable['kind']}s`;
  name: string;
}

async function variablesOf({ scope, collection, name }: Workload): Promise<Record<string, string>> {
  const path = scope.path(collection, name, 'env');
  return (await scope.api.call('GET', path, variablesView, { query: scope.query })).variables;
}

async function secretNames({ scope, collection, name }: Workload): Promise<string[]> {
  const secrets = await scope.api.list(scope.path(collection, name, 'secrets'), secretView, scope.query);
  return secrets.map((secret) => secret.name);
}

function secretPath({ scope, collection, name }: Workload, secret: string): string {
  return scope.path(collection, name, `secrets/${segment(secret)}`);
}

/** `svc app env pull`. */
export function pullCommand({ kind, example, article }: Restartable): Command {
  return command({
    name: 'pull',
    args: [kind, 'file?'],
    description: `Write the variables of ${article} to a file (default ${defaultFile}).`,
    flags: {
      secrets: toggle('also write the values of secrets (project admins only; audited)'),
      ...yesFlag,
      ...scopeFlags,
    },
    examples: [`svc ${kind} env pull ${example}`, `svc ${kind} env pull ${example} prod.env --secrets`],
    async run({ context, args, flags }) {
      const { file = defaultFile } = args;
      if (existsSync(file)) await confirm(context, flags, `Replace ${file}?`);
      const scope = resolveScope(context, flags);
      const workload: Workload = { scope, collection: `${kind}s`, name: args[kind] ?? '' };
      const variables = await variablesOf(workload);
      const secrets: Record<string, string> = {};
      for (const name of flags.secrets ? await secretNames(workload) : []) {
        const { value } = await scope.api.call('GET', secretPath(workload, name), secretReveal, { query: scope.query });
        secrets[name] = value;
      }
      const content = envLines({ ...variables, ...secrets });
      writeEnvFile(file, content);
      const counts = `${counted(variables, 'variable')} and ${counted(secrets, 'secret')}`;
      context.say(`wrote ${counts} of ${workload.name} to ${file}`);
    },
  });
}

/** `svc app env push`. */
export function pushCommand({ kind, example, article, applyChange, restarts }: Restartable): Command {
  const restart = restarts ? ' --restart' : '';
  return command({
    name: 'push',
    args: [kind, 'file?'],
    description: `Set the variables of ${article} from a file (default ${defaultFile}).`,
    flags: {
      prune: toggle('delete the variables that the file does not have'),
      secrets: toggle('also set the secrets that the file has values for'),
      ...yesFlag,
      ...changeFlags({ restarts }),
      ...scopeFlags,
    },
    examples: [`svc ${kind} env push ${example}`, `svc ${kind} env push ${example} prod.env --prune --yes${restart}`],
    async run({ context, args, flags }) {
      const variables = readEnvFile(args.file ?? defaultFile);
      const scope = resolveScope(context, flags);
      const workload: Workload = { scope, collection: `${kind}s`, name: args[kind] ?? '' };
      const current = await variablesOf(workload);
      const existingSecrets = new Set(await secretNames(workload));
      const entries = Object.entries(variables);
      const secrets = entries.filter(([name]) => existingSecrets.has(name));
      const set = entries.filter(([name, value]) => !existingSecrets.has(name) && current[name] !== value);
      const removals = flags.prune ? Object.keys(current).filter((name) => !Object.hasOwn(variables, name)) : [];
      if (secrets.length > 0 && !flags.secrets) {
        const names = secrets.map(([name]) => name).join(', ');
        context.say(`not changed, since they are secrets (--secrets changes them): ${names}`);
      }
      const changedSecrets = flags.secrets ? secrets : [];
      const lines = [
        ...set.map(([name, value]) =>
          Object.hasOwn(current, name) ? ['~', name, `${current[name]} → ${value}`] : ['+', name, value],
        ),
        ...changedSecrets.map(([name]) => ['~', name, '(secret)']),
        ...removals.map((name) => ['-', name, current[name] ?? '']),
      ];
      if (lines.length === 0) {
        context.say(`${workload.name} has these variables already`);
        return;
      }
      context.say(columns(lines.map((line) => line.map((text) => text.replaceAll(/\p{Cc}/gu, ' ')))));
      await confirm(
        context,
        flags,
        `Change ${lines.length === 1 ? '1 variable' : `${lines.length} variables`} of ${workload.name}?`,
      );
      const body = { ...Object.fromEntries(set), ...Object.fromEntries(removals.map((name) => [name, null])) };
      if (Object.keys(body).length > 0) {
        const path = scope.path(workload.collection, workload.name, 'env');
        await scope.api.call('PATCH', path, variablesView, { query: scope.query, body });
      }
      for (const [name, value] of changedSecrets) {
        const options = { query: scope.query, body: { value } };
        await scope.api.call('PUT', secretPath(workload, name), secretView, options);
      }
      await applyChange(context, flags, scope, workload.name);
    },
  });
}
