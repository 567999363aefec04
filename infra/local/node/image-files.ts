import { createHash, type Hash } from 'node:crypto';
import { copyFile, link, mkdir, readFile, readdir, readlink, symlink } from 'node:fs/promises';
import { join } from 'node:path';

/** How many files are linked at once. */
const linksAtOnce = 32;

/** A folder's content in one digest, and its size. */
export interface FolderDigest {
  digest: string;
  /** Of all files together. */
  bytes: number;
}

/**
 * The digest of a folder's files: their paths, kinds and content, not their modes.
 * @param options.head what else the digest covers
 * @param options.without the name of a file or folder in it that is left out
 */
export async function digestFolder(
  folder: string,
  { head = '', without }: { head?: string; without?: string | undefined } = {},
): Promise<FolderDigest> {
  const digest = createHash('sha256');
  add(digest, 'head', Buffer.from(head));
  let bytes = 0;
  for await (const { path, kind, content } of filesIn(folder, '', without)) {
    add(digest, `${kind} ${path}`, content);
    if (kind === 'file') bytes += content.length;
  }
  return { digest: digest.digest('hex'), bytes };
}

/** With lengths, so that no content reads as another file that follows. */
function add(digest: Hash, name: string, content: Buffer): void {
  digest.update(`${Buffer.byteLength(name)} ${content.length}\n${name}`).update(content);
}

async function* filesIn(
  folder: string,
  below: string,
  without?: string,
): AsyncGenerator<{ path: string; kind: 'file' | 'folder' | 'link' | 'other'; content: Buffer }> {
  const entries = await readdir(join(folder, below), { withFileTypes: true });
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name === without) continue;
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    const file = join(folder, path);
    if (entry.isDirectory()) {
      yield { path, kind: 'folder', content: Buffer.alloc(0) };
      yield* filesIn(folder, path);
    } else if (entry.isFile()) yield { path, kind: 'file', content: await readFile(file) };
    else if (entry.isSymbolicLink()) yield { path, kind: 'link', content: Buffer.from(await readlink(file)) };
    else yield { path, kind: 'other', content: Buffer.alloc(0) };
  }
}

/** Makes a folder with the same files as another one, which share their content: nothing writes to files of images. */
export async function linkFolder(from: string, to: string): Promise<void> {
  await mkdir(to);
  const entries = await readdir(from, { withFileTypes: true });
  for (let start = 0; start < entries.length; start += linksAtOnce) {
    await Promise.all(
      entries.slice(start, start + linksAtOnce).map(async (entry) => {
        const [source, target] = [join(from, entry.name), join(to, entry.name)];
        if (entry.isDirectory()) await linkFolder(source, target);
        else if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
        // File systems limit the number of links to a file.
        else if (entry.isFile()) await link(source, target).catch(() => copyFile(source, target));
      }),
    );
  }
}
