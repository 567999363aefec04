import { chmod, mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { ConfigError, dataOf } from './environment.ts';
import type { NodePod, Volume } from './pod-spec.ts';

/** A token for a service account, valid as long as the pod lives or for the time asked for. */
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

/** What volumes are made from. */
export interface VolumeSources {
  kube: Pick<KubeClient, 'get'>;
  /** Persistent claims are its folders, one for each claim's uid. */
  claims: string;
  issueToken: IssueToken;
  /** How a pod reaches the API server: in the service account's folder, as Kubernetes has it. */
  apiServer: { url: string; ca: string };
}

/** The volume that holds the service account, which no specification names. */
export const accountVolume = 'service-account';
/** Where Kubernetes mounts it. */
export const accountPath = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * Makes a pod's volumes under `root`, or brings them up to date: files that changed are replaced as a whole, and those
 * that are no longer wanted go. What programs wrote into other kinds of volumes stays.
 * @returns the folder of each volume @throws ConfigError while something that they are made of is missing
 */
export async function mountVolumes(
  sources: VolumeSources,
  pod: Stored<NodePod>,
  root: string,
): Promise<Map<string, string>> {
  const folders = new Map<string, string>();
  for (const volume of pod.spec.volumes ?? []) {
    const claim = volume.persistentVolumeClaim?.claimName;
    const folder = claim === undefined ? join(root, volume.name) : await claimFolder(sources, pod, claim);
    folders.set(volume.name, folder);
    await mkdir(folder, { recursive: true });
    const files = await filesOf(sources, pod, volume);
    if (files) await replaceFiles(folder, files);
  }
  if (pod.spec.automountServiceAccountToken !== false && pod.spec.serviceAccountName !== undefined) {
    const folder = join(root, accountVolume);
    folders.set(accountVolume, folder);
    await mkdir(folder, { recursive: true });
    await replaceFiles(folder, await accountFiles(sources, pod));
  }
  return folders;
}

async function claimFolder({ kube, claims }: VolumeSources, pod: NodePod, name: string): Promise<string> {
  const claim = await kube.get(kinds.PersistentVolumeClaim, name, pod.metadata.namespace);
  if (!claim) throw new ConfigError(`persistentvolumeclaim "${name}" not found`);
  return join(claims, claim.metadata.uid);
}

/** The files of a volume that has its content from elsewhere; undefined for one that programs fill. */
async function filesOf(
  { kube, issueToken }: VolumeSources,
  pod: Stored<NodePod>,
  { secret, configMap, projected }: Volume,
): Promise<Map<string, VolumeFile> | undefined> {
  const files = new Map<string, VolumeFile>();
  for (const { serviceAccountToken } of projected?.sources ?? []) {
    if (!serviceAccountToken) throw new ConfigError('a projected volume holds tokens only');
    const { path, ...wanted } = serviceAccountToken;
    files.set(path, { content: await tokenOf(issueToken, pod, wanted), mode: 0o600 });
  }
  const source = secret ?? configMap;
  if (!source) return projected && files;
  const kind = secret ? kinds.Secret : kinds.ConfigMap;
  const name = secret?.secretName ?? configMap?.name ?? '';
  // What may be missing is an empty folder, also once it has gone.
  if (secret?.optional && !(await kube.get(kind, name, pod.metadata.namespace))) return files;
  const data = await dataOf(kube, kind, name, pod.metadata.namespace);
  for (const [path, content] of data) files.set(path, { content, mode: source.defaultMode ?? 0o644 });
  return files;
}

async function tokenOf(
  issueToken: IssueToken,
  { metadata: { name, namespace = 'default', uid }, spec: { serviceAccountName = 'default' } }: Stored<NodePod>,
  wanted: { audience?: string; expirationSeconds?: number } = {},
): Promise<Buffer> {
  const token = { namespace, serviceAccount: serviceAccountName, pod: { name, uid }, ...wanted };
  return Buffer.from(await issueToken(token));
}

/** Kubernetes' own three files. */
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

async function replaceFiles(folder: string, files: ReadonlyMap<string, VolumeFile>): Promise<void> {
  for (const [name, { content, mode = 0o644 }] of files) {
    const file = join(folder, name);
    if ((await readFile(file).catch(() => undefined))?.equals(content)) continue;
    // A program that reads it now gets the old content or the new.
    await writeFile(`${file}.part`, content, { mode: 0o600 });
    await chmod(`${file}.part`, mode);
    await rename(`${file}.part`, file);
  }
  for (const name of await readdir(folder)) if (!files.has(name)) await rm(join(folder, name), { recursive: true });
}
