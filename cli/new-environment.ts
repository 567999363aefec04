import type { Context } from './context.ts';
import { readEnvFile } from './env-file.ts';
import { usageFailure } from './failure.ts';
import { text, texts, type FlagValues } from './flags.ts';
import { readVariable } from './key-values.ts';
import { variableFlag } from './pod-settings.ts';
import { askHidden } from './prompt.ts';

/** For `create`: the variables, secrets and bindings that the first pods get. */
export const newEnvironmentFlags = {
  ...variableFlag,
  envFile: text('<file>', 'file with lines NAME=value; --env overrides them'),
  secret: texts('<NAME>', 'secret; value from the variable NAME of this shell, or a prompt'),
  bind: texts('<service[=PREFIX_]>', 'service to bind to, optionally with another prefix'),
};

/** The fields of a request body for the flags; asks for the values of secrets that are not in the shell. @throws Failure (usage) */
export async function newEnvironmentBody(
  context: Context,
  { env, envFile, secret, bind }: FlagValues<typeof newEnvironmentFlags>,
): Promise<Record<string, unknown>> {
  const variables = {
    ...(envFile !== undefined && readEnvFile(envFile)),
    ...Object.fromEntries(env.map((typed) => readVariable(typed))),
  };
  const secrets = await readSecrets(context, secret);
  const bindings = bind.map((typed) => {
    const [service = '', ...rest] = typed.split('=');
    return rest.length === 0 ? { service } : { service, prefix: rest.join('=') };
  });
  return {
    ...(Object.keys(variables).length > 0 && { env: variables }),
    ...(secret.length > 0 && { secrets }),
    ...(bindings.length > 0 && { bindings }),
  };
}

/** The values of secrets, from the shell or a prompt. @throws Failure (usage) */
export async function readSecrets(context: Context, names: readonly string[]): Promise<Record<string, string>> {
  const secrets: Record<string, string> = {};
  for (const name of names) {
    refuseValue('--secret', name, (bare) => `set the variable and pass its name: ${bare}=… svc … --secret ${bare}`);
    const instead = `set the variable ${name} in this shell`;
    secrets[name] = context.env[name] ?? (await askHidden(context, `Value of ${name}`, instead));
    if (secrets[name] === '') throw usageFailure(`The value of the secret ${name} is empty.`);
  }
  return secrets;
}

/**
 * Refuses NAME=value where the name of a secret belongs, without quoting it.
 * @param taker what takes the name @param instead the hint, which gets the name alone @throws Failure (usage)
 */
export function refuseValue(taker: string, name: string, instead: (bare: string) => string): void {
  const [bare = '', ...value] = name.split('=');
  if (value.length === 0) return;
  throw usageFailure(`${taker} takes a name: a value on the command line is visible to others.`, instead(bare));
}
