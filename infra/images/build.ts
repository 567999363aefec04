import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildConsole } from '../console/build.ts';
import { createBases } from './base.ts';
import { createBuildah, run, type Buildah } from './buildah.ts';
import { ignoreFile, images, type ImageDefinition } from './catalogue.ts';
import { digestOf } from './digest.ts';

export interface BuildOptions {
  /** Where to push, such as `localhost:5000`. */
  registry: string;
  /** The images to build; default all. */
  names?: readonly string[];
  log: (line: string) => void;
  /** The parent of the folder `images` with bases, layers and records of pushes. Default `SVC_CACHE` or `~/.cache/svc`. */
  cacheFolder?: string;
}

const root = join(import.meta.dirname, '../..');

/**
 * Builds the images on bases made from Debian's packages and pushes them. Skips an image whose inputs have not changed since
 * the last push. The result maps each image's name to its reference by digest; the name of an image with several variants is
 * `<name>:<tag>`.
 * @throws Error for an unknown name, when buildah is missing, or with the last lines of a failed build
 */
export async function buildImages(options: BuildOptions): Promise<Record<string, string>> {
  const selected = chooseImages(options.names);
  const folder = join(options.cacheFolder ?? process.env['SVC_CACHE'] ?? join(homedir(), '.cache/svc'), 'images');
  mkdirSync(folder, { recursive: true });
  if (selected.some(({ name }) => name === 'platform')) await buildConsole(options.log);
  await requireBuildTools(options.log);
  const buildah = createBuildah(folder);
  const bases = createBases({ buildah, folder, log: options.log });
  const references: Record<string, string> = {};
  bases.prebuild(selected.map(({ base }) => base));
  for (const image of selected) {
    const base = await bases.ensure(image.base);
    for (const { key, tag, args } of variantsOf(image, packageVersion())) {
      references[key] = await build({ image, tag, args, base, folder, buildah, options });
    }
  }
  return references;
}

/** The images with these names; default all. @throws Error for an unknown name, with the valid ones */
export function chooseImages(names: readonly string[] | undefined): readonly ImageDefinition[] {
  const unknown = names?.filter((name) => !images.some((image) => image.name === name)) ?? [];
  if (unknown.length > 0) {
    const valid = images.map(({ name }) => name).join(', ');
    throw new Error(`unknown image ${unknown.join(', ')}; valid names: ${valid}`);
  }
  return images.filter(({ name }) => names === undefined || names.includes(name));
}

/** The variants of an image: tag, build arguments, and name in the result of {@link buildImages}. Pure. */
export function variantsOf(
  image: Pick<ImageDefinition, 'name' | 'variants'>,
  version: string,
): { key: string; tag: string; args: Readonly<Record<string, string>> }[] {
  return Object.entries(image.variants).map(([variant, args]) =>
    variant === 'version'
      ? { key: image.name, tag: version, args }
      : { key: `${image.name}:${variant}`, tag: variant, args },
  );
}

interface Build {
  image: ImageDefinition;
  tag: string;
  args: Readonly<Record<string, string>>;
  base: string;
  folder: string;
  buildah: Buildah;
  options: BuildOptions;
}

