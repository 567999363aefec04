import type { Stored } from '../contracts/kubernetes.ts';
import type { App } from '../contracts/resources/app.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import type { GitCredentials } from './git.ts';
import { isOwned, type Secret } from './owned-secret.ts';

/** Where the credentials of an app's git source lie: a Secret beside the app, owned by it, so that it goes with the app. */
export function gitSecretName(app: string): string {
  return `app-${app}-git`;
}

/** The credentials as a Secret's data. Pure. */
export function gitSecretData(credentials: GitCredentials): Record<string, string> {
  const encode = (value: string) => Buffer.from(value).toString('base64');
  if ('deployKey' in credentials) return { deployKey: encode(credentials.deployKey) };
  const { token, username } = credentials;
  return { token: encode(token), ...(username !== undefined && { username: encode(username) }) };
}

/** The data of an app's credentials; undefined when it has none, or the Secret of that name is not this app's. */
export async function readGitSecret(
  kube: Pick<KubeClient, 'get'>,
  app: Stored<App>,
): Promise<Record<string, string> | undefined> {
  const { name, namespace } = app.metadata;
  const found = await kube.get<Secret>(kinds.Secret, gitSecretName(name), namespace);
  if (!found || !isOwned(found, app)) return undefined;
  const { token, username, deployKey } = found.data ?? {};
  if (token !== undefined) return { token, ...(username !== undefined && { username }) };
  return deployKey === undefined ? undefined : { deployKey };
}

/** The credentials that {@link gitSecretData} wrote. Pure. */
export function gitCredentialsOf(data: Readonly<Record<string, string>> | undefined): GitCredentials | undefined {
  const decode = (value: string) => Buffer.from(value, 'base64').toString('utf8');
  const { token, username, deployKey } = data ?? {};
  if (token !== undefined)
    return { token: decode(token), ...(username !== undefined && { username: decode(username) }) };
  return deployKey === undefined ? undefined : { deployKey: decode(deployKey) };
}
