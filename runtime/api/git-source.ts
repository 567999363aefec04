import type { z } from 'zod';
import type { gitSourceSet } from '../contracts/api/git.ts';
import type { Stored } from '../contracts/kubernetes.ts';
import type { App } from '../contracts/resources/app.ts';
import { addressOfGit, checkGitSource as checkSource, hostOfGit, type GitSource } from '../domain/git-source.ts';
import { Problem } from '../domain/problem.ts';
import { checkDeployKey, hostKeysIn } from '../domain/ssh-keys.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { findGitSecret, gitSecretData, gitSecretName } from '../git/credentials.ts';
import { changeOwnedSecret } from '../workloads/owned-secret.ts';

/** A git source in a request, with its credentials. */
export type GitSourceRequest = z.output<typeof gitSourceSet>;

/** Checks a source; its branch is returned without `refs/heads/`. @throws Problem `invalid_value` */
export function checkGitSource({ credentials, knownHosts, ...fields }: GitSourceRequest): GitSource {
  const source = checkSource({ ...fields, branch: fields.branch.replace(/^refs\/heads\//, '') });
  if (credentials && 'deployKey' in credentials) checkDeployKey(credentials.deployKey);
  if (typeof knownHosts !== 'string') return source;
  const address = addressOfGit(source.url);
  if (address.overSsh) return { ...source, hostKeys: hostKeysIn(knownHosts, address) };
  throw new Problem(
    'invalid_value',
    '"knownHosts" requires an ssh URL; over https, the server is verified by its certificate.',
    { details: { field: 'knownHosts' } },
  );
}

/**
 * Sets an app's git source. The credentials are written first, so that the new server is never polled without them. Without
 * new credentials or host keys, the current ones are kept if the server's host stays the same, and deleted otherwise: they
 * are never sent to another server.
 * @throws Problem `invalid_value`
 */
export async function setGitSource(
  kube: KubeClient,
  app: Stored<App>,
  request: GitSourceRequest,
): Promise<Stored<App>> {
  const { credentials, knownHosts } = request;
  const checked = checkGitSource(request);
  const { git: current } = app.spec;
  const sameHost = current !== undefined && hostOfGit(current.url) === hostOfGit(checked.url);
  const source = sameHost && knownHosts === undefined ? { ...checked, hostKeys: current.hostKeys } : checked;
  if (credentials)
    await changeOwnedSecret(kube, app, gitSecretName(app.metadata.name), () => gitSecretData(credentials, checked.url));
  else if (credentials === null || !sameHost) await deleteCredentials(kube, app);
  return patchGitSource(kube, app, source);
}

/** Removes an app's git source and its credentials. */
export async function removeGitSource(kube: KubeClient, app: Stored<App>): Promise<void> {
  await patchGitSource(kube, app, undefined);
  await deleteCredentials(kube, app);
}

async function deleteCredentials(kube: KubeClient, app: Stored<App>): Promise<void> {
  if (await findGitSecret(kube, app)) {
    await changeOwnedSecret(kube, app, gitSecretName(app.metadata.name), () => ({}));
  }
}

/** @throws KubeError 404 when the app was deleted, 409 when it was recreated under its name */
async function patchGitSource(
  kube: Pick<KubeClient, 'mergePatch'>,
  app: Stored<App>,
  source: GitSource | undefined,
): Promise<Stored<App>> {
  const { apiVersion, kind, metadata } = app;
  const { name, namespace = '', uid } = metadata;
  const { url, branch, path = null, dockerfile = null, hostKeys = null } = source ?? {};
  const git = source ? { url, branch, path, dockerfile, hostKeys } : null;
  return kube.mergePatch<App>({ apiVersion, kind, namespace, name }, { metadata: { uid }, spec: { git } });
}
