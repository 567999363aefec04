import { hash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createBuildahOutput } from './buildah-output.ts';
import { mountCertificates } from './certificates.ts';
import { cachedLayout } from './dependency-cache.ts';
import { credentialsFile } from './registry-credentials.ts';
import { capture, run } from './run.ts';
import type { BuildSettings } from './settings.ts';

/** buildah in the workspace of a build. Each command rejects with a BuildFailure that names the step that failed. */
export interface Buildah {
  /** The installation's package registries that RUN steps get; empty without any. */
  registries: readonly string[];
  /** The names of the variables with these registries and the installation's CA certificates; those that are set. */
  variables: readonly string[];
  /**
   * Builds a Dockerfile in the folder that is built, and gives the image a name.
   * @param options.isLocal whether its FROM names an image of this build, which no registry has
   * @param options.output a folder for the image's files
   */
  build(
    file: string,
    name: string,
    options?: { isLocal?: boolean; labels?: Record<string, string>; output?: string },
  ): Promise<void>;
  push(name: string, destination: string): Promise<void>;
  /** Makes the only image of the cached layout a local one. */
  pull(layout: string, name: string): Promise<void>;
  /** What a local image has: its variables, and the number of its layers. */
  inspect(name: string): Promise<{ environment: string[]; layers: number }>;
  /** The digest of an image in a registry; undefined when no registry tells. */
  digestOf(image: string): Promise<string | undefined>;
}

const inspectMs = 20_000;

/**
 * Prepares the workspace.
 * @param options.certificatesFolder the files with the installation's CA certificates, for the RUN steps
 */
export function createBuildah(
  settings: BuildSettings,
  { context, certificatesFolder }: { context: string; certificatesFolder?: string | undefined },
): Buildah {
  const { workspace, plainHttp } = settings;
  const home = join(workspace, 'home');
  mkdirSync(join(home, '.config/containers'), { recursive: true });
  mkdirSync(join(workspace, 'tmp'), { recursive: true });
  writeFileSync(join(home, '.config/containers/registries.conf'), registries(settings));
  writeFileSync(join(home, '.config/containers/policy.json'), JSON.stringify(policyOf(workspace)));
  const folders = {
    HOME: home,
    XDG_RUNTIME_DIR: join(workspace, 'run'),
    TMPDIR: join(workspace, 'tmp'),
    BUILDAH_ISOLATION: 'chroot',
    REGISTRY_AUTH_FILE: credentialsFile(),
  };
  mkdirSync(folders.XDG_RUNTIME_DIR, { recursive: true, mode: 0o700 });
  let driver: ReturnType<typeof storageDriver> | undefined;
  /** The variables of buildah's commands. A build that needs none does not ask for the driver. */
  const withStorage = async () => ({
    ...folders,
    STORAGE_DRIVER: await (driver ??= storageDriver(workspace, folders)),
  });
  const tls = `--tls-verify=${!plainHttp}`;
  // A relative link target within the context is fine; buildah itself keeps COPY inside.
  const certificates = certificatesFolder === undefined ? undefined : mountCertificates(certificatesFolder);
  const volume = certificates ? ['--volume', certificates.volume] : [];
  const registryVariables = registryVariablesIn(process.env);
  const variables: Record<string, string | undefined> = { ...registryVariables, ...certificates?.variables };
  const buildah = async (args: readonly string[]) =>
    run('buildah', args, { env: await withStorage(), listener: createBuildahOutput() });
  const answerOf = async (args: readonly string[]) => capture('buildah', args, { env: await withStorage() });
  return {
    registries: Object.values(registryVariables).map((value = '') => value),
    variables: Object.keys(variables).filter((name) => variables[name] !== undefined),
    async build(file, name, { isLocal = false, labels = {}, output } = {}) {
      const options = [isLocal ? '--pull-never' : '--pull', tls, ...volume, ...buildArguments(file, variables)];
      const labelOptions = Object.entries(labels).flatMap(([label, value]) => ['--label', `${label}=${value}`]);
      await buildah([
        'bud',
        '--format',
        'oci',
        ...options,
        ...labelOptions,
        ...(output === undefined ? [] : ['--output', `type=local,dest=${output}`]),
        '--file',
        file,
        '--tag',
        name,
        '--',
        context,
      ]);
    },
    // Compressing the layers is most of the work of a push. The fastest level takes two thirds of the default's time.
    push: (name, destination) => buildah(['push', '--quiet', '--compression-level', '1', name, destination]),
    async pull(layout, name) {
      const id = await answerOf(['pull', '--quiet', `oci:${layout}`]);
      await buildah(['tag', id.trim(), name]);
    },
    async inspect(name) {
      const { OCIv1 } = JSON.parse(await answerOf(['inspect', '--type', 'image', name])) as {
        OCIv1: { config?: { Env?: string[] }; rootfs: { diff_ids: string[] } };
      };
      return { environment: OCIv1.config?.Env ?? [], layers: OCIv1.rootfs.diff_ids.length };
    },
    async digestOf(image) {
      const pinned = /@(sha256:[0-9a-f]{64})$/.exec(image)?.[1];
      if (pinned !== undefined) return pinned;
      try {
        const manifest = await capture('skopeo', ['inspect', '--raw', tls, `docker://${image}`], {
          env: folders,
          timeoutMs: inspectMs,
        });
        return `sha256:${hash('sha256', manifest)}`;
      } catch {
        return undefined;
      }
    },
  };
}

