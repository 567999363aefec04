import type { FunctionUpdate } from '../../runtime/contracts/api/functions.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { HostName } from '../../runtime/contracts/resources/claims.ts';
import { functionSpec, type FunctionResource, type FunctionSpec } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { changedSecurity } from '../../runtime/host/security-settings.ts';
import { hostTaken } from '../../runtime/host/workload-create.ts';
import { workloadIdOf } from '../../runtime/host/workload-objects.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import { calledBy } from './called-by.ts';
import { codeFields, specOf, strayFields, type NewFunction } from './check.ts';

/** Writers of one function that come between read and write. */
const maxRounds = 10;

/** What is to change, with the variables as the spec has them; null takes away. */
export type FunctionChange = Omit<FunctionUpdate, 'env'> & { env?: FunctionSpec['env'] };

/** The spec with a change; what only the former trigger had goes with it. @throws Problem for what a new one may not be */
export function changedSpec(before: FunctionSpec, change: FunctionChange): FunctionSpec {
  const { security, trigger: _, events: __, ...settings } = change;
  const called = calledBy(change, before);
  const changes = Object.entries(settings).filter(([, value]) => value !== undefined);
  const stale = new Set<string>([...strayFields(called.trigger), 'events', 'runRequests']);
  if (change.image !== undefined) for (const field of codeFields) stale.add(field);
  else if (change.code !== undefined) stale.add('image');
  for (const [field] of changes) stale.add(field);
  const kept = Object.fromEntries(Object.entries(before).filter(([field]) => !stale.has(field))) as typeof before;
  const given = Object.fromEntries(changes.filter(([, value]) => value !== null)) as Partial<NewFunction>;
  const protection = security ? changedSecurity(before.security, security) : before.security;
  return specOf({ ...kept, ...given, ...called, ...(protection && { security: protection }) });
}

/**
 * Changes a function by what it is, however many do so at once; wishes for runs stay.
 * @param find reads it anew for each try @param next its new spec; what it throws is thrown
 */
export async function changeFunction(
  kube: KubeClient,
  find: () => Promise<Stored<FunctionResource>>,
  next: (found: Stored<FunctionResource>) => Promise<FunctionSpec>,
): Promise<Stored<FunctionResource>> {
  for (let round = 1; ; round++) {
    const found = await find();
    const spec: Record<string, unknown> = await next(found);
    const fields = Object.keys(functionSpec.shape).filter((field) => field !== 'runRequests');
    const before: Record<string, unknown> = found.spec;
    const patch = Object.fromEntries(fields.map((field) => [field, replacing(before[field], spec[field])]));
    const { name, namespace = '', uid, resourceVersion } = found.metadata;
    const { apiVersion, kind } = kinds.Function;
    try {
      const ref = { apiVersion, kind, namespace, name };
      return await kube.mergePatch<FunctionResource>(ref, { metadata: { uid, resourceVersion }, spec: patch });
    } catch (error) {
      if (!isKubeError(error, 409)) throw error;
      if (round === maxRounds) {
        throw new Problem('conflict', `The function "${name}" is being changed by others; try again.`, {
          cause: error,
        });
      }
    }
  }
}

/** A merge patch leaves alone what it does not name, within objects too. */
function replacing(before: unknown, after: unknown): unknown {
  if (!isRecord(before) || !isRecord(after)) return after ?? null;
  return { ...Object.fromEntries(Object.keys(before).map((key) => [key, null])), ...after };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @throws Problem `host_taken` for a host that another workload holds; the controller claims it when it is free */
export async function checkHostHolder(kube: KubeClient, host: string, own: Stored<FunctionResource>): Promise<void> {
  const claim = await kube.get<HostName>(kinds.HostName, host);
  if (claim && claim.spec.workloadId !== workloadIdOf(own)) throw hostTaken(host, claim.spec);
}
