import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ignoreFile, images, type ImageDefinition } from '../images/catalogue.ts';
import type { ImageConfiguration, ImageStore } from './node/images.ts';
import { findServerProgram, functionNode, hasMariadb } from './programs.ts';
import { reachablePath } from './reachable-path.ts';

const root = join(import.meta.dirname, '../..');

/** The test cluster's registry. With these tags the same image names work in both clusters. */
const registry = 'localhost:5000';

/**
 * Listen on loopback only, so that the stores are not reachable from the network. No Unix socket: its path may be too
 * long.
 */
const storeVariables = { LISTEN_ADDRESS: '127.0.0.1', SOCKET_FOLDER: '' };

/** How to run the programs of the container images as processes of this machine. */
const configurations: Readonly<Record<string, ImageConfiguration>> = {
  platform: { entrypoint: ['tini', '--', 'node'], env: { NODE_ENV: 'production' } },
  'function-node': {
    entrypoint: ['tini', '--', 'node', '/runtime/server.mjs'],
    env: { NODE_ENV: 'production' },
    workingDir: '/runtime',
    programs: '/runtime/bin',
  },
  'function-python': {
    entrypoint: ['tini', '--', 'python3', '/runtime/main.py'],
    // Python must not write compiled files into the image.
    env: { LISTEN_ADDRESS: '127.0.0.1', PYTHONDONTWRITEBYTECODE: '1' },
    workingDir: '/runtime',
  },
  builder: { entrypoint: ['tini', '--', 'node', '/app/infra/images/builder/main.ts'], env: { BUILD_MAKER: 'folder' } },
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
 * Adds the platform's images to the store, with the same programs as the container images.
 * @param options.path search path for server programs installed on this machine
 * @param options.copies the folder for copies of what pods cannot reach
 * @returns each image's reference by digest, under the names of `infra/images/build.ts`
 */
export async function addPlatformImages(
  store: ImageStore,
  version: string,
  { path, copies }: { path: string; copies: string },
): Promise<Record<string, string>> {
  const references: Record<string, string> = {};
  for (const image of images) {
    if (image.containersOnly) continue;
    // Optional servers: without them, services of these types are not available.
    if (image.name === 'mariadb' && !hasMariadb(path)) continue;
    const { name: program } = image;
    const serverProgram = program === 'minio' || program === 'ferretdb' ? findServerProgram(program, path) : undefined;
    if ((program === 'minio' || program === 'ferretdb') && serverProgram === undefined) continue;
    const folder = mkdtempSync(join(tmpdir(), 'svc-image-'));
    try {
      copyInputs(image, folder, copies);
      // Pods do not have the search path of the user who runs `svc up`.
      if (serverProgram !== undefined) symlinkSync(reachablePath(serverProgram, copies), join(folder, program));
      if (image.name === 'function-node') {
        mkdirSync(join(folder, 'bin'));
        symlinkSync(reachablePath(functionNode(), copies), join(folder, 'bin/node'));
      }
      for (const [variant, env] of Object.entries(image.variants)) {
        const tag = variant === 'version' ? version : variant;
        const configuration = configurations[image.name] ?? {};
        const name = `svc/${image.name}:${tag}`;
        const { digest } = await store.add(folder, name, { ...configuration, env: { ...configuration.env, ...env } });
        await store.tag(`${registry}/${name}`, { digest });
        references[variant === 'version' ? image.name : `${image.name}:${variant}`] = `${name}@${digest}`;
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return references;
}

function copyInputs({ name, context, inputs }: ImageDefinition, folder: string, copies: string): void {
  const isWhole = context !== '.';
  for (const input of isWhole
    ? [context]
    : inputs.filter((path) => path !== ignoreFile && path !== 'infra/images/platform')) {
    cpSync(join(root, input), isWhole ? folder : join(folder, input), { recursive: true });
  }
  // A link, since copying node_modules would take most of the time of the first start.
  if (name === 'platform') symlinkSync(reachablePath(join(root, 'node_modules'), copies), join(folder, 'node_modules'));
}
