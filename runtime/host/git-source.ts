import type { z } from 'zod';
import type { gitSourceSet } from '../contracts/api/git.ts';
import type { Stored } from '../contracts/kubernetes.ts';
import type { App } from '../contracts/resources/app.ts';
import { addressOfGit, checkGitSource, hostOfGit, type GitSource } from '../domain/git-source.ts';
import { Problem } from '../domain/problem.ts';
import { checkDeployKey, hostKeysIn } from '../domain/ssh-keys.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { findGitSecret, gitSecretData, gitSecretName } from './git-credentials.ts';
import { changeOwnedSecret } from './owned-secret.ts';

/** A git source as a request gives it, with what the server wants. */
export type GivenGitSource = z.output<typeof gitSourceSet>;

/** The source that was given, checked, with a branch's name alone. @throws Problem `invalid_value` */
export function checkGivenSource({ credentials, knownHosts, ...given }: GivenGitSource): GitSource {
  const source = checkGitSource({ ...given, branch: given.branch.replace(/^refs\/heads\//, '') });
  if (credentials && 'deployKey' in credentials) checkDeployKey(credentials.deployKey);
  if (typeof knownHosts !== 'string') return source;
  const address = addressOfGit(source.url);
  if (address.overSsh) return { ...source, hostKeys: hostKeysIn(knownHosts, address) };
  throw new Problem(
    'invalid_value',
    'Known hosts go with an address over ssh; over https a certificate proves the server.',
    { details: { field: 'knownHosts' } },
  );
}

/**
 * Gives an app a git source, after the credentials that its server wants, so that it is never asked without them; the
 * former server is asked without any in between. Those that the app had stay when none are given and the source is on the
 * same server: they never go to another one. The same holds for the server's keys.
 * @throws Problem `invalid_value`
 */
export async function setGitSource(kube: KubeClient, app: Stored<App>, given: GivenGitSource): Promise<Stored<App>> {
  const { credentials, knownHosts } = given;
  const checked = checkGivenSource(given);
  const before = app.spec.git;
  const keeps = before !== undefined && hostOfGit(before.url) === hostOfGit(checked.url);
  const source = keeps && knownHosts === undefined ? { ...checked, hostKeys: before.hostKeys } : checked;
  if (credentials)
    await changeOwnedSecret(kube, app, gitSecretName(app.metadata.name), () => gitSecretData(credentials, checked.url));
  else if (credentials === null || !keeps) await forgetCredentials(kube, app);
  return patchGitSource(kube, app, source);
}

/** Takes the git source from an app, and its credentials. */
export async function removeGitSource(kube: KubeClient, app: Stored<App>): Promise<void> {
  await patchGitSource(kube, app, undefined);
  await forgetCredentials(kube, app);
}

async function forgetCredentials(kube: KubeClient, app: Stored<App>): Promise<void> {
  if (await findGitSecret(kube, app)) {
    await changeOwnedSecret(kube, app, gitSecretName(app.metadata.name), () => ({}));
  }
}

/** @throws KubeError 404 when the app went meanwhile, 409 for another of its name */
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