/**
 * `overlay` where this container may mount one, which takes Linux 5.13 and no profile that forbids mounts, and otherwise
 * `vfs`, which copies all files of an image for each of its layers: docs/decisions/0096-storage-of-builds.md.
 */
async function storageDriver(workspace: string, env: Record<string, string | undefined>): Promise<'overlay' | 'vfs'> {
  // In a folder of its own: buildah refuses a store with the files of two drivers.
  const folder = join(workspace, 'probe');
  try {
    // Mounts one to find out: https://github.com/containers/storage/blob/main/docs/containers-storage.conf.5.md
    await capture('buildah', ['--root', join(folder, 'root'), '--runroot', join(folder, 'run'), 'info'], {
      env: { ...env, STORAGE_DRIVER: 'overlay' },
      timeoutMs: inspectMs,
    });
    return 'overlay';
  } catch {
    return 'vfs';
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Accepts base images from registries, which TLS proves, the images of this build and the cached one: not what a Dockerfile
 * names as a file of this container, such as `FROM oci-archive:…`.
 * https://github.com/containers/image/blob/main/docs/containers-policy.json.5.md
 */
function policyOf(workspace: string): object {
  const anything = [{ type: 'insecureAcceptAnything' }];
  const transports = { docker: { '': anything }, 'containers-storage': { '': anything } };
  return { default: [{ type: 'reject' }], transports: { ...transports, oci: { [cachedLayout(workspace)]: anything } } };
}

/** The build pod's variables with the installation's package registries. */
function registryVariablesIn(env: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  const { npm_config_registry, PIP_INDEX_URL, PIP_TRUSTED_HOST, GOPROXY } = env;
  return { npm_config_registry, PIP_INDEX_URL, PIP_TRUSTED_HOST, GOPROXY };
}

/**
 * The installation's package registries and CA certificates as build arguments, for a Dockerfile that declares these
 * arguments. Its RUN steps see them; the running image does not.
 */
export function buildArguments(file: string, variables: Readonly<Record<string, string | undefined>>): string[] {
  const text = readFileSync(file, 'utf8');
  return Object.entries(variables).flatMap(([name, value]) => {
    const isDeclared = new RegExp(`^[ \\t]*ARG\\s(?:.*\\s)?${name}(?:[\\s=]|$)`, 'im').test(text);
    return value !== undefined && isDeclared ? ['--build-arg', `${name}=${value}`] : [];
  });
}

/**
 * Images that nodes pull from the platform's registry may be named in a FROM as nodes name them.
 * https://github.com/containers/image/blob/main/docs/containers-registries.conf.5.md
 */
function registries({ image, target, plainHttp }: BuildSettings): string {
  const [pulled, pushed] = [image, target].map((name) => name.slice(0, name.indexOf('/')));
  return [
    'unqualified-search-registries = ["docker.io"]',
    'short-name-mode = "permissive"',
    '[[registry]]',
    `prefix = ${JSON.stringify(pulled)}`,
    `location = ${JSON.stringify(pushed)}`,
    `insecure = ${plainHttp}`,
    '',
  ].join('\n');
}
