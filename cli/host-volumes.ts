import { readdirSync, readFileSync } from 'node:fs';
import { hostname, networkInterfaces } from 'node:os';
import { join } from 'node:path';

/** The machine that the command runs on. */
export interface Host {
  name: string;
  addresses: readonly string[];
  /** The content of /proc/self/mountinfo; empty where there is none. */
  mounts: string;
  /** The folders in a folder; none for one that does not exist. */
  folders(path: string): readonly string[];
}

/** Where provisioners of local storage keep a folder for each persistent volume. */
const localRoots = ['/var/lib/rancher/k3s/storage', '/opt/local-path-provisioner'];
/** Kinds of volumes that are not persistent. */
const temporaryPlugins = new Set([
  'kubernetes.io~secret',
  'kubernetes.io~configmap',
  'kubernetes.io~projected',
  'kubernetes.io~empty-dir',
  'kubernetes.io~downward-api',
]);
/** Where the kubelet mounts a persistent volume for a pod, also with a changed root folder. */
const kubeletMount = /\/pods\/[^/]+\/volumes\/([^/]+)\/([^/]+)(?:\/mount)?$/;
/** A volume of a provisioner, mounted in a folder of its name: `pvc-`, the claim's id, and what else the provisioner says. */
const provisionedMount = /\/(pvc-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}[^/]*)$/;

/** What this machine says about itself. */
export function readHost(): Host {
  const addresses = Object.values(networkInterfaces()).flatMap((list = []) => list.map(({ address }) => address));
  const attempt = <T>(read: () => T, otherwise: T): T => {
    try {
      return read();
    } catch {
      return otherwise;
    }
  };
  return {
    name: hostname(),
    addresses,
    mounts: attempt(() => readFileSync('/proc/self/mountinfo', 'utf8'), ''),
    folders: (path) =>
      attempt(
        () => readdirSync(path, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])),
        [],
      ),
  };
}

/** Whether a node of a cluster is this machine. A loopback address is that of any machine. Pure. */
export function isHost({ name, addresses }: Host, node: { name: string; addresses: readonly string[] }): boolean {
  const own = new Set(addresses.filter((address) => !address.startsWith('127.') && address !== '::1'));
  return node.name === name.toLowerCase() || node.addresses.some((address) => own.has(address));
}

interface MountPoint {
  path: string;
  readOnly: boolean;
}

/** https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html */
function parseMounts(text: string): MountPoint[] {
  return text.split('\n').flatMap((line) => {
    const fields = line.split(' ');
    const separator = fields.indexOf('-');
    const [path, options] = [fields[4], fields[5]];
    if (path === undefined || options === undefined || separator < 0) return [];
    // The options of the file system: ext4 becomes read-only there after an error, while the mount stays as it was.
    const superOptions = fields[separator + 3] ?? '';
    const readOnly = [options, superOptions].some((list) => list.split(',').includes('ro'));
    const decoded = path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8)));
    return [{ path: decoded, readOnly }];
  });
}

/**
 * The persistent volumes that are mounted read-only on this machine, by name, sorted.
 * @param embedded the folders of the embedded cluster's volumes
 */
export function readOnlyVolumes(host: Host, embedded: readonly { name: string; folder: string }[] = []): string[] {
  const mounts = parseMounts(host.mounts);
  const ofKubelet = mounts.flatMap(({ path, readOnly }) => {
    const [, plugin = '', name] = kubeletMount.exec(path) ?? [];
    return readOnly && name !== undefined && !temporaryPlugins.has(plugin) ? [name] : [];
  });
  const ofProvisioners = mounts.flatMap(({ path, readOnly }) => {
    const [, name] = provisionedMount.exec(path) ?? [];
    return readOnly && name !== undefined ? [name] : [];
  });
  const isReadOnly = (folder: string) => {
    const inside = mounts.filter(({ path }) => path === '/' || folder === path || folder.startsWith(`${path}/`));
    // The last one of several at the same path is in front.
    const nearest = inside.reduce<MountPoint | undefined>(
      (best, mount) => (best && best.path.length > mount.path.length ? best : mount),
      undefined,
    );
    return nearest?.readOnly ?? false;
  };
  const local = localRoots.flatMap((root) => host.folders(root).map((name) => ({ name, folder: join(root, name) })));
  const ofFolders = [...local, ...embedded].filter(({ folder }) => isReadOnly(folder)).map(({ name }) => name);
  return [...new Set([...ofKubelet, ...ofProvisioners, ...ofFolders])].sort();
}
