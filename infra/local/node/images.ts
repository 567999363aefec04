import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, readdir, readlink, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What an image says about how it is run; the same fields as a container image's configuration. */
export interface ImageConfiguration {
  entrypoint?: string[];
  env?: Record<string, string>;
  /** Where the image's folder lies in the eyes of its programs; default `/app`. */
  workingDir?: string;
  /** A folder of programs that come before those that the node has, in the eyes of the image's programs; default none. */
  programs?: string;
}

/** A folder to run programs from, known by the digest of what is in it. */
export interface Image extends ImageConfiguration {
  /** `sha256:…` over files and configuration. */
  digest: string;
  /** Where its files lie; shared by all that run it, and never written to. */
  folder: string;
}

/** The images of this machine: `blobs/<digest>/{files,image.json}`, and `tags/<reference>` with a digest each. */
export interface ImageStore {
  /** The image of a reference, `name:tag`, `name@sha256:…` or both, of which the digest counts; undefined for none. */
  find(reference: string): Promise<Image | undefined>;
  /** Takes a copy of a folder in as an image and gives it a tag, which is moved when another image has it. */
  add(folder: string, reference: string, configuration: ImageConfiguration): Promise<Image>;
  /** Every name with the digest that it stands for, by name. */
  list(): Promise<{ reference: string; digest: string }[]>;
  /** Gives an image that is in the store another name. */
  tag(reference: string, image: Pick<Image, 'digest'>): Promise<void>;
}

export function createImageStore(root: string): ImageStore {
  const blob = (digest: string) => join(root, 'blobs', digest.replace(':', '-'));
  const tagFile = (reference: string) => join(root, 'tags', encodeURIComponent(withTag(reference)));

  const load = async (digest: string): Promise<Image | undefined> => {
    const folder = blob(digest);
    if (!existsSync(join(folder, 'image.json'))) return undefined;
    const configuration = JSON.parse(await readFile(join(folder, 'image.json'), 'utf8')) as ImageConfiguration;
    return { ...configuration, digest, folder: join(folder, 'files') };
  };

  const tag: ImageStore['tag'] = async (reference, { digest }) => {
    await mkdir(join(root, 'tags'), { recursive: true });
    await writeFile(`${tagFile(reference)}.part`, digest);
    await rename(`${tagFile(reference)}.part`, tagFile(reference));
  };

  return {
    tag,
    async list() {
      const files = await readdir(join(root, 'tags')).catch(() => []);
      const references = files.filter((file) => !file.endsWith('.part')).map(decodeURIComponent);
      return Promise.all(
        references
          .toSorted()
          .map(async (reference) => ({ reference, digest: await readFile(tagFile(reference), 'utf8') })),
      );
    },
    async find(reference) {
      const [, pinned] = reference.split('@');
      if (pinned !== undefined) return load(pinned);
      const digest = await readFile(tagFile(reference), 'utf8').catch(() => undefined);
      return digest === undefined ? undefined : load(digest.trim());
    },
    async add(folder, reference, configuration) {
      const digest = `sha256:${await digestOf(folder, configuration)}`;
      if (!existsSync(blob(digest))) {
        await mkdir(join(root, 'blobs'), { recursive: true });
        // It appears when it is whole.
        const making = await mkdtemp(join(root, 'blobs', '.making-'));
        await cp(folder, join(making, 'files'), { recursive: true, verbatimSymlinks: true });
        await writeFile(join(making, 'image.json'), JSON.stringify(configuration));
        await rename(making, blob(digest)).catch(async (error: unknown) => {
          await rm(making, { recursive: true, force: true });
          if (!existsSync(blob(digest))) throw error;
        });
      }
      await tag(reference, { digest });
      return { ...configuration, digest, folder: join(blob(digest), 'files') };
    },
  };
}

/** What a pod's status says of the image that runs: the reference's name with the digest in place of its tag. Pure. */
export function imageIdOf(reference: string, { digest }: Pick<Image, 'digest'>): string {
  const [named = ''] = reference.split('@');
  const colon = named.indexOf(':', named.lastIndexOf('/') + 1);
  return `${colon === -1 ? named : named.slice(0, colon)}@${digest}`;
}

/** A reference without a tag means `latest`; a colon before the last slash is a port. */
function withTag(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1).includes(':') ? reference : `${reference}:latest`;
}

async function digestOf(folder: string, configuration: ImageConfiguration): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(configuration));
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.map((entry) => ({ path: join(entry.parentPath, entry.name), entry }));
  for (const { path, entry } of paths.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    hash.update(`\0${path.slice(folder.length)}\0`);
    if (entry.isFile()) hash.update(await readFile(path));
    else if (entry.isSymbolicLink()) hash.update(await readlink(path));
  }
  return hash.digest('hex');
}
