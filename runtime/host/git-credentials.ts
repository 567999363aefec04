import type { Stored } from '../contracts/kubernetes.ts';
import type { App } from '../contracts/resources/app.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import { hostOfGit } from '../domain/git-source.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import type { GitCredentials } from './git.ts';
import { isOwned, type Secret } from './owned-secret.ts';

/** Where the credentials of an app's git source lie: a Secret beside the app, owned by it, so that it goes with the app. */
export function gitSecretName(app: string): string {
  return `app-${app}-git`;
}

const encode = (value: string) => Buffer.from(value).toString('base64');
const decode = (value: string) => Buffer.from(value, 'base64').toString('utf8');

/** The credentials for a source's server as a Secret's data, which names the server. Pure. */
export function gitSecretData(credentials: GitCredentials, url: string): Record<string, string> {
  const server = encode(hostOfGit(url));
  if ('deployKey' in credentials) return { deployKey: encode(credentials.deployKey), server };
  const { token, username } = credentials;
  return { token: encode(token), ...(username !== undefined && { username: encode(username) }), server };
}

/** What the Secret of an app's credentials holds; undefined when there is none, or the one of that name is not this app's. */
export async function findGitSecret(
  kube: Pick<KubeClient, 'get'>,
  app: Stored<App>,
): Promise<Record<string, string> | undefined> {
  const { name, namespace } = app.metadata;
  const found = await kube.get<Secret>(kinds.Secret, gitSecretName(name), namespace);
  return found && isOwned(found, app) ? (found.data ?? {}) : undefined;
}

/**
 * The data of an app's credentials for the server of this address; undefined when it has none. The app's source may be
 * another one by now, and its Secret is written before it.
 */
export async function readGitSecret(
  kube: Pick<KubeClient, 'get'>,
  app: Stored<App>,
  url: string,
): Promise<Record<string, string> | undefined> {
  const { token, username, deployKey, server } = (await findGitSecret(kube, app)) ?? {};
  // Earlier releases kept no server.
  if (server !== undefined && decode(server) !== hostOfGit(url)) return undefined;
  if (token !== undefined) return { token, ...(username !== undefined && { username }) };
  return deployKey === undefined ? undefined : { deployKey };
}

/** The credentials that {@link gitSecretData} wrote. Pure. */
export function gitCredentialsOf(data: Readonly<Record<string, string>> | undefined): GitCredentials | undefined {
  const { token, username, deployKey } = data ?? {};
  if (token !== undefined)
    return { token: decode(token), ...(username !== undefined && { username: decode(username) }) };
  return deployKey === undefined ? undefined : { deployKey: decode(deployKey) };
}
