import type { Pool } from 'pg';
import { z } from 'zod';
import type { KeyUpdate } from '../../runtime/contracts/api/keys.ts';
import { parseNetwork } from '../../runtime/domain/network.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { KeyEnvironment } from '../../runtime/api/locate-key.ts';
import type { KeyChanges } from '../../runtime/records/keys.ts';
import { findPlan, findPlanByName } from '../../runtime/records/plans.ts';

export interface KeyFieldDependencies {
  pool: Pool;
  clock: Clock;
  /** The current app or function of this name. */
  findGated: (namespace: string, name: string) => Promise<{ id: Id } | undefined>;
}

function refuse(field: string, message: string): never {
  throw new Problem('invalid_value', message, { details: { field } });
}

/** Networks in canonical form, without duplicates. @throws Problem `invalid_value` */
function readNetworks(texts: readonly string[]): string[] {
  const networks = texts.map((text) => {
    const parsed = parseNetwork(text);
    return 'fault' in parsed ? refuse('allowedCidrs', `${parsed.fault}.`) : parsed.network;
  });
  return [...new Set(networks)];
}

/** Calls `read` unless the value is null. */
async function mapNonNull<In, Out>(value: In | null, read: (value: In) => Promise<Out>): Promise<Out | null> {
  return value === null ? null : read(value);
}

/** Resolves the fields of a key in a request. Every function throws Problem `invalid_value` with the field's name. */
export function createKeyFields({ pool, clock, findGated }: KeyFieldDependencies) {
  const expiry = (text: string): Date => {
    const date = new Date(text);
    if (date <= clock.now()) refuse('expiresAt', `The expiry ${text} is in the past. Choose a later time.`);
    return date;
  };

  const planId = async ({ environment, environmentId }: KeyEnvironment, idOrName: string): Promise<Id> => {
    const byId = z.uuid().safeParse(idOrName).success;
    const plan =
      (byId ? await findPlan(pool, [environmentId], idOrName) : undefined) ??
      (await findPlanByName(pool, environmentId, idOrName));
    if (plan) return plan.id;
    return refuse(
      'plan',
      `The environment "${environment}" has no plan "${idOrName}". Create it or choose another plan.`,
    );
  };

  const scope = async ({ environment, namespace }: KeyEnvironment, apps: readonly string[]): Promise<Id[]> => {
    const names = [...new Set(apps)].sort();
    const workloads = await Promise.all(
      names.map(async (name) => ({ name, id: (await findGated(namespace, name))?.id })),
    );
    const missing = workloads.filter(({ id }) => id === undefined).map(({ name }) => `"${name}"`);
    if (missing.length > 0) {
      refuse(
        'apps',
        `The environment "${environment}" has no app or function ${missing.join(', ')}. A key can only be limited to existing ones.`,
      );
    }
    return workloads.flatMap(({ id }) => id ?? []);
  };

  return {
    expiry,
    planId,
    /** The changes of a request in the form of the record. */
    async changes(environment: KeyEnvironment, update: KeyUpdate): Promise<KeyChanges> {
      const { enabled, name, plan, apps, allowedCidrs, expiresAt } = update;
      return {
        ...(enabled !== undefined && { enabled }),
        ...(name !== undefined && { name }),
        ...(expiresAt !== undefined && { expiresAt: expiresAt === null ? null : expiry(expiresAt) }),
        ...(allowedCidrs !== undefined && { allowedCidrs: allowedCidrs === null ? null : readNetworks(allowedCidrs) }),
        ...(plan !== undefined && { planId: await planId(environment, plan) }),
        ...(apps !== undefined && { scope: await mapNonNull(apps, (names) => scope(environment, names)) }),
      };
    },
  };
}