/** Builds and pushes one variant unless the registry already has it. @returns its reference by digest */
async function build({ image, tag, args, base, folder, buildah, options }: Build): Promise<string> {
  const repository = `${options.registry}/svc/${image.name}`;
  const digest = digestOf(root, image.inputs, base, JSON.stringify(args));
  const note = join(folder, `pushed-${options.registry.replace(/\W/g, '-')}-${image.name}-${tag}.json`);
  if (existsSync(note)) {
    const pushed = JSON.parse(readFileSync(note, 'utf8')) as { inputs: string; reference: string };
    if (pushed.inputs === digest && (await tagIs(repository, tag, pushed.reference))) return pushed.reference;
  }
  const started = performance.now();
  const name = `${repository}:${tag}`;
  const secrets = mkdtempSync(join(tmpdir(), 'svc-build-'));
  const digestFile = join(secrets, 'digest');
  try {
    await buildah(
      [
        'bud',
        '--isolation',
        'chroot',
        '--layers',
        '--pull-never',
        '--quiet',
        '--format',
        'oci',
        '--ignorefile',
        join(root, ignoreFile),
        '--file',
        join(root, 'infra/images', image.name, 'Dockerfile'),
        '--build-arg',
        `BASE=${base}`,
        ...Object.entries(args).flatMap(([key, value]) => ['--build-arg', `${key}=${value}`]),
        ...registryAccess(),
        '--tag',
        name,
        join(root, image.context),
      ],
      root,
    );
    // The registry is near, so the fastest compression it is.
    const pushOptions = ['--quiet', '--compression-level', '1', '--tls-verify=false', '--digestfile', digestFile];
    await buildah(['push', ...pushOptions, name, `docker://${name}`]);
    const reference = `${repository}@${readFileSync(digestFile, 'utf8').trim()}`;
    writeFileSync(note, JSON.stringify({ inputs: digest, reference }));
    options.log(`images: ${name} built and pushed (${((performance.now() - started) / 1000).toFixed(1)} s)`);
    return reference;
  } finally {
    rmSync(secrets, { recursive: true, force: true });
  }
}

/** This machine's npm configuration and certificates as build secrets, so that they do not stay in the image. */
function registryAccess(): string[] {
  const npmrc = process.env['npm_config_userconfig'] ?? join(homedir(), '.npmrc');
  const certificates = process.env['NODE_EXTRA_CA_CERTS'] ?? '/etc/ssl/certs/ca-certificates.crt';
  return [
    ...(existsSync(npmrc) ? ['--secret', `id=npmrc,src=${npmrc}`] : []),
    ...(existsSync(certificates) ? ['--secret', `id=certificates,src=${certificates}`] : []),
  ];
}

/** Whether the tag still refers to the pushed image: another checkout may have moved it. */
async function tagIs(repository: string, tag: string, reference: string): Promise<boolean> {
  const [registry = '', ...path] = repository.split('/');
  try {
    const response = await fetch(`http://${registry}/v2/${path.join('/')}/manifests/${tag}`, {
      method: 'HEAD',
      headers: { accept: 'application/vnd.oci.image.manifest.v1+json' },
    });
    return response.ok && response.headers.get('docker-content-digest') === reference.split('@')[1];
  } catch {
    return false;
  }
}

function packageVersion(): string {
  return (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version?: string }).version ?? '0.1.0';
}

/** Installs buildah and debootstrap with apt-get if they are missing. @throws Error when that is not possible */
async function requireBuildTools(log: (line: string) => void): Promise<void> {
  const missing = ['buildah', 'debootstrap'].filter(
    (tool) => !existsSync(`/usr/bin/${tool}`) && !existsSync(`/usr/sbin/${tool}`),
  );
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    throw new Error(
      `building images requires ${missing.join(' and ')}. Install them with the system's package manager.`,
    );
  }
  log(`images: installing ${missing.join(' and ')} with apt-get`);
  await run('apt-get', ['update', '-qq']);
  await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...missing]);
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    options: { registry: { type: 'string', default: 'localhost:5000' }, help: { type: 'boolean', short: 'h' } },
    allowPositionals: true,
  });
  if (values.help) {
    process.stdout.write(
      `usage: npm run images -- [--registry HOST:PORT] [NAME...]\nimages: ${images.map(({ name }) => name).join(', ')}\n`,
    );
  } else {
    const built = await buildImages({
      registry: values.registry,
      ...(positionals.length > 0 && { names: positionals }),
      log: (line) => process.stderr.write(`${line}\n`),
    });
    for (const [name, reference] of Object.entries(built)) process.stdout.write(`${name} ${reference}\n`);
  }
}
