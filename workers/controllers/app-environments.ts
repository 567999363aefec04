import type { V1Container, V1PodTemplateSpec } from '@kubernetes/client-node';
import type { Json, KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import { workloadIdOf } from '../../runtime/workloads/objects.ts';
import { environmentSecrets, environmentSecretsPatch, wantedByRelease } from '../../runtime/workloads/environment.ts';
import { isOwned, type Secret } from '../../runtime/workloads/owned-secret.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';

/** A pod, or an object with a pod template. */
interface PodOrTemplate extends KubeObject {
  spec: { containers?: V1Container[]; template?: Json<V1PodTemplateSpec> };
}

/**
 * Deletes the environment Secrets of former releases that no pod and no ReplicaSet uses (a user may go back to one with
 * kubectl), and that no revision needs for a rollback. Their names are stored on the App, so that this process needs no
 * right to list Secrets.
 * @param neededOf the environment Secrets that the history needs
 */
export async function collectEnvironments(
  kube: KubeClient,
  resource: Stored<App>,
  neededOf: (workloadId: Id) => Promise<readonly string[]>,
): Promise<void> {
  const spare = await spareEnvironments(resource, neededOf);
  if (spare.length === 0) return;
  const { name, namespace = '' } = resource.metadata;
  const { candidates, deleted } = await readCandidates(kube, resource, spare);
  // Read after the Secrets: a release that starts to use one marks the Secret first, which changes its version.
  const app = await kube.get<App>(kinds.App, name, namespace);
  if (app?.metadata.uid !== resource.metadata.uid) return;
  const used = await usedSecrets(kube, app);
  for (const secret of candidates) {
    const { name: candidate, uid, resourceVersion } = secret.metadata;
    const awaited = wantedByRelease(secret) > (app.spec.release?.generation ?? 0);
    if (awaited || used.has(candidate)) continue;
    if (await removed(kube, secret, { uid, resourceVersion })) deleted.push(candidate);
  }
  const stored = environmentSecrets(app);
  const remaining = stored.filter((secretName) => used.has(secretName) || !deleted.includes(secretName));
  if (remaining.length < stored.length) await writeEnvironments(kube, app, remaining);
}

/** The environment Secrets of former releases that the history does not need. */
async function spareEnvironments(
  resource: Stored<App>,
  neededOf: (workloadId: Id) => Promise<readonly string[]>,
): Promise<string[]> {
  const former = environmentSecrets(resource).filter((name) => name !== resource.spec.release?.envSecret);
  if (former.length === 0) return [];
  const needed = new Set(await neededOf(workloadIdOf(resource)));
  return former.filter((name) => !needed.has(name));
}

/** @returns the app's Secrets of these names, and the names of which it has none */
async function readCandidates(
  kube: Pick<KubeClient, 'get'>,
  app: Stored<App>,
  names: readonly string[],
): Promise<{ candidates: Stored<Secret>[]; deleted: string[] }> {
  const candidates: Stored<Secret>[] = [];
  const deleted: string[] = [];
  for (const name of names) {
    const secret = await kube.get<Secret>(kinds.Secret, name, app.metadata.namespace ?? '');
    if (secret && isOwned(secret, app)) candidates.push(secret);
    else deleted.push(name);
  }
  return { candidates, deleted };
}

async function writeEnvironments(
  kube: Pick<KubeClient, 'mergePatch'>,
  app: Stored<App>,
  names: readonly string[],
): Promise<void> {
  const { apiVersion, kind, metadata } = app;
  const { name, namespace = '' } = metadata;
  try {
    await kube.mergePatch({ apiVersion, kind, namespace, name }, environmentSecretsPatch(app, names));
  } catch (error) {
    // Another writer was first; the next reconcile tries again.
    if (!isKubeError(error, 409)) throw error;
  }
}

/** The Secrets that the app's release, pods and ReplicaSets use. */
async function usedSecrets(kube: Pick<KubeClient, 'list'>, app: Stored<App>): Promise<Set<string>> {
  const { namespace = '' } = app.metadata;
  const selection = { namespace, labelSelector: `${idLabel}=${workloadIdOf(app)}` };
  const used = new Set<string>();
  if (app.spec.release?.envSecret !== undefined) used.add(app.spec.release.envSecret);
  for (const kind of [kinds.ReplicaSet, kinds.Pod, kinds.Deployment]) {
    const { items } = await kube.list<PodOrTemplate>(kind, selection);
    for (const name of items.flatMap(secretsOf)) used.add(name);
  }
  return used;
}

/** The Secrets from which containers get their environment. */
function secretsOf({ spec }: PodOrTemplate): string[] {
  const { containers = [] } = spec.template?.spec ?? spec;
  return containers.flatMap(({ envFrom = [] }) => envFrom).flatMap(({ secretRef }) => secretRef?.name ?? []);
}

async function removed(
  kube: Pick<KubeClient, 'delete'>,
  { apiVersion, kind, metadata: { name, namespace = '' } }: Stored<Secret>,
  preconditions: { uid: string; resourceVersion: string },
): Promise<boolean> {
  try {
    await kube.delete({ apiVersion, kind, namespace, name }, { preconditions });
    return true;
  } catch (error) {
    // A release has just marked it.
    if (isKubeError(error, 409)) return false;
    throw error;
  }
}
