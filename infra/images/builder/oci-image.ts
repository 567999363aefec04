import { createHash, hash } from 'node:crypto';
import { spawn } from 'node:child_process';
import { createWriteStream, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { BuildFailure } from './failure.ts';

/** https://github.com/opencontainers/image-spec/blob/main/descriptor.md */
interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
}

/** What is read of a manifest: https://github.com/opencontainers/image-spec/blob/main/manifest.md */
interface Manifest {
  schemaVersion: number;
  config: Descriptor;
  layers: Descriptor[];
}

interface HistoryEntry {
  created?: string;
  created_by?: string;
  empty_layer?: boolean;
}

/** What is read of a configuration: https://github.com/opencontainers/image-spec/blob/main/config.md */
interface Configuration {
  created?: string;
  config?: { Env?: string[]; Entrypoint?: string[]; Cmd?: string[]; Labels?: Record<string, string> };
  rootfs: { type: 'layers'; diff_ids: string[] };
  history?: HistoryEntry[] | undefined;
}

/** An image without its layers. */
export interface OciImage {
  manifest: Manifest;
  configuration: Configuration;
}

const manifestType = 'application/vnd.oci.image.manifest.v1+json';
const configurationType = 'application/vnd.oci.image.config.v1+json';
const layerType = 'application/vnd.oci.image.layer.v1.tar+gzip';
const digestPattern = /^sha256:[0-9a-f]{64}$/;
/** More layers than container runtimes mount. */
const layersMax = 127;

/** Reads an image from the texts of its manifest and configuration; undefined for anything but an image of OCI layers. Pure. */
export function parseImage(manifestText: string, configurationText: string): OciImage | undefined {
  try {
    const manifest = JSON.parse(manifestText) as Manifest;
    const configuration = JSON.parse(configurationText) as Configuration;
    const { layers, config } = manifest;
    const diffIds = configuration.rootfs.diff_ids;
    const isImage =
      [config, ...layers].every(isDescriptor) &&
      diffIds.every((id) => digestPattern.test(id)) &&
      layers.length <= layersMax &&
      layers.length === diffIds.length;
    return isImage ? { manifest, configuration } : undefined;
  } catch {
    return undefined;
  }
}

function isDescriptor({ mediaType, digest, size }: Descriptor): boolean {
  return typeof mediaType === 'string' && digestPattern.test(digest) && Number.isSafeInteger(size) && size >= 0;
}

/** What the layers of an image take in a registry, in bytes; undefined for text that is no manifest. Pure. */
export function manifestBytes(text: string): number | undefined {
  try {
    const { config, layers } = JSON.parse(text) as Manifest;
    const parts = [config, ...layers];
    return parts.every(isDescriptor) ? parts.reduce((sum, { size }) => sum + size, 0) : undefined;
  } catch {
    return undefined;
  }
}

/** The image as it was before the layers that follow the first `count`. Pure. */
export function firstLayers({ manifest, configuration }: OciImage, count: number): OciImage {
  return {
    manifest: { ...manifest, layers: manifest.layers.slice(0, count) },
    configuration: {
      ...configuration,
      rootfs: { type: 'layers', diff_ids: configuration.rootfs.diff_ids.slice(0, count) },
      history: firstHistory(configuration.history, count),
    },
  };
}

/** The history up to the layer `count`; undefined when it does not describe each layer, as a registry demands. */
function firstHistory(history: readonly HistoryEntry[] = [], count: number): HistoryEntry[] | undefined {
  const layers = history.flatMap(({ empty_layer: isEmpty }, index) => (isEmpty === true ? [] : [index]));
  const last = layers[count - 1];
  return last === undefined ? undefined : history.slice(0, last + 1);
}

/** A layer that was made, with the digest of its content before compression. */
interface Layer extends Descriptor {
  diffId: string;
}

/** The image with one more layer. Pure. @param created when, in ISO 8601 */
export function withLayer(
  { manifest, configuration }: OciImage,
  { diffId, ...layer }: Layer,
  created: string,
): OciImage {
  const { rootfs, history } = configuration;
  return {
    manifest: { ...manifest, layers: [...manifest.layers, layer] },
    configuration: {
      ...configuration,
      created,
      rootfs: { type: 'layers', diff_ids: [...rootfs.diff_ids, diffId] },
      history: history && [...history, { created, created_by: 'COPY . .' }],
    },
  };
}

const blobsIn = (layout: string) => join(layout, 'blobs/sha256');
const blobIn = (layout: string, digest: string) => join(blobsIn(layout), digest.slice('sha256:'.length));

/** Reads the only image of a layout: https://github.com/opencontainers/image-spec/blob/main/image-layout.md */
export function readLayout(layout: string): OciImage {
  const { manifests } = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8')) as { manifests: Descriptor[] };
  const manifest = readFileSync(blobIn(layout, manifests[0]?.digest ?? ''), 'utf8');
  const { config } = JSON.parse(manifest) as Manifest;
  const image = parseImage(manifest, readFileSync(blobIn(layout, config.digest), 'utf8'));
  if (!image) throw new BuildFailure('buildah left no image');
  return image;
}

/** Writes an image as the only one of a layout, in which some or all of its layers are. */
export function writeLayout(layout: string, { manifest, configuration }: OciImage): void {
  mkdirSync(blobsIn(layout), { recursive: true });
  const blob = (mediaType: string, content: object): Descriptor => {
    const bytes = JSON.stringify(content);
    const digest = `sha256:${hash('sha256', bytes)}`;
    writeFileSync(blobIn(layout, digest), bytes);
    return { mediaType, digest, size: Buffer.byteLength(bytes) };
  };
  const config = blob(configurationType, configuration);
  const described = blob(manifestType, { ...manifest, mediaType: manifestType, config });
  writeFileSync(join(layout, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  writeFileSync(join(layout, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [described] }));
}

/**
 * Adds a folder's files to a layout, as a layer that has them in `/app` and belongs to root, as `COPY . .` would.
 * @throws BuildFailure
 */
export async function addFolderLayer(layout: string, folder: string): Promise<Layer> {
  mkdirSync(blobsIn(layout), { recursive: true });
  const [file, list] = [join(layout, 'layer'), join(layout, 'files')];
  // Not the folder itself, whose mode is that of a temporary folder.
  const names = readdirSync(folder, 'buffer').flatMap((name) => [Buffer.from('./'), name, Buffer.of(0)]);
  writeFileSync(list, Buffer.concat(names));
  const options = [
    ...['--owner=0', '--group=0', '--numeric-owner', '--null', '--files-from', list],
    // The targets of links stay.
    ...['--transform', String.raw`flags=rhS;s,^\./,app/,`],
  ];
  const tar = spawn('tar', ['--create', '--file=-', '--directory', folder, ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = new Promise<number | null>((resolve) => tar.once('close', resolve));
  const [content, compressed] = [createHash('sha256'), createHash('sha256')];
  let size = 0;
  tar.stdout.on('data', (chunk: Buffer) => content.update(chunk));
  const gzip = createGzip();
  gzip.on('data', (chunk: Buffer) => {
    compressed.update(chunk);
    size += chunk.length;
  });
  await pipeline(tar.stdout, gzip, createWriteStream(file));
  if ((await closed) !== 0) throw new BuildFailure('tar failed to pack the folder');
  rmSync(list);
  const digest = `sha256:${compressed.digest('hex')}`;
  renameSync(file, blobIn(layout, digest));
  return { mediaType: layerType, digest, size, diffId: `sha256:${content.digest('hex')}` };
}
