import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { execFile } from 'node:child_process';
import { chmod, cp, lstat, mkdir, mkdtemp, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { digestFolder, linkFolder } from './image-files.ts';

/** How to run an image; the same fields as a container image's configuration. */
export interface ImageConfiguration {
  entrypoint?: string[];
  env?: Record<string, string>;
  /** The path of the image's folder in a container; default `/app`. */
  workingDir?: string;
  /** A folder of programs, as a path in the container, that comes first in PATH; default none. */
  programs?: string;
}

/** The installed dependencies in an image, which later images of the same repository may share. */
interface ImageDependencies {
  /** The name of their folder in the image's folder. */
  folder: string;
  /** What the build named them; equal keys mean equal dependencies. */
  key: string;
  /** Whether a build that shares them reads them, because it runs a script. */
  needed?: boolean | undefined;
}

/** The same, as the store recorded them. */
interface StoredDependencies extends ImageDependencies {
  /** Over the folder's files. */
  digest: string;
  /** Of the folder's files. */
  bytes: number;
}

/** A folder of files to run programs from, identified by the digest of its content. */
export interface Image extends ImageConfiguration {
  /** `sha256:…` over files and configuration. */
  digest: string;
  dependencies?: StoredDependencies;
  /** The folder of its files. All containers of the image share it; nothing writes to it. */
  folder: string;
}

/** Prefix of the names that builds give their images: `<prefix><namespace>/<app>:<tag>`. */
export const builtImages = 'localhost:5000/builds/';

/**
 * The images on this machine: `blobs/<digest>/{files,image.json}`, `tags/<reference>` with a digest each,
 * and `owners/<digest>/<repository>` for every repository that ever had the image.
 */
export interface ImageStore {
  /**
   * Finds the image of a reference `name:tag`, `name@sha256:…` or both; the digest takes precedence. An image that only
   * builds made is found by the names of those builds only, as in a registry. @returns undefined for none
   */
  find(reference: string): Promise<Image | undefined>;
  /**
   * Copies a folder into the store as an image and tags it. An existing tag moves to this image.
   * @param options.dependencies the folder's own dependencies, which the image keeps a record of if their folder exists
   * @param options.base an image of the store, whose dependencies this image gets instead
   */
  add(
    folder: string,
    reference: string,
    configuration: ImageConfiguration,
    options?: { dependencies?: ImageDependencies | undefined; base?: Image | undefined },
  ): Promise<Image>;
  /** All tags with their digests, sorted by tag. */
  list(): Promise<{ reference: string; digest: string }[]>;
  /** Adds a tag to an image in the store. */
  tag(reference: string, image: Pick<Image, 'digest'>): Promise<void>;
  /**
   * Removes an image from a repository, with all its tags there, and its files when no other repository has it.
   * @returns false when the repository does not have it
   */
  remove(repository: string, digest: string): Promise<boolean>;
  /** Removes a tag, and the image when that was its last. @returns false when the tag does not exist */
  untag(reference: string): Promise<boolean>;
}

export function createImageStore(root: string): ImageStore {
  const blob = (digest: string) => join(root, 'blobs', digest.replace(':', '-'));
  const tagFile = (reference: string) => join(root, 'tags', encodeURIComponent(withTag(reference)));

  const owners = (digest: string) => join(root, 'owners', digest.replace(':', '-'));

  const recordedOwners = async (digest: string): Promise<string[]> =>
    (await readdir(owners(digest)).catch(() => [])).map(decodeURIComponent);

  /** Whether a digest may be used with this repository's name. */
  const isOwner = async (repository: string, digest: string): Promise<boolean> => {
    if (existsSync(join(owners(digest), encodeURIComponent(repository)))) return true;
    // Images of older versions of the platform have tags only.
    const tagged = (await list()).filter((tag) => tag.digest.trim() === digest);
    const recorded = await recordedOwners(digest);
    const repositories = [...tagged.map(({ reference }) => repositoryOf(reference)), ...recorded];
    const built = (name: string) => name.startsWith(builtImages);
    return repositories.includes(repository) || repositories.length === 0 || !repositories.every(built);
  };

  const load = async (digest: string): Promise<Image | undefined> => {
    const folder = blob(digest);
    if (!existsSync(join(folder, 'image.json'))) return undefined;
    const content = JSON.parse(await readFile(join(folder, 'image.json'), 'utf8')) as Pick<Image, 'dependencies'>;
    return { ...content, digest, folder: join(folder, 'files') };
  };

  const tag: ImageStore['tag'] = async (reference, { digest }) => {
    await createClosedFolder(join(root, 'tags'));
    await writeFile(`${tagFile(reference)}.part`, digest);
    await rename(`${tagFile(reference)}.part`, tagFile(reference));
    await createClosedFolder(join(root, 'owners'));
    await mkdir(owners(digest), { recursive: true });
    await writeFile(join(owners(digest), encodeURIComponent(repositoryOf(reference))), '');
  };

  const list: ImageStore['list'] = async () => {
    const files = await readdir(join(root, 'tags')).catch(() => []);
    const references = files.filter((file) => !file.endsWith('.part')).map(decodeURIComponent);
    return Promise.all(
      references
        .toSorted()
        .map(async (reference) => ({ reference, digest: await readFile(tagFile(reference), 'utf8') })),
    );
  };

  const remove: ImageStore['remove'] = async (repository, digest) => {
    if (!/^sha256:[a-f0-9]{64}$/.test(digest)) return false;
    const tagged = (await list()).filter((each) => each.digest.trim() === digest);
    const own = tagged.filter(({ reference }) => repositoryOf(reference) === repository);
    const isRecorded = (await recordedOwners(digest)).includes(repository);
    if (own.length === 0 && !isRecorded) return false;
    for (const { reference } of own) await rm(tagFile(reference), { force: true });
    await rm(join(owners(digest), encodeURIComponent(repository)), { force: true });
    if (tagged.length > own.length || (await recordedOwners(digest)).length > 0) return true;
    // Renamed first, so that an image that is added again meanwhile is complete.
    const removed = join(root, 'blobs', `.unfinished-${randomUUID()}`);
    await rename(blob(digest), removed).catch(() => undefined);
    await rm(owners(digest), { recursive: true, force: true });
    await rm(removed, { recursive: true, force: true });
    return true;
  };

  return {
    tag,
    list,
    remove,
    async untag(reference) {
      const digest = (await readFile(tagFile(reference), 'utf8').catch(() => undefined))?.trim();
      if (digest === undefined) return false;
      const repository = repositoryOf(reference);
      await rm(tagFile(reference), { force: true });
      const others = (await list()).filter((each) => repositoryOf(each.reference) === repository);
      if (!others.some((each) => each.digest.trim() === digest)) await remove(repository, digest);
      return true;
    },
    async find(reference) {
      const [, pinnedDigest] = reference.split('@');
      if (pinnedDigest !== undefined) {
        if (!/^sha256:[a-f0-9]{64}$/.test(pinnedDigest)) return undefined;
        return (await isOwner(repositoryOf(reference), pinnedDigest)) ? load(pinnedDigest) : undefined;
      }
      const digest = await readFile(tagFile(reference), 'utf8').catch(() => undefined);
      return digest === undefined ? undefined : load(digest.trim());
    },
    async add(folder, reference, configuration, { dependencies: own, base } = {}) {
      const dependencies = base ? base.dependencies : own && (await describe(folder, own));
      const content = { ...configuration, ...(dependencies && { dependencies }) };
      const text = JSON.stringify(content);
      const digest = `sha256:${(await digestFolder(folder, { head: text, without: dependencies?.folder })).digest}`;
      if (!existsSync(blob(digest))) {
        await createClosedFolder(join(root, 'blobs'), 0o711);
        // The image appears only when it is complete.
        const unfinished = await mkdtemp(join(root, 'blobs', '.unfinished-'));
        const files = join(unfinished, 'files');
        await cp(folder, files, { recursive: true, verbatimSymlinks: true });
        if (base && dependencies) {
          const target = join(files, dependencies.folder);
          await rm(target, { recursive: true, force: true });
          await linkFolder(join(base.folder, dependencies.folder), target);
        }
        await writeFile(join(unfinished, 'image.json'), text);
        await rename(unfinished, blob(digest)).catch(async (error: unknown) => {
          await rm(unfinished, { recursive: true, force: true });
          if (!existsSync(blob(digest))) throw error;
        });
      }
      await tag(reference, { digest });
      return { ...content, digest, folder: join(blob(digest), 'files') };
    },
  };
}

/** Only the owner can list it, so that a pod reaches no image whose digest it does not know. */
async function createClosedFolder(folder: string, mode = 0o700): Promise<void> {
  await mkdir(folder, { recursive: true });
  await chmod(folder, mode);
}

/**
 * Lets all users read an image's files, whatever their modes were before, and nobody but the owner change them. Programs
 * of the image run with no other user's rights.
 */
export async function publishImage({ folder }: Pick<Image, 'folder'>): Promise<void> {
  const blob = dirname(folder);
  const isOpen = ((await stat(blob)).mode & 0o001) !== 0;
  if (isOpen) return;
  await promisify(execFile)('chmod', ['-R', 'u=rwX,go=rX,a-st', '--', folder]);
  await chmod(blob, 0o711);
}

/** The image in a pod's status: the reference's name with the digest instead of the tag. Pure. */
export function imageIdOf(reference: string, { digest }: Pick<Image, 'digest'>): string {
  return `${repositoryOf(reference)}@${digest}`;
}

/** A reference without tag and digest. Pure. */
export function repositoryOf(reference: string): string {
  const [name = ''] = reference.split('@');
  const colon = name.indexOf(':', name.lastIndexOf('/') + 1);
  return colon === -1 ? name : name.slice(0, colon);
}

/** A reference without a tag means `latest`. A colon before the last slash belongs to a port. */
function withTag(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1).includes(':') ? reference : `${reference}:latest`;
}

/** Dependencies with the digest of their folder; undefined if the image's folder does not have it. */
async function describe(folder: string, dependencies: ImageDependencies): Promise<StoredDependencies | undefined> {
  const path = join(folder, dependencies.folder);
  const isFolder = (await lstat(path).catch(() => undefined))?.isDirectory() === true;
  return isFolder ? { ...dependencies, ...(await digestFolder(path)) } : undefined;
}
