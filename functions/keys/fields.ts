import type { Pool } from 'pg';
import { z } from 'zod';
import type { KeyUpdate } from '../../runtime/contracts/api/keys.ts';
import { parseNetwork } from '../../runtime/domain/network.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { KeyEnvironment } from '../../runtime/host/locate-key.ts';
import type { KeyChanges } from '../../runtime/records/keys.ts';
import { findPlan, findPlanByName } from '../../runtime/records/plans.ts';

export interface KeyFieldDependencies {
  pool: Pool;
  clock: Clock;
  /** The app or function (no other kind of workload) of this name that exists now. */
  findGated: (namespace: string, name: string) => Promise<{ id: Id } | undefined>;
}

function refuse(field: string, message: string): never {
  throw new Problem('invalid_value', message, { details: { field } });
}

/** Networks in the form in which they are kept, each once. @throws Problem `invalid_value` */
function readNetworks(texts: readonly string[]): string[] {
  const networks = texts.map((text) => {
    const parsed = parseNetwork(text);
    return 'fault' in parsed ? refuse('allowedCidrs', `${parsed.fault}.`) : parsed.network;
  });
  return [...new Set(networks)];
}

/** A promise of what a null leaves out. */
async function unlessNull<In, Out>(value: In | null, read: (value: In) => Promise<Out>): Promise<Out | null> {
  return value === null ? null : read(value);
}

/** Resolves what a request says of a key. Every function throws Problem `invalid_value` with the field's name. */
export function createKeyFields({ pool, clock, findGated }: KeyFieldDependencies) {
  const expiry = (text: string): Date => {
    const date = new Date(text);
    if (date <= clock.now()) refuse('expiresAt', `The expiry ${text} is in the past; choose a later one.`);
    return date;
  };

  const planId = async ({ environment, environmentId }: KeyEnvironment, idOrName: string): Promise<Id> => {
    const byId = z.uuid().safeParse(idOrName).success;
    const plan =
      (byId ? await findPlan(pool, [environmentId], idOrName) : undefined) ??
      (await findPlanByName(pool, environmentId, idOrName));
    if (plan) return plan.id;
    return refuse('plan', `The environment "${environment}" has no plan "${idOrName}"; create it or choose another.`);
  };

  const scope = async ({ environment, namespace }: KeyEnvironment, apps: readonly string[]): Promise<Id[]> => {
    const names = [...new Set(apps)].sort();
    const found = await Promise.all(names.map(async (name) => ({ name, id: (await findGated(namespace, name))?.id })));
    const missing = found.filter(({ id }) => id === undefined).map(({ name }) => `"${name}"`);
    if (missing.length > 0) {
      refuse(
        'apps',
        `The environment "${environment}" has no app or function ${missing.join(', ')}; a key opens what exists.`,
      );
    }
    return found.flatMap(({ id }) => id ?? []);
  };

  return {
    expiry,
    planId,
    /** The changes that a request asks for, in the terms of the record; what is absent stays absent. */
    async changes(environment: KeyEnvironment, asked: KeyUpdate): Promise<KeyChanges> {
      const { enabled, name, plan, apps, allowedCidrs, expiresAt } = asked;
      return {
        ...(enabled !== undefined && { enabled }),
        ...(name !== undefined && { name }),
        ...(expiresAt !== undefined && { expiresAt: expiresAt === null ? null : expiry(expiresAt) }),
        ...(allowedCidrs !== undefined && { allowedCidrs: allowedCidrs === null ? null : readNetworks(allowedCidrs) }),
        ...(plan !== undefined && { planId: await planId(environment, plan) }),
        ...(apps !== undefined && { scope: await unlessNull(apps, (names) => scope(environment, names)) }),
      };
    },
  };
}
