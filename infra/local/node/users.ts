import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { killUsers } from './process-table.ts';
import type { UserNames } from './user-names.ts';

const run = promisify(execFile);

/**
 * The ids that pods get, for users and groups alike. No system assigns these, and none of the ranges of user namespaces
 * and containers contains them: "1879048192…2147483647 Unused" in https://systemd.io/UIDS-GIDS/.
 */
const ids = { first: 1_879_048_192, last: 2_147_352_575 };
/** Each node has a block of ids, as kubelet gives each pod with a user namespace. */
const blockSize = 65_536;
/** The nodes of this machine: a link for each block that is taken, to the folder of its node. */
const machineBlocks = '/run/svc-pod-users';

/** The users that the pods of one node run as (docs/decisions/0038-users-of-pods.md). */
export interface Users {
  /**
   * Gives a pod a user for its life, and the pod's folder to the group of that user. Pods that mount the same volume have
   * the same user, which owns the volume's files.
   * @param claims folders of the persistent volumes that the pod mounts
   * @throws Error while the volumes are in use by pods with different users
   */
  assign(pod: string, claims: readonly string[]): Promise<number>;
  /**
   * Kills all processes of a pod's user, including those that left their container.
   * @returns false when another running pod has the user, and nothing is killed
   */
  killProcesses(pod: string): boolean;
  /** The pod has ended. Its user is free once the pod's folder is gone. */
  release(pod: string): void;
}

/**
 * The users for the pods of a node, which must run as root. Kills processes that an earlier node left running.
 * @param folders.node the node's folder, which contains the other two
 * @param names receives the users. Default: they have no names
 * @throws Error when all blocks are taken
 */
export function openUsers(
  folders: { node: string; pods: string; claims: string },
  names?: UserNames,
  blocks = machineBlocks,
): Users {
  const first = takeBlock(resolve(folders.node), blocks);
  const isOurs = (id: number) => id >= first && id < first + blockSize;
  killUsers(isOurs);
  const running = new Map<string, number>();
  let next = first + randomInt(blockSize);
  let work: Promise<unknown> = Promise.resolve();

  /** The user of a pod or a volume is the group of its folder, which only root can change. */
  const userOf = (folder: string): number | undefined => {
    const { gid } = statSync(folder);
    return isOurs(gid) ? gid : undefined;
  };
  const runs = (user: number) => [...running.values()].includes(user);

  const freeUser = (): number => {
    const used = new Set(running.values());
    for (const parent of [folders.pods, folders.claims]) {
      for (const name of existsSync(parent) ? readdirSync(parent) : []) used.add(userOf(join(parent, name)) ?? 0);
    }
    for (let attempt = 0; attempt < blockSize; attempt++) {
      const user = next;
      next = next + 1 === first + blockSize ? first : next + 1;
      if (!used.has(user)) return user;
    }
    throw new Error(`All ${blockSize} users for pods are in use.`);
  };

  const choose = async (pod: string, claims: readonly string[]): Promise<number> => {
    const current = running.get(pod);
    if (current !== undefined) return current;
    for (const folder of [pod, ...claims]) mkdirSync(folder, { recursive: true });
    const owned = (claims.length > 0 ? claims : [pod]).map((folder) => ({ folder, owner: userOf(folder) }));
    const owners = owned.flatMap(({ owner }) => owner ?? []);
    const [busy, other] = new Set(owners.filter(runs));
    if (other !== undefined) {
      throw new Error('The volumes are in use by pods with different users. Waiting for one of these pods to end.');
    }
    const user = busy ?? owners[0] ?? freeUser();
    running.set(pod, user);
    try {
      for (const { folder, owner } of claims.length > 0 ? owned : []) {
        if (owner !== user) await giveTree(folder, user, owner);
      }
      chownSync(pod, 0, user);
      chmodSync(pod, 0o710);
    } catch (error) {
      running.delete(pod);
      throw error;
    }
    return user;
  };

  return {
    assign(pod, claims) {
      const chosen = work.then(async () => {
        const user = await choose(pod, claims);
        names?.add(user);
        return user;
      });
      work = chosen.catch(() => undefined);
      return chosen;
    },
    killProcesses(pod) {
      const user = running.get(pod);
      if (user === undefined || [...running].some(([folder, other]) => other === user && folder !== pod)) return false;
      killUsers((id) => id === user);
      return true;
    },
    release: (pod) => void running.delete(pod),
  };
}

