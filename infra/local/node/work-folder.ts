import { lchown, lstat, mkdir, readdir, rm, symlink } from 'node:fs/promises';
import { join, posix } from 'node:path';
import type { Image } from './images.ts';
import type { Mount } from './paths.ts';
import { removeTree } from './users.ts';

/**
 * Creates the folder that a container runs in. It links to the image's files, so that the container's own files stay
 * apart, and to the volumes that are mounted below it.
 * @param options.home the path of the image's folder in the container
 * @param options.user the user that the container runs as, who gets the folder. Default this process's own
 */
export async function createWorkFolder(
  work: string,
  image: Pick<Image, 'folder'>,
  { home, mounts, user }: { home: string; mounts: readonly Mount[]; user: number | undefined },
): Promise<void> {
  await (user === undefined ? rm(work, { recursive: true, force: true }) : removeTree(work));
  await linkEntries(work, image.folder);
  const folders = [work];
  for (const { mountPath, folder } of mounts) {
    const path = posix.relative(home, mountPath);
    if (path === '' || path.startsWith('..')) continue;
    const parents = path.split('/').slice(0, -1);
    folders.push(...(await expand(work, image.folder, parents)));
    await rm(join(work, path), { recursive: true, force: true });
    await symlink(folder, join(work, path));
  }
  if (user === undefined) return;
  // The outer folder last: from then on, other containers of the pod can replace what is in it.
  for (const folder of folders.toReversed()) await lchown(folder, user, user);
}

/** Creates a folder with links to the entries of another one. */
async function linkEntries(folder: string, source: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await readdir(source)) await symlink(join(source, name), join(folder, name));
}

/**
 * Replaces the link to a folder of the image by a folder, for each of these parts of a path. What the image itself links to
 * is not followed, since that may be any folder of this machine. @returns the new folders
 */
async function expand(work: string, image: string, parts: readonly string[]): Promise<string[]> {
  const created: string[] = [];
  let [folder, source] = [work, image];
  for (const part of parts) {
    folder = join(folder, part);
    source = join(source, part);
    if (await isFolder(folder)) continue;
    await rm(folder, { force: true });
    if (await isFolder(source)) await linkEntries(folder, source);
    else await mkdir(folder, { mode: 0o700 });
    created.push(folder);
  }
  return created;
}

async function isFolder(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined))?.isDirectory() === true;
}
