import { randomBytes } from 'node:crypto';
import type { Stored } from '../contracts/kubernetes.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { Clock } from '../domain/clock.ts';
import { secretsExpectedAnnotation } from '../domain/labels.ts';
import { Problem } from '../domain/problem.ts';
import {
  checkVariableName,
  checkVariableValue,
  environmentMaxBytes,
  variablesMax,
  type Variable,
} from '../domain/variables.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { changeOwnedSecret, isOwned, type Secret } from './owned-secret.ts';
import type { WorkloadObject } from './objects.ts';

/** A secret of a workload. */
export interface WorkloadSecret {
  name: string;
  value: string;
  /** The value before the last change. */
  previous?: string;
  updatedAt: Date;
}

/** All secrets of a workload, by name. */
export interface SecretSet {
  secrets: WorkloadSecret[];
  /** Random, created with the first secret; part of the digests in the names of environments. */
  salt: string;
}

const nameShape = /^[A-Za-z_][A-Za-z0-9_]*$/;
// Names that no secret can have.
const saltKey = '.salt';
const previousKey = (name: string) => `${name}.previous`;
const updatedKey = (name: string) => `${name}.updated`;
const encode = (value: string) => Buffer.from(value).toString('base64');
const decode = (value: string) => Buffer.from(value, 'base64').toString('utf8');

type Data = Readonly<Record<string, string>>;

/** The Secret of a workload's secrets: `app-<name>-secrets`. */
function secretsName({ kind, metadata }: WorkloadObject): string {
  return `${kind.toLowerCase()}-${metadata.name}-secrets`;
}

/** Reads a workload's secrets; none where the Secret of that name is not the workload's. */
export async function readSecrets(kube: Pick<KubeClient, 'get'>, workload: Stored<WorkloadObject>): Promise<SecretSet> {
  const secret = await kube.get<Secret>(kinds.Secret, secretsName(workload), workload.metadata.namespace);
  return parseSecrets(secret && isOwned(secret, workload) ? (secret.data ?? {}) : {});
}

/** Changes secrets; every call is one write of one Secret. */
export interface SecretStore {
  /** Stores the first secrets of a workload, which {@link checkSecrets} has accepted. */
  create(workload: Stored<WorkloadObject>, values: readonly Variable[]): Promise<void>;
  /**
   * Sets a secret and keeps its previous value; does nothing for an equal value.
   * @throws Problem `invalid_value` for an invalid name or value, and at the limits of number and size
   */
  set(workload: Stored<WorkloadObject>, name: string, value: string): Promise<WorkloadSecret>;
  /** Swaps the value of a secret with its previous one. @throws Problem `not_found`, `conflict` without a previous value */
  restore(workload: Stored<WorkloadObject>, name: string): Promise<WorkloadSecret>;
  /** Removes a secret with its previous value. @throws Problem `not_found` */
  remove(workload: Stored<WorkloadObject>, name: string): Promise<void>;
}

/** Changes workloads' secrets. All methods also throw the errors of {@link changeOwnedSecret}. */
export function createSecretStore({ kube, clock }: { kube: KubeClient; clock: Pick<Clock, 'now'> }): SecretStore {
  const write = async (
    workload: Stored<WorkloadObject>,
    name: string,
    next: (current: WorkloadSecret | undefined, all: SecretSet) => WorkloadSecret | undefined,
  ): Promise<WorkloadSecret | undefined> => {
    let written: WorkloadSecret | undefined;
    await changeOwnedSecret(kube, workload, secretsName(workload), (data) => {
      const all = parseSecrets(data);
      const current = all.secrets.find((secret) => secret.name === name);
      written = next(current, all);
      if (written === current) return data;
      return toData(written, without(data, name), all.salt);
    });
    return written;
  };
  const ensureWritten = (secret: WorkloadSecret | undefined): WorkloadSecret => {
    if (!secret) throw new Error('the secret was not written');
    return secret;
  };

  return {
    async create(workload, values) {
      const updatedAt = clock.now();
      await changeOwnedSecret(kube, workload, secretsName(workload), (data) =>
        values.reduce(
          (stored, { name, value }) =>
            toData({ name, value, updatedAt }, without(stored, name), parseSecrets(stored).salt),
          data,
        ),
      );
    },
    async set(workload, name, value) {
      checkVariableName(name, 'name', workload.kind);
      checkVariableValue(name, value, 'value');
      return ensureWritten(
        await write(workload, name, (current, all) => {
          if (current?.value === value) return current;
          const next = { name, value, updatedAt: clock.now(), ...(current && { previous: current.value }) };
          checkRoom([...all.secrets.filter((secret) => secret.name !== name), next]);
          return next;
        }),
      );
    },
    async restore(workload, name) {
      return ensureWritten(
        await write(workload, name, (current) => {
          if (!current) throw noSecret(workload, name);
          const { value, previous } = current;
          if (previous === undefined) {
            throw new Problem('conflict', `The secret "${name}" has no previous value; set it instead.`);
          }
          return { name, value: previous, previous: value, updatedAt: clock.now() };
        }),
      );
    },
    async remove(workload, name) {
      await write(workload, name, (current) => {
        if (!current) throw noSecret(workload, name);
        return undefined;
      });
    },
  };
}

/** Checks the secrets of a new workload. @throws Problem `invalid_value` */
export function checkSecrets(kind: WorkloadObject['kind'], values: readonly Variable[]): void {
  for (const { name, value } of values) {
    checkVariableName(name, 'secrets', kind);
    checkVariableValue(name, value, 'secrets');
  }
  checkRoom(values);
}

/** Whether a workload has a Secret with secrets of its own. */
export async function hasSecrets(kube: Pick<KubeClient, 'get'>, workload: Stored<WorkloadObject>): Promise<boolean> {
  const secret = await kube.get<Secret>(kinds.Secret, secretsName(workload), workload.metadata.namespace);
  return secret !== undefined && isOwned(secret, workload);
}

/** Whether the secrets of a create request may still have to be stored. Pure. */
export function expectsSecrets({ metadata }: WorkloadObject): boolean {
  return metadata.annotations?.[secretsExpectedAnnotation] !== undefined;
}

/** The error for a secret that does not exist. */
export function noSecret({ kind, metadata }: WorkloadObject, name: string): Problem {
  const what = kind.toLowerCase();
  return new Problem(
    'not_found',
    `The ${what} "${metadata.name}" has no secret "${name.slice(0, 200)}"; list them with \`svc ${what} secret list ${metadata.name}\`.`,
  );
}

function parseSecrets(data: Data): SecretSet {
  const secrets = Object.entries(data)
    .filter(([key]) => nameShape.test(key))
    .map(([name, value]) => {
      const previous = data[previousKey(name)];
      // A secret that was added with kubectl has no time.
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
  const keys = new Set([name, previousKey(name), updatedKey(name)]);
  return Object.fromEntries(Object.entries(data).filter(([key]) => !keys.has(key)));
}

function toData(
  secret: WorkloadSecret | undefined,
  rest: Record<string, string>,
  salt: string,
): Record<string, string> {
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

/** Includes previous values, because Kubernetes limits the size of the Secret with all of them. */
function checkRoom(secrets: readonly Pick<WorkloadSecret, 'name' | 'value' | 'previous'>[]): void {
  if (secrets.length > variablesMax) {
    throw new Problem('invalid_value', `The limit of ${variablesMax} secrets is reached.`, {
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
    `All secrets with their previous values would have ${size} bytes, which exceeds the limit of ${environmentMaxBytes / 1024} KiB.`,
    { details: { field: 'value' } },
  );
}
