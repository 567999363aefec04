import { chown, mkdir, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { resolveEnvironment, expand } from './environment.ts';
import type { Image, ImageStore } from './images.ts';
import type { LogWatch } from './log-watch.ts';
import type { CollectLines } from './logs.ts';
import type { MemoryWatch } from './memory.ts';
import { readHosts, translateName } from './names.ts';
import { nicenessOf } from './niceness.ts';
import { translatePaths, type Mount } from './paths.ts';
import type { Container, NodePod } from './pod-spec.ts';
import type { Program } from './process-group.ts';
import { containerVariable } from './process-table.ts';
import { giveTree } from './users.ts';
import { accountPath, accountVolume, type VolumeSources } from './volumes.ts';
import { createWorkFolder } from './work-folder.ts';

/** The address of every pod (docs/decisions/0009-pods-as-processes.md). */
export const podAddress = '127.0.0.1';

/** The path of the termination message in a container, as in Kubernetes. */
const terminationLog = '/dev/termination-log';

/** The termination message's file in the container's own folder. */
export function terminationFile(restartCount: number): string {
  return `${restartCount}.termination`;
}

/** The data that all containers of one node share. */
export interface ContainerRuntime {
  kube: KubeClient;
  clock: Clock;
  images: ImageStore;
  memory: MemoryWatch;
  apiServer: VolumeSources['apiServer'];
  /** A folder of programs that comes first in every container's PATH. */
  programs: string;
  /** Variables of every container. The container's own variables override them. */
  variables: Readonly<Record<string, string>>;
  /** The file with the addresses of Services. */
  hostsFile: string;
  /** Takes what containers print. */
  collect?: CollectLines | undefined;
  /** Tells who follows a log of each write. */
  logWatch: LogWatch;
}

/** A container in its pod. */
export interface ContainerPlace {
  pod: Stored<NodePod>;
  container: Container;
  /** The container's own folder. */
  folder: string;
  volumes: ReadonlyMap<string, string>;
  /** The number of earlier runs. */
  restartCount: number;
  /** The user that the pod runs as. Default this process's own. */
  user: number | undefined;
}

/** A container's program and the translation of commands for it. */
export interface ContainerProgram extends Program {
  /** `<pod uid>/<container>` */
  container: string;
  /** Replaces variables and the container's paths in a command. */
  translate(command: readonly string[]): string[];
}

/** The program of a container with its environment, in this machine's paths. @throws ConfigError */
export async function createProgram(
  { kube, programs, apiServer, hostsFile, variables: { NODE_OPTIONS, PYTHONPATH, ...common } }: ContainerRuntime,
  place: ContainerPlace,
  image: Image,
): Promise<ContainerProgram> {
  const { pod, container, folder, volumes, user, restartCount } = place;
  const work = join(folder, 'work');
  const home = image.workingDir ?? '/app';
  const account = volumes.get(accountVolume);
  const mounts: Mount[] = [
    { mountPath: '/tmp', folder: join(folder, 'tmp') },
    ...(account === undefined ? [] : [{ mountPath: accountPath, folder: account }]),
    ...(container.volumeMounts ?? []).map(({ name, mountPath }) => ({ mountPath, folder: volumes.get(name) ?? '' })),
  ].filter(({ mountPath }, index, all) => all.findLastIndex((other) => other.mountPath === mountPath) === index);
  const message = join(folder, terminationFile(restartCount));
  await mkdir(join(folder, 'tmp'), { recursive: true });
  if (user !== undefined) {
    if ((await stat(join(folder, 'tmp'))).uid !== user) await giveTree(join(folder, 'tmp'), user);
    // The pod cannot create files in this folder.
    await writeFile(message, '', { flag: 'a', mode: 0o600 });
    await chown(message, user, user);
  }
  await createWorkFolder(work, image, { home, mounts, user });
  mounts.push({ mountPath: home, folder: work }, { mountPath: terminationLog, folder: message });

  const variables = { ...image.env, ...(await resolveEnvironment(kube, pod, container, podAddress)) };
  const startCommand = [...(container.command ?? image.entrypoint ?? []), ...(container.args ?? [])];
  const hosts = isNode(startCommand) ? new Map<string, string>() : await readHosts(hostsFile);
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(variables))
    environment[name] = translatePaths(translateName(value, hosts), mounts);
  const translate = (command: readonly string[]) =>
    command.map((part) => translatePaths(expand(part, variables), mounts));
  const name = `${pod.metadata.uid}/${container.name}`;
  const ownPrograms = image.programs === undefined ? [] : [translatePaths(image.programs, mounts)];
  return {
    container: name,
    translate,
    command: translate(startCommand),
    cwd: work,
    user,
    niceness: nicenessOf(pod),
    env: {
      HOME: work,
      TMPDIR: translatePaths('/tmp', mounts),
      HOSTNAME: pod.metadata.name,
      ...common,
      ...(account !== undefined && accountVariables(account, apiServer.url)),
      ...environment,
      NODE_OPTIONS: [NODE_OPTIONS, environment['NODE_OPTIONS']].filter(Boolean).join(' '),
      PYTHONPATH: [PYTHONPATH, environment['PYTHONPATH']].filter(Boolean).join(':'),
      PATH: [...ownPrograms, programs, environment['PATH'] ?? common['PATH']].join(':'),
      SVC_NAMESPACE: pod.metadata.namespace ?? 'default',
      [containerVariable]: name,
    },
  };
}

/**
 * Node.js programs resolve Service names themselves (preload.cjs), which lets them connect to a Service's only pod
 * directly.
 */
function isNode(command: readonly string[]): boolean {
  const [program = ''] = command[0] === 'tini' ? command.filter((part) => part !== 'tini' && part !== '--') : command;
  return basename(program) === 'node';
}

/** The API server's address and the folder of the service account, which differ from those in a container. */
function accountVariables(folder: string, apiServer: string): Record<string, string> {
  const { hostname, port } = new URL(apiServer);
  return { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port, SERVICE_ACCOUNT_FOLDER: folder };
}
