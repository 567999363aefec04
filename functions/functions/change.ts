import type { FunctionUpdate } from '../../runtime/contracts/api/functions.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { HostName } from '../../runtime/contracts/resources/claims.ts';
import { functionSpec, type FunctionResource, type FunctionSpec } from '../../runtime/contracts/resources/function.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { retryOnConflict } from '../../runtime/api/retry-on-conflict.ts';
import { changedSecurity } from '../../runtime/api/security-settings.ts';
import { hostTaken, type HostAsker } from '../../runtime/workloads/create.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { codeFields, specOf, unusedFields, type NewFunction } from './check.ts';
import { triggerOf } from './trigger.ts';

/** A change of a function, with variables in the form of the spec; null removes a setting. */
export type FunctionChange = Omit<FunctionUpdate, 'env'> & { env?: FunctionSpec['env'] };

/** The spec after a change; fields that only the previous trigger or source used are removed. @throws Problem as {@link specOf} */
export function changedSpec(current: FunctionSpec, change: FunctionChange): FunctionSpec {
  const { security, trigger: _, events: __, ...settings } = change;
  const trigger = triggerOf(change, current);
  const changes = Object.entries(settings).filter(([, value]) => value !== undefined);
  const replaced = new Set<string>([...unusedFields(trigger.trigger), 'events', 'runRequests']);
  if (change.image !== undefined) for (const field of codeFields) replaced.add(field);
  else if (change.code !== undefined) replaced.add('image');
  for (const [field] of changes) replaced.add(field);
  const rest = Object.fromEntries(Object.entries(current).filter(([field]) => !replaced.has(field))) as typeof current;
  const additions = Object.fromEntries(changes.filter(([, value]) => value !== null)) as Partial<NewFunction>;
  const newSecurity = security ? changedSecurity(current.security, security) : current.security;
  return specOf({ ...rest, ...additions, ...trigger, ...(newSecurity && { security: newSecurity }) });
}

/**
 * Changes a function based on its current state; concurrent changes are both applied, and requested runs are kept.
 * @param find reads the function again for each attempt @param next returns the new spec; its errors are passed on
 */
export function changeFunction(
  kube: KubeClient,
  find: () => Promise<Stored<FunctionResource>>,
  next: (current: Stored<FunctionResource>) => Promise<FunctionSpec>,
): Promise<Stored<FunctionResource>> {
  return retryOnConflict(find, async (current) => {
    const spec: Record<string, unknown> = await next(current);
    const fields = Object.keys(functionSpec.shape).filter((field) => field !== 'runRequests');
    const before: Record<string, unknown> = current.spec;
    const patch = Object.fromEntries(fields.map((field) => [field, replacement(before[field], spec[field])]));
    const { name, namespace = '', uid, resourceVersion } = current.metadata;
    const { apiVersion, kind } = kinds.Function;
    const ref = { apiVersion, kind, namespace, name };
    return kube.mergePatch<FunctionResource>(ref, { metadata: { uid, resourceVersion }, spec: patch });
  });
}

/** The value that makes a merge patch replace a field: a merge patch keeps the fields of an object that it does not name. */
function replacement(before: unknown, after: unknown): unknown {
  if (!isRecord(before) || !isRecord(after)) return after ?? null;
  return { ...Object.fromEntries(Object.keys(before).map((key) => [key, null])), ...after };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @throws Problem `host_taken` for a host that another workload holds; the controller claims a free host */
export async function checkHostHolder(
  kube: KubeClient,
  host: string,
  { workloadId, asker }: { workloadId: Id; asker: HostAsker },
): Promise<void> {
  const claim = await kube.get<HostName>(kinds.HostName, host);
  if (claim && claim.spec.workloadId !== workloadId) throw hostTaken(host, asker, claim.spec);
}
