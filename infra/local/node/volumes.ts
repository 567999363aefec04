import { chmod, chown, mkdir, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { ConfigError, dataOf } from './environment.ts';
import type { NodePod, Volume } from './pod-spec.ts';
import { giveTree } from './users.ts';

/** Issues a service account token, valid for the pod's lifetime or the requested time. */
export type IssueToken = (request: {
  namespace: string;
  serviceAccount: string;
  pod: { name: string; uid: string };
  audience?: string;
  expirationSeconds?: number;
}) => Promise<string>;

/** A file of a volume. */
interface VolumeFile {
  content: Buffer;
  mode?: number;
}

/** Where the content of volumes comes from. */
export interface VolumeSources {
  kube: Pick<KubeClient, 'get'>;
  /** The folder of all persistent volume claims, with a folder for each uid. */
  claims: string;
  issueToken: IssueToken;
  /** The API server's address and certificate, for the service account's folder. */
  apiServer: { url: string; ca: string };
}

/** The volume of the service account. No pod spec names it. */
export const accountVolume = 'service-account';
/** Its mount path in Kubernetes. */
export const accountPath = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The folder of each of a pod's volumes that is a persistent volume claim. @throws ConfigError while a claim is missing */
export async function claimFolders(
  { kube, claims }: Pick<VolumeSources, 'kube' | 'claims'>,
  pod: NodePod,
): Promise<Map<string, string>> {
  const folders = new Map<string, string>();
  for (const { name, persistentVolumeClaim } of pod.spec.volumes ?? []) {
    if (!persistentVolumeClaim) continue;
    const { claimName } = persistentVolumeClaim;
    const claim = await kube.get(kinds.PersistentVolumeClaim, claimName, pod.metadata.namespace);
    if (!claim) throw new ConfigError(`persistentvolumeclaim "${claimName}" not found`);
    folders.set(name, join(claims, claim.metadata.uid));
  }
  return folders;
}

/**
 * Creates or updates a pod's volumes under `root`. Changed files are replaced as a whole and removed ones are deleted.
 * Files that programs wrote into other kinds of volumes are kept.
 * @param options.claims the folders of persistent volume claims, by volume
 * @param options.mounted the volumes that get the content of their Secret or ConfigMap; the others are empty
 * @param options.user the pod's user, the only one who can read the volumes. Default this process's own
 * @returns the folder of each volume @throws ConfigError while a source is missing
 */
export async function mountVolumes(
  sources: VolumeSources,
  pod: Stored<NodePod>,
  {
    root,
    claims,
    user,
    mounted,
  }: { root: string; claims: ReadonlyMap<string, string>; user: number | undefined; mounted: ReadonlySet<string> },
): Promise<Map<string, string>> {
  const folders = new Map<string, string>();
  for (const volume of pod.spec.volumes ?? []) {
    const folder = claims.get(volume.name) ?? join(root, volume.name);
    folders.set(volume.name, folder);
    await mkdir(folder, { recursive: true });
    const files = await filesOf(sources, pod, volume);
    if (files) await replaceFiles(folder, mounted.has(volume.name) ? files : new Map(), user);
    else if (user !== undefined && (await stat(folder)).uid !== user) await giveTree(folder, user);
  }
  if (pod.spec.automountServiceAccountToken !== false && pod.spec.serviceAccountName !== undefined) {
    const folder = join(root, accountVolume);
    folders.set(accountVolume, folder);
    await mkdir(folder, { recursive: true });
    await replaceFiles(folder, await accountFiles(sources, pod), user);
  }
  return folders;
}

/** The files of a volume with fixed content; undefined for one that programs fill. */
async function filesOf(
  { kube, issueToken }: VolumeSources,
  pod: Stored<NodePod>,
  { secret, configMap, projected }: Volume,
): Promise<Map<string, VolumeFile> | undefined> {
  const files = new Map<string, VolumeFile>();
  for (const { serviceAccountToken } of projected?.sources ?? []) {
    if (!serviceAccountToken) throw new ConfigError('a projected volume may contain only service account tokens');
    const { path, ...options } = serviceAccountToken;
    files.set(path, { content: await tokenOf(issueToken, pod, options), mode: 0o600 });
  }
  const source = secret ?? configMap;
  if (!source) return projected && files;
  const kind = secret ? kinds.Secret : kinds.ConfigMap;
  const name = secret?.secretName ?? configMap?.name ?? '';
  // An optional Secret that does not exist is an empty folder, also after its deletion.
  if (secret?.optional && !(await kube.get(kind, name, pod.metadata.namespace))) return files;
  const data = await dataOf(kube, kind, name, pod.metadata.namespace);
  for (const [path, content] of data) files.set(path, { content, mode: source.defaultMode ?? 0o644 });
  return files;
}

async function tokenOf(
  issueToken: IssueToken,
  { metadata: { name, namespace = 'default', uid }, spec: { serviceAccountName = 'default' } }: Stored<NodePod>,
  options: { audience?: string; expirationSeconds?: number } = {},
): Promise<Buffer> {
  const token = { namespace, serviceAccount: serviceAccountName, pod: { name, uid }, ...options };
  return Buffer.from(await issueToken(token));
}

/** The three files that Kubernetes puts there. */
async function accountFiles(
  { issueToken, apiServer }: VolumeSources,
  pod: Stored<NodePod>,
): Promise<Map<string, VolumeFile>> {
  return new Map([
    ['token', { content: await tokenOf(issueToken, pod), mode: 0o600 }],
    ['namespace', { content: Buffer.from(pod.metadata.namespace ?? 'default') }],
    ['ca.crt', { content: Buffer.from(apiServer.ca) }],
  ]);
}

async function replaceFiles(
  folder: string,
  files: ReadonlyMap<string, VolumeFile>,
  user: number | undefined,
): Promise<void> {
  if (user !== undefined) {
    // Root's, so that the pod cannot put links where this process writes.
    await chown(folder, 0, user);
    await chmod(folder, 0o750);
  }
  for (const [name, { content, mode = 0o644 }] of files) {
    const file = join(folder, name);
    const isCurrent = (await readFile(file).catch(() => undefined))?.equals(content);
    if (isCurrent && (user === undefined || (await stat(file)).gid === user)) continue;
    // A reader gets the old content or the new one, never a part.
    await writeFile(`${file}.part`, content, { mode: 0o600 });
    if (user !== undefined) await chown(`${file}.part`, 0, user);
    await chmod(`${file}.part`, user === undefined ? mode : readableByGroup(mode));
    await rename(`${file}.part`, file);
  }
  for (const name of await readdir(folder)) if (!files.has(name)) await rm(join(folder, name), { recursive: true });
}

/** Gives the owner's rights to read and execute to the group, as `fsGroup` does in Kubernetes, and none to others. */
function readableByGroup(mode: number): number {
  return (mode & 0o700) | ((mode & 0o500) >> 3);
}
