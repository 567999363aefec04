import { readLines } from './env-text.ts';
import { filledLines } from '../parts/lines.ts';

/** What the form of a new workload has of its environment, without the values of secrets. */
export interface EnvironmentDraft {
  /** Lines of a `.env` file. */
  variables: string;
  /** Services to bind it to. */
  bindings: readonly string[];
  /** A name for each row of the form; rows without one are left out. */
  secrets: readonly { id: number; name: string }[];
}

export const newEnvironment: EnvironmentDraft = { variables: '', bindings: [], secrets: [] };

/** The name of the field with the value of a secret. */
export const secretField = (id: number) => `secret-${id}`;

/** The secrets that have a name. */
const namedSecrets = ({ secrets }: EnvironmentDraft) => secrets.filter(({ name }) => name.trim() !== '');

/** The fields of a request that creates the workload. @param values of secrets by the id of their row */
export function environmentBody(draft: EnvironmentDraft, values: ReadonlyMap<number, string>): Record<string, unknown> {
  const { variables } = readLines(draft.variables);
  const secrets = namedSecrets(draft).map((row) => [row.name.trim(), values.get(row.id) ?? ''] as const);
  return {
    ...(Object.keys(variables).length > 0 && { env: variables }),
    ...(secrets.length > 0 && { secrets: Object.fromEntries(secrets) }),
    ...(draft.bindings.length > 0 && { bindings: draft.bindings.map((service) => ({ service })) }),
  };
}

/**
 * The flags of the command that creates the same workload. They never have a secret: they name secrets, whose values `svc`
 * asks for, and read variables from a file, because they may be pasted with secrets among them.
 */
export function environmentFlags(draft: EnvironmentDraft): string[] {
  return [
    ...(filledLines(draft.variables).length > 0 ? ['--env-file', '.env'] : []),
    // A value that was written behind the name is a secret too.
    ...namedSecrets(draft).flatMap(({ name }) => ['--secret', name.trim().replace(/=.*/s, '')]),
    ...draft.bindings.flatMap((service) => ['--bind', service]),
  ];
}
