import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import { workloadIdOf } from '../../runtime/host/workload-objects.ts';
import {
  environmentSecrets,
  environmentSecretsPatch,
  wantedByRelease,
} from '../../runtime/host/workload-environment.ts';
import { isOwned, type Secret } from '../../runtime/host/owned-secret.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';

/** What the platform reads of whatever runs containers: a pod, and what makes pods. */
interface RunsContainers extends KubeObject {
  spec: { containers?: Container[]; template?: { spec?: { containers?: Container[] } } };
}

interface Container {
  envFrom?: { secretRef?: { name?: string } }[];
}

/**
 * Removes the environments of former releases once no pod and no ReplicaSet, to which one might go back by hand, refers
 * to them any more, and no revision needs them to which a rollback may lead. Their names stand on the App, so that nobody
 * needs the right to list Secrets.
 * @param keptOf the environments that the history still needs
 */
export async function collectEnvironments(
  kube: KubeClient,
  seen: Stored<App>,
  keptOf: (workloadId: Id) => Promise<readonly string[]>,
): Promise<void> {
  const former = environmentSecrets(seen).filter((name) => name !== seen.spec.release?.envSecret);
  if (former.length === 0) return;
  const needed = new Set(await keptOf(workloadIdOf(seen)));
  const spare = former.filter((name) => !needed.has(name));
  if (spare.length === 0) return;
  const { name, namespace = '' } = seen.metadata;
  const candidates: Stored<Secret>[] = [];
  const gone: string[] = [];
  for (const one of spare) {
    const secret = await kube.get<Secret>(kinds.Secret, one, namespace);
    if (secret && isOwned(secret, seen)) candidates.push(secret);
    else gone.push(one);
  }
  // After the Secrets: whatever is going to use one has marked it before, and that would show in its version.
  const app = await kube.get<App>(kinds.App, name, namespace);
  if (app?.metadata.uid !== seen.metadata.uid) return;
  const used = await usedSecrets(kube, app);
  for (const secret of candidates) {
    const { name: candidate, uid, resourceVersion } = secret.metadata;
    const awaited = wantedByRelease(secret) > (app.spec.release?.generation ?? 0);
    if (awaited || used.has(candidate)) continue;
    if (await removed(kube, secret, { uid, resourceVersion })) gone.push(candidate);
  }
  const kept = environmentSecrets(app).filter((one) => used.has(one) || !gone.includes(one));
  if (kept.length === environmentSecrets(app).length) return;
  try {
    await kube.mergePatch(
      { apiVersion: app.apiVersion, kind: app.kind, namespace, name },
      environmentSecretsPatch(app, kept),
    );
  } catch (error) {
    // Another writer was first; what stands there too long is looked for once more.
    if (!isKubeError(error, 409)) throw error;
  }
}

/** The Secrets that the app's release, its pods and its ReplicaSets take their environment from. */
async function usedSecrets(kube: Pick<KubeClient, 'list'>, app: Stored<App>): Promise<Set<string>> {
  const { namespace = '' } = app.metadata;
  const selection = { namespace, labelSelector: `${idLabel}=${workloadIdOf(app)}` };
  const used = new Set<string>();
  if (app.spec.release?.envSecret !== undefined) used.add(app.spec.release.envSecret);
  for (const kind of [kinds.ReplicaSet, kinds.Pod, kinds.Deployment]) {
    const { items } = await kube.list<RunsContainers>(kind, selection);
    for (const { spec } of items) {
      const { containers = [] } = spec.template?.spec ?? spec;
      for (const { secretRef } of containers.flatMap(({ envFrom = [] }) => envFrom))
        if (secretRef?.name !== undefined) used.add(secretRef.name);
    }
  }
  return used;
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
    // A release has just marked it as its own.
    if (isKubeError(error, 409)) return false;
    throw error;
  }
}
