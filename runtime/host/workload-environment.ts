import type { KubeObject, Stored } from '../contracts/kubernetes.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import { apiGroup, releaseAnnotation } from '../domain/labels.ts';
import { environmentDigest, resolveVariables, type Variable } from '../domain/variables.ts';
import { ensureChild } from '../kube/children.ts';
import { isKubeError, type KubeClient } from '../kube/kube-client.ts';
import { isOwned, ownedSecret, type Secret } from './owned-secret.ts';
import { workloadIdOf, type WorkloadObject } from './workload-objects.ts';

/** On a workload: the names of its environments' Secrets, separated by commas. */
const environmentsAnnotation = `${apiGroup}/environments`;
/** Writers of the same Secret between read and write. */
const maxTries = 5;

/** What a workload's containers are to find in their environment. */
export interface ResolvedEnvironment {
  /** Of the Secret that holds it: `app-<name>-env-<digest>`, or `function-…`. */
  name: string;
  variables: Variable[];
}

/**
 * The environment that a workload's variables and secrets make; undefined when there are none. The name says whether two
 * are the same without telling what is in them. Pure. @throws Problem `invalid_value` as {@link resolveVariables}
 */
export function resolvedEnvironment(
  workload: WorkloadObject,
  variables: readonly Variable[],
  { secrets, salt }: { secrets: readonly Variable[]; salt: string },
): ResolvedEnvironment | undefined {
  const resolved = resolveVariables(variables, secrets);
  if (resolved.length === 0) return undefined;
  const { kind, metadata } = workload;
  // With the identity: a later workload of the same name never meets one that is still being removed.
  const digest = environmentDigest(resolved, `${workloadIdOf(workload)}${salt}`);
  return { name: `${kind.toLowerCase()}-${metadata.name}-env-${digest}`, variables: resolved };
}

/**
 * Sees to it that the Secret of an environment is there, marked as wanted by this release: whoever removes old ones
 * leaves alone what a release that is not applied yet is going to use. What has no releases needs no mark.
 * @throws ForeignObjectError, ChildError, NotYetError as {@link ensureChild}
 */
export async function ensureEnvironmentSecret(
  kube: Pick<KubeClient, 'get' | 'create' | 'replace'>,
  workload: Stored<WorkloadObject>,
  { name, variables }: ResolvedEnvironment,
  generation = 0,
): Promise<void> {
  const data = Object.fromEntries(variables.map((each) => [each.name, Buffer.from(each.value).toString('base64')]));
  const secret = ownedSecret(workload, name, data);
  const { namespace = '', labels = {} } = secret.metadata;
  const annotations = { [releaseAnnotation]: String(generation) };
  const marked = generation > 0 ? { annotations } : {};
  const desired: Secret = { ...secret, metadata: { name, namespace, labels, ...marked }, immutable: true };
  await ensureChild<Secret>(kube, workload, desired, {
    keep: (live, wanted) => (wantedByRelease(live) >= generation ? live : wanted),
  });
}

/**
 * Marks the Secret of an environment that a release brings back, as {@link ensureEnvironmentSecret} does for a new one.
 * @returns whether it is there still
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
      // Somebody removes it, or another release marks it.
      if (!isKubeError(error, 404) && (!isKubeError(error, 409) || attempt === maxTries)) throw error;
    }
  }
}

/** The newest release that wanted an environment's Secret. */
export function wantedByRelease({ metadata }: KubeObject): number {
  return Number(metadata.annotations?.[releaseAnnotation] ?? 0);
}

/** The names of the environments that were made for a workload's releases and not removed yet. */
export function environmentSecrets({ metadata }: KubeObject): string[] {
  return (metadata.annotations?.[environmentsAnnotation] ?? '').split(',').filter((name) => name !== '');
}

/** What {@link environmentSecrets} reads, with one name more; goes onto the workload with the release that uses it. Pure. */
export function withEnvironmentSecret(workload: KubeObject, name: string): Record<string, string> {
  const names = new Set([...environmentSecrets(workload), name]);
  return { ...workload.metadata.annotations, [environmentsAnnotation]: [...names].join(',') };
}

/** A merge patch that leaves these names, unless the workload changed meanwhile. Pure. */
export function environmentSecretsPatch({ metadata }: Stored<KubeObject>, names: readonly string[]): object {
  const { uid, resourceVersion } = metadata;
  const annotations = { [environmentsAnnotation]: names.length === 0 ? null : names.join(',') };
  return { metadata: { uid, resourceVersion, annotations } };
}
