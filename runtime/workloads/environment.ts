import type { KubeObject, Stored } from '../contracts/kubernetes.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import { apiGroup, releaseAnnotation } from '../domain/labels.ts';
import { environmentDigest, resolveVariables, type Variable } from '../domain/variables.ts';
import { ensureChild } from '../kube/children.ts';
import { isKubeError, type KubeClient } from '../kube/kube-client.ts';
import { isOwned, ownedSecret, type Secret } from './owned-secret.ts';
import { workloadIdOf, type WorkloadObject } from './objects.ts';

/** On a workload: the names of its environment Secrets, separated by commas. */
const environmentsAnnotation = `${apiGroup}/environments`;
/** Attempts to write a Secret that others change at the same time. */
const maxTries = 5;

/** The environment variables of a workload's containers. */
export interface ResolvedEnvironment {
  /** The name of its Secret: `app-<name>-env-<digest>`, or `function-…`. */
  name: string;
  variables: Variable[];
}

/**
 * Resolves a workload's variables and secrets; undefined without any. Equal environments have equal names, which reveal no
 * values. Pure. @throws Problem `invalid_value` as {@link resolveVariables}
 */
export function resolvedEnvironment(
  workload: WorkloadObject,
  variables: readonly Variable[],
  { secrets, salt }: { secrets: readonly Variable[]; salt: string },
): ResolvedEnvironment | undefined {
  const { kind, metadata } = workload;
  const resolved = resolveVariables(variables, secrets, kind);
  if (resolved.length === 0) return undefined;
  // The id keeps the name different from that of a deleted workload with the same name, whose Secret may still exist.
  const digest = environmentDigest(resolved, `${workloadIdOf(workload)}${salt}`);
  return { name: `${kind.toLowerCase()}-${metadata.name}-env-${digest}`, variables: resolved };
}

/**
 * The environment of an existing Secret with other values of its bindings; undefined where nothing would change, and where
 * the workload has no such Secret.
 * @param variables that the environment was made from @param values of the bindings now
 */
export async function renewedEnvironment(
  kube: Pick<KubeClient, 'get'>,
  workload: Stored<WorkloadObject>,
  name: string,
  { variables, values, salt }: { variables: readonly Variable[]; values: readonly Variable[]; salt: string },
): Promise<ResolvedEnvironment | undefined> {
  if (values.length === 0) return undefined;
  const secret = await kube.get<Secret>(kinds.Secret, name, workload.metadata.namespace);
  if (!secret || !isOwned(secret, workload)) return undefined;
  const own = new Set(variables.map((variable) => variable.name));
  const now = new Map(values.map((variable) => [variable.name, variable.value]));
  const others = Object.entries(secret.data ?? {}).flatMap(([key, data]) => {
    const value = now.get(key) ?? Buffer.from(data, 'base64').toString('utf8');
    return own.has(key) ? [] : [{ name: key, value }];
  });
  const renewed = resolvedEnvironment(workload, variables, { secrets: others, salt });
  const isSame = renewed?.variables.every(
    ({ name: key, value }) => secret.data?.[key] === Buffer.from(value).toString('base64'),
  );
  return isSame === true ? undefined : renewed;
}

/**
 * Ensures that the Secret of an environment exists and is marked with the release, so that it is not deleted as unused
 * before the release is applied. Workloads without releases need no mark.
 * @throws ForeignObjectError, ChildError, NotYetError as {@link ensureChild}
 */
export async function ensureEnvironmentSecret(
  kube: Pick<KubeClient, 'get' | 'create' | 'replace'>,
  workload: Stored<WorkloadObject>,
  { name, variables }: ResolvedEnvironment,
  generation = 0,
): Promise<void> {
  const data = Object.fromEntries(
    variables.map((variable) => [variable.name, Buffer.from(variable.value).toString('base64')]),
  );
  const secret = ownedSecret(workload, name, data);
  const { namespace = '', labels = {} } = secret.metadata;
  const annotations = { [releaseAnnotation]: String(generation) };
  const mark = generation > 0 ? { annotations } : {};
  const desired: Secret = { ...secret, metadata: { name, namespace, labels, ...mark }, immutable: true };
  await ensureChild<Secret>(kube, workload, desired, {
    keep: (live, next) => (wantedByRelease(live) >= generation ? live : next),
  });
}

/**
 * Marks the Secret of an environment that a release restores, as {@link ensureEnvironmentSecret} does for a new one.
 * @returns false when the Secret no longer exists
 */
export async function reuseEnvironmentSecret(
  kube: Pick<KubeClient, 'get' | 'replace'>,
  workload: Stored<WorkloadObject>,
  name: string,
  generation: number,
): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    const live = await kube.get<Secret>(kinds.Secret, name, workload.metadata.namespace);
    if (!live || live.metadata.deletionTimestamp !== undefined || !isOwned(live, workload)) return false;
    if (wantedByRelease(live) >= generation) return true;
    const annotations = { ...live.metadata.annotations, [releaseAnnotation]: String(generation) };
    try {
      await kube.replace<Secret>({ ...live, metadata: { ...live.metadata, annotations } });
      return true;
    } catch (error) {
      // It is being deleted, or marked by another release.
      if (!isKubeError(error, 404) && (!isKubeError(error, 409) || attempt === maxTries)) throw error;
    }
  }
}

/** The newest release that an environment Secret is marked with. */
export function wantedByRelease({ metadata }: KubeObject): number {
  return Number(metadata.annotations?.[releaseAnnotation] ?? 0);
}

/** The names of a workload's environment Secrets that exist. */
export function environmentSecrets({ metadata }: KubeObject): string[] {
  return (metadata.annotations?.[environmentsAnnotation] ?? '').split(',').filter((name) => name !== '');
}

/** The annotations of a workload with one more environment Secret, to write with the release that uses it. Pure. */
export function withEnvironmentSecret(workload: KubeObject, name: string): Record<string, string> {
  const names = new Set([...environmentSecrets(workload), name]);
  return { ...workload.metadata.annotations, [environmentsAnnotation]: [...names].join(',') };
}

/** A merge patch that sets the names of the environment Secrets, unless the workload changed meanwhile. Pure. */
export function environmentSecretsPatch({ metadata }: Stored<KubeObject>, names: readonly string[]): object {
  const { uid, resourceVersion } = metadata;
  const annotations = { [environmentsAnnotation]: names.length === 0 ? null : names.join(',') };
  return { metadata: { uid, resourceVersion, annotations } };
}