/**
 * Gives a folder and its content to a user and the group of the same id, and to nobody else.
 * @param from changes only what belongs to this user: a pod may have made hard links to files of others. Default all
 */
export async function giveTree(folder: string, user: number, from?: number): Promise<void> {
  chmodSync(folder, 0o700);
  // No pod can reach what is still this process's own, so an empty folder, such as each new one, needs no program.
  if (from === undefined && isOwnAndEmpty(folder)) return lchownSync(folder, user, user);
  // Unlike Node.js, these programs follow no link, even if a pod replaces a folder by one at this moment.
  await run('chown', ['-hR', ...(from === undefined ? [] : [`--from=${from}`]), `${user}:${user}`, '--', folder]);
}

function isOwnAndEmpty(folder: string): boolean {
  return lstatSync(folder).uid === process.getuid?.() && readdirSync(folder).length === 0;
}

/** Deletes a folder that pods can write to, if it exists. */
export async function removeTree(folder: string): Promise<void> {
  if (!lstatSync(folder, { throwIfNoEntry: false })) return;
  await run('rm', ['-rf', '--', folder]);
}

/** Why this process cannot give pods users of their own, although it runs as root; undefined if it can. */
export function findMissingRight(): string | undefined {
  const needed = {
    CAP_CHOWN: 0,
    CAP_DAC_OVERRIDE: 1,
    CAP_FOWNER: 3,
    CAP_KILL: 5,
    CAP_SETGID: 6,
    CAP_SETUID: 7,
    CAP_SYS_ADMIN: 21,
  };
  const [, mask = '0'] = /^CapEff:\s*(\w+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  const rights = BigInt(`0x${mask}`);
  const missing = Object.entries(needed).find(([, bit]) => ((rights >> BigInt(bit)) & 1n) === 0n);
  if (missing) return `the right ${missing[0]}`;
  const isMapped = (file: string) =>
    readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/\s+/).map(Number))
      .some(([start = 0, , count = 0]) => start <= ids.first && ids.last < start + count);
  const isComplete = ['/proc/self/uid_map', '/proc/self/gid_map'].every(isMapped);
  return isComplete ? undefined : `the user ids ${ids.first} to ${ids.last}, which its user namespace does not have`;
}

/** The first id of the node's block: the one that it has had before, or one that no other node of this machine has. */
function takeBlock(node: string, blocks: string): number {
  mkdirSync(blocks, { recursive: true, mode: 0o700 });
  const links = readdirSync(blocks).map((name) => ({ name, owner: readlinkSync(join(blocks, name)) }));
  for (const { name, owner } of links) {
    if (owner === node) return Number(name);
    if (!existsSync(owner)) rmSync(join(blocks, name), { force: true });
  }
  const count = Math.floor((ids.last + 1 - ids.first) / blockSize);
  // Links do not outlive a restart of the machine, but the files in the node's folder belong to these users.
  const previous = Math.floor((statSync(node).gid - ids.first) / blockSize);
  const candidates = [...(previous >= 0 ? [previous] : []), ...Array.from({ length: count }, () => randomInt(count))];
  for (const index of candidates) {
    const first = ids.first + index * blockSize;
    try {
      symlinkSync(node, join(blocks, String(first)));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
      throw error;
    }
    chownSync(node, 0, first);
    return first;
  }
  throw new Error(`All blocks of user ids are taken by other nodes; see ${blocks}.`);
}
