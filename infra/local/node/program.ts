import { mkdir, readdir, rm, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { environmentOf, expand } from './environment.ts';
import type { Image, ImageStore } from './images.ts';
import type { MemoryWatch } from './memory.ts';
import { readHosts, translateName } from './names.ts';
import { translatePaths, type Mount } from './paths.ts';
import type { Container, NodePod } from './pod-spec.ts';
import type { Program } from './process-group.ts';
import { containerVariable } from './process-table.ts';
import { accountPath, accountVolume, type VolumeSources } from './volumes.ts';

/** The address of every pod (decision 0009). */
export const podAddress = '127.0.0.1';

/** Where a container leaves the message that it ends with, as Kubernetes has it. */
const terminationLog = '/dev/termination-log';

/** The file that stands for it in a container's own folder. */
export function terminationFile(life: number): string {
  return `${life}.termination`;
}

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
  /** Of the addresses of Services. */
  hostsFile: string;
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

/** A container's program, and how commands that run beside it are made the machine's. */
export interface ContainerProgram extends Program {
  /** `<pod uid>/<container>` */
  container: string;
  /** A command with its variables and the machine's paths. */
  translate(command: readonly string[]): string[];
}

/** The program of a container with everything that it is told, in the machine's own paths. @throws ConfigError */
export async function programOf(
  { kube, programs, apiServer, hostsFile, variables: { NODE_OPTIONS, PYTHONPATH, ...common } }: ContainerRuntime,
  place: ContainerPlace,
  image: Image,
): Promise<ContainerProgram> {
  const { pod, container, folder, volumes } = place;
  const work = join(folder, 'work');
  const home = image.workingDir ?? '/app';
  const account = volumes.get(accountVolume);
  const mounts: Mount[] = [
    { mountPath: '/tmp', folder: join(folder, 'tmp') },
    ...(account === undefined ? [] : [{ mountPath: accountPath, folder: account }]),
    ...(container.volumeMounts ?? []).map(({ name, mountPath }) => ({ mountPath, folder: volumes.get(name) ?? '' })),
  ].filter(({ mountPath }, index, all) => all.findLastIndex((other) => other.mountPath === mountPath) === index);
  await arrange(work, home, image, mounts);
  mounts.push(
    { mountPath: home, folder: work },
    { mountPath: terminationLog, folder: join(folder, terminationFile(place.life)) },
  );

  const variables = { ...image.env, ...(await environmentOf(kube, pod, container, podAddress)) };
  const started = [...(container.command ?? image.entrypoint ?? []), ...(container.args ?? [])];
  const hosts = isNode(started) ? new Map<string, string>() : await readHosts(hostsFile);
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(variables))
    given[name] = translatePaths(translateName(value, hosts), mounts);
  const translate = (command: readonly string[]) =>
    command.map((part) => translatePaths(expand(part, variables), mounts));
  const name = `${pod.metadata.uid}/${container.name}`;
  const ownPrograms = image.programs === undefined ? [] : [translatePaths(image.programs, mounts)];
  return {
    container: name,
    translate,
    command: translate(started),
    cwd: work,
    env: {
      HOME: work,
      TMPDIR: translatePaths('/tmp', mounts),
      HOSTNAME: pod.metadata.name,
      ...common,
      ...(account !== undefined && accountVariables(account, apiServer.url)),
      ...given,
      NODE_OPTIONS: [NODE_OPTIONS, given['NODE_OPTIONS']].filter(Boolean).join(' '),
      PYTHONPATH: [PYTHONPATH, given['PYTHONPATH']].filter(Boolean).join(':'),
      PATH: [...ownPrograms, programs, given['PATH'] ?? common['PATH']].join(':'),
      SVC_NAMESPACE: pod.metadata.namespace ?? 'default',
      [containerVariable]: name,
    },
  };
}

/** Programs of Node find names of Services themselves, and so the way to a Service's only pod. */
function isNode(command: readonly string[]): boolean {
  const [program = ''] = command[0] === 'tini' ? command.filter((part) => part !== 'tini' && part !== '--') : command;
  return basename(program) === 'node';
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
