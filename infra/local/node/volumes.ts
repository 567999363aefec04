import { chmod, chown, mkdir, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { ConfigError, dataOf } from './environment.ts';
import { fieldOf, type NodePod, type Projection, type Volume } from './pod-spec.ts';

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
  mode: number;
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
 * @param owner the user and group that own them, where they are to be others than the node's
 * @returns the folder of each volume @throws ConfigError while something that they are made of is missing
 */
export async function mountVolumes(
  sources: VolumeSources,
  pod: Stored<NodePod>,
  root: string,
  owner?: { user: number; group: number },
): Promise<Map<string, string>> {
  const folders = new Map<string, string>();
  const withAccount = pod.spec.automountServiceAccountToken !== false && pod.spec.serviceAccountName !== undefined;
  for (const volume of pod.spec.volumes ?? []) {
    const claim = volume.persistentVolumeClaim?.claimName;
    const folder = claim === undefined ? join(root, volume.name) : await claimFolder(sources, pod, claim);
    folders.set(volume.name, folder);
    await makeFolder(folder, owner);
    const files = await filesOf(sources, pod, volume);
    if (files) await replaceFiles(folder, files, owner);
  }
  if (withAccount) {
    const folder = join(root, accountVolume);
    folders.set(accountVolume, folder);
    await makeFolder(folder, owner);
    await replaceFiles(folder, await accountFiles(sources, pod), owner);
  }
  return folders;
}

async function claimFolder({ kube, claims }: VolumeSources, pod: NodePod, name: string): Promise<string> {
  const claim = await kube.get(kinds.PersistentVolumeClaim, name, pod.metadata.namespace);
  if (!claim) throw new ConfigError(`persistentvolumeclaim "${name}" not found`);
  return join(claims, claim.metadata.uid);
}

async function makeFolder(folder: string, owner: { user: number; group: number } | undefined): Promise<void> {
  await mkdir(folder, { recursive: true });
  if (owner) await chown(folder, owner.user, owner.group);
}

/** The files of a volume that has its content from elsewhere; undefined for one that programs fill. */
async function filesOf(
  sources: VolumeSources,
  pod: Stored<NodePod>,
  volume: Volume,
): Promise<Map<string, VolumeFile> | undefined> {
  const { secret, configMap, downwardAPI, projected } = volume;
  if (projected) {
    const parts = await Promise.all(
      projected.sources.map((source) => projectionOf(sources, pod, source, projected.defaultMode)),
    );
    return new Map(parts.flatMap((part) => [...part]));
  }
  if (!secret && !configMap && !downwardAPI) return undefined;
  const source: Projection = {
    ...(secret && { secret }),
    ...(configMap && { configMap }),
    ...(downwardAPI && { downwardAPI }),
  };
  return projectionOf(sources, pod, source, (secret ?? configMap)?.defaultMode);
}

async function projectionOf(
  sources: VolumeSources,
  pod: Stored<NodePod>,
  projection: Projection,
  defaultMode = 0o644,
): Promise<Map<string, VolumeFile>> {
  const { namespace = 'default', name, uid } = pod.metadata;
  const files = new Map<string, VolumeFile>();
  for (const kind of [kinds.Secret, kinds.ConfigMap]) {
    const source = kind === kinds.Secret ? projection.secret : projection.configMap;
    if (!source) continue;
    const { items, optional } = source;
    const sourceName = source.secretName ?? source.name ?? '';
    const data = (await dataOf(sources.kube, kind, sourceName, { namespace, optional })) ?? new Map<string, Buffer>();
    const entries = items ?? [...data.keys()].map((key) => ({ key, path: key, mode: defaultMode }));
    for (const { key, path, mode = defaultMode } of entries) {
      const content = data.get(key);
      if (content) files.set(path, { content, mode });
      else if (!optional) throw new ConfigError(`references non-existent key ${key} in ${kind.kind} "${sourceName}"`);
    }
  }
  const token = projection.serviceAccountToken;
  if (token) {
    const { path, audience, expirationSeconds } = token;
    const content = await sources.issueToken({
      namespace,
      serviceAccount: pod.spec.serviceAccountName ?? 'default',
      pod: { name, uid },
      ...(audience !== undefined && { audience }),
      ...(expirationSeconds !== undefined && { expirationSeconds }),
    });
    files.set(path, { content: Buffer.from(content), mode: 0o600 });
  }
  for (const { path, fieldRef } of projection.downwardAPI?.items ?? []) {
    const value = fieldOf(pod, fieldRef?.fieldPath ?? '', '127.0.0.1') ?? '';
    files.set(path, { content: Buffer.from(value), mode: defaultMode });
  }
  return files;
}

/** Kubernetes' own three files. */
async function accountFiles(
  { issueToken, apiServer }: VolumeSources,
  pod: Stored<NodePod>,
): Promise<Map<string, VolumeFile>> {
  const { namespace = 'default', name, uid } = pod.metadata;
  const serviceAccount = pod.spec.serviceAccountName ?? 'default';
  const token = await issueToken({ namespace, serviceAccount, pod: { name, uid } });
  const file = (text: string, mode = 0o644) => ({ content: Buffer.from(text), mode });
  return new Map([
    ['token', file(token, 0o600)],
    ['namespace', file(namespace)],
    ['ca.crt', file(apiServer.ca)],
  ]);
}

async function replaceFiles(
  folder: string,
  files: ReadonlyMap<string, VolumeFile>,
  owner: { user: number; group: number } | undefined,
): Promise<void> {
  for (const [path, { content, mode }] of files) {
    const file = join(folder, path);
    if ((await readFile(file).catch(() => undefined))?.equals(content)) continue;
    await mkdir(dirname(file), { recursive: true });
    // A program that reads it now gets the old content or the new.
    const part = join(dirname(file), `.${path.replaceAll('/', '-')}.part`);
    await writeFile(part, content, { mode: 0o600 });
    if (owner) await chown(part, owner.user, owner.group);
    await chmod(part, mode);
    await rename(part, file);
  }
  for (const entry of await readdir(folder, { recursive: true })) {
    const path = join(folder, entry);
    if (files.has(relative(folder, path)) || (await stat(path)).isDirectory()) continue;
    await rm(path, { force: true });
  }
}
