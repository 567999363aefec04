import { createHash } from 'node:crypto';
import { createReadStream, copyFileSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Binary, Tool } from './binaries.ts';
import { run } from './command.ts';
import { pauseImage } from './configuration.ts';

/** An image that holds one static binary and nothing else. */
export interface Image {
  readonly reference: string;
  /** Archive in the form of `docker save`, which containerd imports. */
  readonly archive: string;
}

/**
 * Packs the images of the cluster's own pods, each next to its binary in the cache. Existing archives are kept. The tag is
 * the binary's digest, so that a changed binary has another tag.
 */
export async function packImages(binaries: ReadonlyMap<Tool['name'], Binary>): Promise<Map<Tool['name'], Image>> {
  const images = new Map<Tool['name'], Image>();
  for (const name of ['pause', 'coredns', 'traefik'] as const) {
    const binary = binaries.get(name);
    if (binary === undefined) continue;
    const digest = basename(binary.folder).slice(name.length + 1);
    const reference = name === 'pause' ? pauseImage : `docker.io/testcluster/${name}:${digest}`;
    const archive = join(binary.folder, 'image.tar');
    if (!existsSync(archive)) await pack(binary, reference, archive);
    images.set(name, { reference, archive });
  }
  return images;
}

/** The configuration of an image whose only program is `/<name>`. Pure. */
export function imageConfiguration(name: string, layerDigest: string, architecture: string): object {
  return {
    architecture: architecture === 'x64' ? 'amd64' : architecture,
    os: 'linux',
    config: { Entrypoint: [`/${name}`], WorkingDir: '/' },
    rootfs: { type: 'layers', diff_ids: [`sha256:${layerDigest}`] },
    history: [{ created_by: name }],
  };
}

async function pack(binary: Binary, reference: string, archive: string): Promise<void> {
  const work = `${archive}.${process.pid}.part`;
  const content = join(work, 'content');
  const parts = join(work, 'parts');
  try {
    // The mount points must exist, because the file system of a container may be read-only.
    mkdirSync(join(content, 'tmp'), { recursive: true });
    mkdirSync(join(content, 'etc', 'coredns'), { recursive: true });
    mkdirSync(parts);
    copyFileSync(binary.path, join(content, binary.tool));
    const layer = join(parts, 'layer.tar');
    await tar(content, layer);
    const configuration = JSON.stringify(imageConfiguration(binary.tool, await digestOf(layer), process.arch));
    writeFileSync(join(parts, 'config.json'), configuration);
    const manifest = [{ Config: 'config.json', RepoTags: [reference], Layers: ['layer.tar'] }];
    writeFileSync(join(parts, 'manifest.json'), JSON.stringify(manifest));
    await tar(parts, join(work, 'image.tar'));
    renameSync(join(work, 'image.tar'), archive);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function tar(folder: string, output: string): Promise<void> {
  await run('tar', [
    '--create',
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    `--directory=${folder}`,
    `--file=${output}`,
    '.',
  ]);
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

/** Puts an image into containerd, where the kubelet finds it. */
export async function importImage(socket: string, image: Image): Promise<void> {
  await run('ctr', ['--address', socket, '--namespace', 'k8s.io', 'images', 'import', image.archive]);
}
