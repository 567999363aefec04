import { mkdir, readdir, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { environmentOf, expand } from './environment.ts';
import type { Image, ImageStore } from './images.ts';
import type { MemoryWatch } from './memory.ts';
import { translatePaths, type Mount } from './paths.ts';
import type { Container, NodePod } from './pod-spec.ts';
import type { Program } from './process-group.ts';
import { containerVariable } from './process-table.ts';
import { accountPath, accountVolume, type VolumeSources } from './volumes.ts';

/** The address of every pod (decision 0009). */
export const podAddress = '127.0.0.1';
/** What containers of one node share. */
export interface ContainerRuntime {
  kube: KubeClient;
  clock: Clock;
  images: ImageStore;
  memory: MemoryWatch;
  apiServer: VolumeSources['apiServer'];
  /** The folder of programs that every container finds first. */
  programs: string;
  /** Variables of every container, which its own may override. */
  variables: Readonly<Record<string, string>>;
  /** Whether containers run as the users that they ask for; only root can do that. */
  switchUsers: boolean;
}

/** One container's place in its pod. */
export interface ContainerPlace {
  pod: Stored<NodePod>;
  container: Container;
  /** Its own folder. */
  folder: string;
  volumes: ReadonlyMap<string, string>;
  /** How many lives it had before. */
  life: number;
}

/** The user of a container's processes; undefined for the node's own. */
export function userOf(
  { spec }: NodePod,
  { securityContext = {} }: Container,
): { user: number; group: number } | undefined {
  const user = securityContext.runAsUser ?? spec.securityContext?.runAsUser;
  if (user === undefined) return undefined;
  return { user, group: securityContext.runAsGroup ?? spec.securityContext?.runAsGroup ?? user };
}

/** A program whose paths a container's command can be translated with. */
export type TranslatingProgram = Program & { mounts: readonly Mount[]; variables: Readonly<Record<string, string>> };

/** A command as it is run: with its variables and the machine's paths. */
export function translated(command: readonly string[], { mounts, variables }: TranslatingProgram): string[] {
  return command.map((part) => translatePaths(expand(part, variables), mounts));
}

/** The program of a container with everything that it is told, in the machine's own paths. */
export async function programOf(
  runtime: ContainerRuntime,
  { pod, container, folder, volumes }: ContainerPlace,
  image: Image,
): Promise<TranslatingProgram> {
  const { kube, programs, switchUsers } = runtime;
  const work = join(folder, 'work');
  const home = image.workingDir ?? '/app';
  const mounts: Mount[] = (container.volumeMounts ?? []).flatMap(({ name, mountPath, subPath = '' }) => {
    const volume = volumes.get(name);
    return volume === undefined ? [] : [{ mountPath, folder: join(volume, subPath) }];
  });
  const account = volumes.get(accountVolume);
  if (account !== undefined) mounts.push({ mountPath: accountPath, folder: account });
  if (!mounts.some(({ mountPath }) => mountPath === '/tmp'))
    mounts.push({ mountPath: '/tmp', folder: join(folder, 'tmp') });
  await arrange(work, home, image, mounts);
  mounts.push({ mountPath: home, folder: work });

  const variables = { ...image.env, ...(await environmentOf(kube, pod, container, podAddress)) };
  const told = Object.entries(variables).map(([name, value]) => [name, translatePaths(value, mounts)]);
  const given = Object.fromEntries(told) as Record<string, string>;
  const { NODE_OPTIONS, ...common } = runtime.variables;
  const options = [NODE_OPTIONS, given['NODE_OPTIONS']].filter(Boolean).join(' ');
  const user = switchUsers ? userOf(pod, container) : undefined;
  const command = [
    ...(container.command ?? image.entrypoint ?? []),
    ...(container.args ?? (container.command ? [] : (image.command ?? []))),
  ];
  const program = { mounts, variables };
  return {
    ...program,
    command: translated(command, { ...program, command: [], cwd: work, env: {} }),
    cwd: container.workingDir === undefined ? work : translatePaths(container.workingDir, mounts),
    env: {
      HOME: work,
      TMPDIR: translatePaths('/tmp', mounts),
      HOSTNAME: pod.spec.hostname ?? pod.metadata.name,
      ...common,
      ...(account !== undefined && accountVariables(account, runtime.apiServer.url)),
      ...given,
      ...(options !== '' && { NODE_OPTIONS: options }),
      PATH: [programs, given['PATH'] ?? common['PATH'] ?? '/usr/local/bin:/usr/bin:/bin'].join(':'),
      SVC_NAMESPACE: pod.metadata.namespace ?? 'default',
      [containerVariable]: `${pod.metadata.uid}/${container.name}`,
    },
    ...(user && { user }),
  };
}

/** Where a pod's program finds the API server and what it signs in with, which lies at another place than in a container. */
function accountVariables(folder: string, apiServer: string): Record<string, string> {
  const { hostname, port } = new URL(apiServer);
  return { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port, SERVICE_ACCOUNT_FOLDER: folder };
}

/**
 * Makes the folder that a container runs in: links to what its image holds, so that what it writes is its own, and to the
 * volumes that are mounted below it.
 */
async function arrange(work: string, home: string, image: Image, mounts: readonly Mount[]): Promise<void> {
  await rm(work, { recursive: true, force: true });
  await mkdir(work, { recursive: true });
  for (const name of await readdir(image.folder)) await symlink(join(image.folder, name), join(work, name));
  for (const { mountPath, folder } of mounts) {
    await mkdir(folder, { recursive: true });
    if (!mountPath.startsWith(`${home}/`)) continue;
    const link = join(work, mountPath.slice(home.length + 1));
    await mkdir(dirname(link), { recursive: true });
    await rm(link, { recursive: true, force: true });
    await symlink(folder, link);
  }
}
