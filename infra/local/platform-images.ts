import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ignoreFile, images, type ImageDefinition } from '../images/catalogue.ts';
import type { ImageConfiguration, ImageStore } from './node/images.ts';
import { findProgram, functionNode, hasMariadb } from './programs.ts';

const root = join(import.meta.dirname, '../..');

/** Where the registry of a cluster has the demo's images: the same names mean the same here. */
const registry = 'localhost:5000';

/** Listening on all addresses would show a store to the network, and a socket's path may be too long. */
const storeVariables = { LISTEN_ADDRESS: '127.0.0.1', SOCKET_FOLDER: '' };

/** How the programs of the container images are run as processes of this machine. */
const configurations: Readonly<Record<string, ImageConfiguration>> = {
  platform: {
    entrypoint: ['tini', '--', 'node'],
    env: { NODE_ENV: 'production' },
  },
  'function-node': {
    entrypoint: ['tini', '--', 'node', '/runtime/server.mjs'],
    env: { NODE_ENV: 'production' },
    workingDir: '/runtime',
    programs: '/runtime/bin',
  },
  'function-python': {
    entrypoint: ['tini', '--', 'python3', '/runtime/main.py'],
    // Compiled files would be written into the image.
    env: { LISTEN_ADDRESS: '127.0.0.1', PYTHONDONTWRITEBYTECODE: '1' },
    workingDir: '/runtime',
  },
  builder: {
    entrypoint: ['tini', '--', 'node', '/app/infra/images/builder/main.ts'],
    env: { BUILD_MAKER: 'folder' },
  },
  hello: { entrypoint: ['tini', '--', 'node', '/app/server.mjs'] },
  postgres: {
    entrypoint: ['tini', '--', 'sh', '/app/start.sh'],
    env: { PGDATA: '/var/lib/svc/postgres/data', ...storeVariables },
  },
  redis: {
    entrypoint: ['tini', '--', 'sh', '/app/start.sh'],
    env: { REDIS_DATA: '/var/lib/svc/redis', ...storeVariables },
  },
  mariadb: {
    entrypoint: ['tini', '--', 'sh', '/app/start.sh'],
    env: { MARIADB_DATA: '/var/lib/svc/mariadb/data', ...storeVariables },
  },
  minio: {
    entrypoint: ['tini', '--', 'sh', '/app/start.sh'],
    env: { MINIO_DATA: '/var/lib/svc/minio/data', MINIO_PROGRAM: '/app/minio', ...storeVariables },
  },
  ferretdb: {
    entrypoint: ['tini', '--', 'sh', '/app/start.sh'],
    env: { FERRETDB_DATA: '/data/db', FERRETDB_PROGRAM: '/app/ferretdb', ...storeVariables },
  },
};

/**
 * Puts the platform's images into the store, with the same programs as the container images.
 * @param path where servers that are programs of this machine are looked for
 * @returns each image's reference by digest, under the names of `infra/images/build.ts`
 */
export async function addPlatformImages(
  store: ImageStore,
  version: string,
  path: string,
): Promise<Record<string, string>> {
  const references: Record<string, string> = {};
  for (const image of images) {
    // A base is of use in containers only.
    if (image.name === 'build-python') continue;
    // Unlike the platform's own stores these may be missing.
    if (image.name === 'mariadb' && !hasMariadb(path)) continue;
    const { name: program } = image;
    const found = program === 'minio' || program === 'ferretdb' ? findProgram(program, path) : undefined;
    if ((program === 'minio' || program === 'ferretdb') && found === undefined) continue;
    const folder = mkdtempSync(join(tmpdir(), 'svc-image-'));
    try {
      copyInputs(image, folder);
      // Pods do not have the search path of who brought the platform up.
      if (found !== undefined) symlinkSync(found, join(folder, program));
      if (image.name === 'function-node') {
        mkdirSync(join(folder, 'bin'));
        symlinkSync(functionNode(), join(folder, 'bin/node'));
      }
      for (const [variant, env] of Object.entries(image.variants)) {
        const tag = variant === 'version' ? version : variant;
        const configuration = configurations[image.name] ?? {};
        const name = `svc/${image.name}:${tag}`;
        const added = await store.add(folder, name, { ...configuration, env: { ...configuration.env, ...env } });
        await store.tag(`${registry}/${name}`, added);
        references[variant === 'version' ? image.name : `${image.name}:${variant}`] = `${name}@${added.digest}`;
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return references;
}

function copyInputs({ name, context, inputs }: ImageDefinition, folder: string): void {
  const isWhole = context !== '.';
  for (const input of isWhole
    ? [context]
    : inputs.filter((path) => path !== ignoreFile && path !== 'infra/images/platform')) {
    cpSync(join(root, input), isWhole ? folder : join(folder, input), { recursive: true });
  }
  // The packages of the checkout: a copy of them would take most of the time of the first start.
  if (name === 'platform') symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
}
