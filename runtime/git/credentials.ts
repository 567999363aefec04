import type { Stored } from '../contracts/kubernetes.ts';
import type { App } from '../contracts/resources/app.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import { hostOfGit } from '../domain/git-source.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import type { GitCredentials } from './git.ts';
import { isOwned, type Secret } from '../workloads/owned-secret.ts';

/** The Secret with the credentials of an app's git source. The app owns it, so that both are deleted together. */
export function gitSecretName(app: string): string {
  return `app-${app}-git`;
}

const encode = (value: string) => Buffer.from(value).toString('base64');
const decode = (value: string) => Buffer.from(value, 'base64').toString('utf8');

/** The data of that Secret, with the server that the credentials are for. Pure. */
export function gitSecretData(credentials: GitCredentials, url: string): Record<string, string> {
  const server = encode(hostOfGit(url));
  if ('deployKey' in credentials) return { deployKey: encode(credentials.deployKey), server };
  const { token, username } = credentials;
  return { token: encode(token), ...(username !== undefined && { username: encode(username) }), server };
}

/** The data of an app's Secret; undefined without one, and where the Secret of that name does not belong to the app. */
export async function findGitSecret(
  kube: Pick<KubeClient, 'get'>,
  app: Stored<App>,
): Promise<Record<string, string> | undefined> {
  const { name, namespace } = app.metadata;
  const secret = await kube.get<Secret>(kinds.Secret, gitSecretName(name), namespace);
  return secret && isOwned(secret, app) ? (secret.data ?? {}) : undefined;
}

/**
 * The data of an app's credentials for the server of this URL; undefined without any. The Secret may be for another
 * server, because it is written before the app's source.
 */
export async function readGitSecret(
  kube: Pick<KubeClient, 'get'>,
  app: Stored<App>,
  url: string,
): Promise<Record<string, string> | undefined> {
  const { token, username, deployKey, server } = (await findGitSecret(kube, app)) ?? {};
  // Secrets of earlier releases name no server.
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
