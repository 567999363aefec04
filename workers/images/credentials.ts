import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { z } from 'zod';
import { registrySecrets } from '../../infra/manifests/build.ts';
import { buildNamespace } from '../../runtime/domain/labels.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';

const configuration = z.object({
  auths: z.record(z.string(), z.object({ auth: z.string(), username: z.string(), password: z.string() }).partial()),
});

/**
 * The text of the Secret with the credentials that may delete images, a Docker configuration file; undefined without one.
 * The credentials with which builds push are in another Secret, which no process of the platform reads.
 */
export async function readDeletionCredentials(kube: Pick<KubeClient, 'get'>): Promise<string | undefined> {
  const secret = await kube.get<KubeObject & { data?: Record<string, string> }>(
    kinds.Secret,
    registrySecrets.delete,
    buildNamespace,
  );
  const file = secret?.data?.['.dockerconfigjson'];
  return file === undefined ? undefined : Buffer.from(file, 'base64').toString('utf8');
}

/**
 * What `Authorization: Basic` carries for a registry, from the text of a Docker configuration file. Pure.
 * https://kubernetes.io/docs/tasks/configure-pod-container/pull-image-private-registry/
 */
export function basicCredentials(text: string, host: string): string | undefined {
  let parsed: z.infer<typeof configuration> | undefined;
  try {
    parsed = configuration.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
  const names = [host, `https://${host}`, `http://${host}`, `https://${host}/v1/`, `https://${host}/v2/`];
  const entry = names.map((name) => parsed?.auths[name]).find((candidate) => candidate !== undefined);
  if (entry?.auth !== undefined) return /^[A-Za-z0-9+/]+={0,2}$/.test(entry.auth) ? entry.auth : undefined;
  if (entry?.username === undefined || entry.password === undefined) return undefined;
  return Buffer.from(`${entry.username}:${entry.password}`).toString('base64');
}
