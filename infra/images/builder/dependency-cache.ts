import { hash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { manifestBytes, parseImage, type OciImage } from './oci-image.ts';
import { credentialsFile } from './registry-credentials.ts';
import { capture } from './run.ts';
import type { BuildSettings } from './settings.ts';

/**
 * The label of a built image that says what its first layers are. The build writes it, which may run strangers' code, so it is
 * believed in later builds of the same app only: docs/decisions/0056-build-cache.md.
 */
export const dependencyLabel = 'platform.svc/dependencies';

/** The dependencies in an image of an earlier build. */
export interface Dependencies {
  /** `dependencyKey` of the folder. */
  key: string;
  /** The digest of the base image. */
  base: string;
  /** How many of the image's first layers are the base image and the dependencies. */
  layers: number;
  /** The environment of the image that ends there, if a container goes on from there. */
  environment?: string[];
}

/** Where the first step leaves what it read of the last image: its two texts, or a layout with all its layers. */
const folderIn = (workspace: string) => join(workspace, 'cache');
export const cachedLayout = (workspace: string) => join(folderIn(workspace), 'image');

/** Images that take more are not read again, since they would take most of the workspace. */
const imageMaxBytes = 1024 ** 3;
const inspectMs = 20_000;
const copyMs = 120_000;

/**
 * Reads what the next steps need of the image of the app's last build. Runs before anything of the source is in the
 * workspace, because it has the credentials of the registry. A build without a cache is slower and nothing else, so this
 * never fails.
 */
export async function restoreCache(settings: BuildSettings): Promise<void> {
  const { workspace, target, plainHttp, cacheDigest } = settings;
  if (cacheDigest === undefined) return;
  const repository = target.slice(0, target.lastIndexOf(':'));
  const source = `docker://${repository}@${cacheDigest}`;
  const folder = mkdtempSync(join(tmpdir(), 'restore-'));
  try {
    const env = { HOME: folder, XDG_RUNTIME_DIR: folder, REGISTRY_AUTH_FILE: credentialsFile() };
    const skopeo = (args: readonly string[], timeoutMs: number) => capture('skopeo', args, { env, timeoutMs });
    const inspect = ['inspect', '--raw', `--tls-verify=${!plainHttp}`];
    const manifest = await skopeo([...inspect, source], inspectMs);
    const configuration = await skopeo([...inspect, '--config', source], inspectMs);
    const image = verified(manifest, configuration, cacheDigest);
    const dependencies = image && dependenciesOf(image);
    if (!dependencies) return;
    mkdirSync(folderIn(workspace), { recursive: true });
    if (dependencies.environment !== undefined) {
      if ((manifestBytes(manifest) ?? Infinity) > imageMaxBytes) return;
      const policy = join(folder, 'policy.json');
      writeFileSync(policy, JSON.stringify(registryPolicy));
      const copy = ['copy', '--quiet', `--src-tls-verify=${!plainHttp}`, source, `oci:${cachedLayout(workspace)}`];
      await skopeo(['--policy', policy, '--tmpdir', folder, ...copy], copyMs);
    }
    writeFileSync(join(folderIn(workspace), 'manifest.json'), manifest);
    writeFileSync(join(folderIn(workspace), 'configuration.json'), configuration);
  } catch {
    // The reason can only be the registry's, or an image that was deleted.
    process.stdout.write('the image of the last build cannot be read; the dependencies are installed again\n');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const registryPolicy = {
  default: [{ type: 'reject' }],
  transports: { docker: { '': [{ type: 'insecureAcceptAnything' }] } },
};

/** The image, if its texts are those that its digest names. Pure. */
function verified(manifest: string, configuration: string, digest: string): OciImage | undefined {
  if (`sha256:${hash('sha256', manifest)}` !== digest) return undefined;
  const image = parseImage(manifest, configuration);
  return image?.manifest.config.digest === `sha256:${hash('sha256', configuration)}` ? image : undefined;
}

/** The dependencies that an image's label names; undefined without a valid one. Pure. */
export function dependenciesOf({ manifest, configuration }: OciImage): Dependencies | undefined {
  try {
    const label = configuration.config?.Labels?.[dependencyLabel] ?? '';
    const { key, base, layers, environment } = JSON.parse(label) as Partial<Dependencies>;
    if (typeof key !== 'string' || typeof base !== 'string' || !Number.isInteger(layers)) return undefined;
    if (layers === undefined || layers < 1 || layers > manifest.layers.length) return undefined;
    if (environment === undefined) return { key, base, layers };
    if (!Array.isArray(environment) || !environment.every((each) => typeof each === 'string')) return undefined;
    return { key, base, layers, environment };
  } catch {
    return undefined;
  }
}

/** What the first step left; undefined without an image of an earlier build. */
export function readCache(workspace: string): OciImage | undefined {
  try {
    const read = (name: string) => readFileSync(join(folderIn(workspace), name), 'utf8');
    return parseImage(read('manifest.json'), read('configuration.json'));
  } catch {
    return undefined;
  }
}

/** Deletes what the first step left, once nothing of it is used: the workspace is limited. */
export function dropCache(workspace: string): void {
  rmSync(folderIn(workspace), { recursive: true, force: true });
}
