import { randomBytes } from 'node:crypto';
import type { Stored } from '../contracts/kubernetes.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { Clock } from '../domain/clock.ts';
import { Problem } from '../domain/problem.ts';
import { checkVariableName, checkVariableValue, environmentMaxBytes, variablesMax } from '../domain/variables.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { changeOwnedSecret, isOwned, type Secret } from './owned-secret.ts';
import type { WorkloadObject } from './workload-objects.ts';

/** A secret of a workload. */
export interface WorkloadSecret {
  name: string;
  value: string;
  /** What it held before it was last changed. */
  previous?: string;
  updatedAt: Date;
}

/** All secrets of a workload, by name. */
export interface SecretSet {
  secrets: WorkloadSecret[];
  /** Made at random with the first secret; goes into the digests that name environments. */
  salt: string;
}

const nameShape = /^[A-Za-z_][A-Za-z0-9_]*$/;
// What no secret can be called.
const saltKey = '.salt';
const previousKey = (name: string) => `${name}.previous`;
const updatedKey = (name: string) => `${name}.updated`;
const encode = (value: string) => Buffer.from(value).toString('base64');
const decode = (value: string) => Buffer.from(value, 'base64').toString('utf8');

type Data = Readonly<Record<string, string>>;

/** Where the secrets of a workload lie: `app-<name>-secrets`, beside it. */
export function secretsName({ kind, metadata }: WorkloadObject): string {
  return `${kind.toLowerCase()}-${metadata.name}-secrets`;
}

/** The workload's secrets; none when the Secret of that name is not this workload's. */
export async function readSecrets(kube: Pick<KubeClient, 'get'>, workload: Stored<WorkloadObject>): Promise<SecretSet> {
  const found = await kube.get<Secret>(kinds.Secret, secretsName(workload), workload.metadata.namespace);
  return secretsOf(found && isOwned(found, workload) ? (found.data ?? {}) : {});
}

/** Changes one secret at a time; every call is one write of one Secret. */
export interface SecretStore {
  /**
   * Sets a secret and keeps the value that it had; the same value again changes nothing.
   * @throws Problem `invalid_value` for a name or value that cannot be, or when all together become too large or many
   */
  set(workload: Stored<WorkloadObject>, name: string, value: string): Promise<WorkloadSecret>;
  /** Swaps a secret's value with the previous one. @throws Problem `not_found`, `conflict` when there is no previous one */
  restore(workload: Stored<WorkloadObject>, name: string): Promise<WorkloadSecret>;
  /** Removes a secret with its previous value. @throws Problem `not_found` */
  remove(workload: Stored<WorkloadObject>, name: string): Promise<void>;
}

/** The one way in which workloads' secrets are changed. All of it also throws what {@link changeOwnedSecret} throws. */
export function createSecretStore({ kube, clock }: { kube: KubeClient; clock: Pick<Clock, 'now'> }): SecretStore {
  const write = async (
    workload: Stored<WorkloadObject>,
    name: string,
    next: (before: WorkloadSecret | undefined, all: SecretSet) => WorkloadSecret | undefined,
  ): Promise<WorkloadSecret | undefined> => {
    let after: WorkloadSecret | undefined;
    await changeOwnedSecret(kube, workload, secretsName(workload), (data) => {
      const all = secretsOf(data);
      const before = all.secrets.find((secret) => secret.name === name);
      after = next(before, all);
      if (after === before) return data;
      return dataOf(after, without(data, name), all.salt);
    });
    return after;
  };
  const written = (secret: WorkloadSecret | undefined): WorkloadSecret => {
    if (!secret) throw new Error('the secret was not written');
    return secret;
  };

  return {
    async set(workload, name, value) {
      checkVariableName(name, 'name');
      checkVariableValue(name, value, 'value');
      return written(
        await write(workload, name, (before, all) => {
          if (before?.value === value) return before;
          const next = { name, value, updatedAt: clock.now(), ...(before && { previous: before.value }) };
          checkRoom([...all.secrets.filter((secret) => secret.name !== name), next]);
          return next;
        }),
      );
    },
    async restore(workload, name) {
      return written(
        await write(workload, name, (before) => {
          if (!before) throw noSecret(workload, name);
          const { value, previous } = before;
          if (previous === undefined) {
            throw new Problem('conflict', `The secret "${name}" has no previous value; set it instead.`);
          }
          return { name, value: previous, previous: value, updatedAt: clock.now() };
        }),
      );
    },
    async remove(workload, name) {
      await write(workload, name, (before) => {
        if (!before) throw noSecret(workload, name);
        return undefined;
      });
    },
  };
}

/** What is answered for a secret that a workload does not have. */
export function noSecret({ kind, metadata }: WorkloadObject, name: string): Problem {
  const what = kind.toLowerCase();
  return new Problem(
    'not_found',
    `The ${what} "${metadata.name}" has no secret "${name.slice(0, 200)}"; list them with \`svc ${what} secret list ${metadata.name}\`.`,
  );
}

function secretsOf(data: Data): SecretSet {
  const secrets = Object.entries(data)
    .filter(([key]) => nameShape.test(key))
    .map(([name, value]) => {
      const previous = data[previousKey(name)];
      // One that somebody put there by hand has no time.
      const updated = Date.parse(decode(data[updatedKey(name)] ?? ''));
      return {
        name,
        value: decode(value),
        ...(previous !== undefined && { previous: decode(previous) }),
        updatedAt: new Date(Number.isNaN(updated) ? 0 : updated),
      };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  return { secrets, salt: decode(data[saltKey] ?? '') };
}

function without(data: Data, name: string): Record<string, string> {
  const gone = new Set([name, previousKey(name), updatedKey(name)]);
  return Object.fromEntries(Object.entries(data).filter(([key]) => !gone.has(key)));
}

function dataOf(secret: WorkloadSecret | undefined, rest: Record<string, string>, salt: string) {
  return {
    [saltKey]: encode(salt === '' ? randomBytes(16).toString('hex') : salt),
    ...rest,
    ...(secret && {
      [secret.name]: encode(secret.value),
      [updatedKey(secret.name)]: encode(secret.updatedAt.toISOString()),
      ...(secret.previous !== undefined && { [previousKey(secret.name)]: encode(secret.previous) }),
    }),
  };
}

/** Previous values count: Kubernetes bounds the Secret that holds them all. */
function checkRoom(secrets: readonly WorkloadSecret[]): void {
  if (secrets.length > variablesMax) {
    throw new Problem('invalid_value', `There are ${variablesMax} secrets already, and no more can be.`, {
      details: { field: 'name' },
    });
  }
  const size = secrets.reduce(
    (sum, { name, value, previous = '' }) =>
      sum + Buffer.byteLength(name) + Buffer.byteLength(value) + Buffer.byteLength(previous),
    0,
  );
  if (size <= environmentMaxBytes) return;
  throw new Problem(
    'invalid_value',
    `All secrets together, with their previous values, would have ${size} bytes; ${environmentMaxBytes / 1024} KiB are the most.`,
    { details: { field: 'value' } },
  );
}
