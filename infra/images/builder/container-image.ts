import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { certificateVariables, mountCertificates } from './certificates.ts';
import { createBuildahOutput } from './buildah-output.ts';
import { BuildFailure } from './failure.ts';
import type { Plan } from '../../../runtime/domain/folder-plan.ts';
import { entrypointOf, planOf } from './plan.ts';
import { credentialsFile } from './registry-credentials.ts';
import { run } from './run.ts';
import type { BuildSettings } from './settings.ts';
import { addStaticServer } from './static-site.ts';

/** The image between its build and its push, an OCI layout in one tar file. */
const archiveIn = (workspace: string) => join(workspace, 'image.tar');

/**
 * Builds a container image with buildah, without rights on the node: RUN steps are isolated by chroot in a user namespace.
 * A program can escape from a chroot, so it finds nothing here that is not its own.

 * @param certificatesFolder the files with the installation's CA certificates, for the RUN steps
 */
export async function makeContainerImage(
  settings: BuildSettings,
  context: string,
  certificatesFolder?: string,
): Promise<void> {
  const { workspace, dockerfile, target, plainHttp } = settings;
  const file = dockerfileIn(context, dockerfile) ?? generated(settings, context);
  const home = join(workspace, 'home');
  mkdirSync(join(home, '.config/containers'), { recursive: true });
  mkdirSync(join(workspace, 'tmp'), { recursive: true });
  writeFileSync(join(home, '.config/containers/registries.conf'), registries(settings));
  writeFileSync(join(home, '.config/containers/policy.json'), JSON.stringify(buildPolicy));
  const env = {
    HOME: home,
    XDG_RUNTIME_DIR: join(workspace, 'run'),
    TMPDIR: join(workspace, 'tmp'),
    STORAGE_DRIVER: 'vfs',
    BUILDAH_ISOLATION: 'chroot',
    REGISTRY_AUTH_FILE: credentialsFile(),
  };
  mkdirSync(env.XDG_RUNTIME_DIR, { recursive: true, mode: 0o700 });
  const tls = `--tls-verify=${!plainHttp}`;
  // A relative link target within the context is fine; buildah itself keeps COPY inside.
  const certificates = certificatesFolder === undefined ? undefined : mountCertificates(certificatesFolder);
  const volume = certificates ? ['--volume', certificates.volume] : [];
  const variables = { ...registryVariables(process.env), ...certificates?.variables };
  const bud = ['bud', '--format', 'oci', '--pull', tls, ...volume, ...buildArguments(file, variables), '--file', file];
  await run('buildah', [...bud, '--tag', target, '--', context], { env, listener: createBuildahOutput() });
  await run('buildah', ['push', '--quiet', target, `oci-archive:${archiveIn(workspace)}`], {
    env,
    listener: createBuildahOutput(),
  });
}

const anything = { '': [{ type: 'insecureAcceptAnything' }] };

/**
 * Accepts base images from registries, which TLS proves, and the images of this build: not what a Dockerfile names as a file
 * of this container, such as `FROM oci-archive:…`.
 * https://github.com/containers/image/blob/main/docs/containers-policy.json.5.md
 */
const buildPolicy = { default: [{ type: 'reject' }], transports: { docker: anything, 'containers-storage': anything } };

/** Accepts archives only: this program reads no image from a registry. */
const pushPolicy = { default: [{ type: 'reject' }], transports: { 'oci-archive': anything } };

/** Pushes the image that was built. @returns its digest, and the size of its archive */
export async function pushContainerImage({
  workspace,
  target,
  plainHttp,
}: BuildSettings): Promise<{ digest: string; sizeBytes: number }> {
  const archive = archiveIn(workspace);
  // A link could name a file of this container.
  const file = lstatSync(archive, { throwIfNoEntry: false });
  if (!file?.isFile()) throw new BuildFailure('the build left no image');
  const folder = mkdtempSync(join(tmpdir(), 'push-'));
  try {
    const [policy, digest] = [join(folder, 'policy.json'), join(folder, 'digest')];
    writeFileSync(policy, JSON.stringify(pushPolicy));
    const options = ['--quiet', '--digestfile', digest, `--dest-tls-verify=${!plainHttp}`];
    const copy = ['copy', ...options, `oci-archive:${archive}`, `docker://${target}`];
    // skopeo unpacks the archive below /var/tmp unless told otherwise, whatever TMPDIR says.
    await run('skopeo', ['--policy', policy, '--tmpdir', folder, ...copy], {
      env: { HOME: folder, XDG_RUNTIME_DIR: folder, REGISTRY_AUTH_FILE: credentialsFile() },
      name: 'skopeo copy',
    });
    return { digest: readFileSync(digest, 'utf8').trim(), sizeBytes: file.size };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The repository's Dockerfile; undefined when it has none and the settings name none. */
function dockerfileIn(context: string, name: string | undefined): string | undefined {
  const file = join(context, name ?? 'Dockerfile');
  if (!existsSync(file)) {
    if (name !== undefined) throw new BuildFailure(`${name} does not exist in the folder that is built`);
    return undefined;
  }
  // Otherwise a link could put parts of the builder's own files into the log.
  if (!realpathSync(file).startsWith(`${context}/`))
    throw new BuildFailure('the Dockerfile is a link to a file outside the folder that is built');
  return file;
}

function generated({ workspace, baseImages }: BuildSettings, context: string): string {
  const plan = planOf(context);
  if (plan.language === 'static') addStaticServer(context);
  const file = join(workspace, 'Dockerfile');
  const text = generatedDockerfile(plan, baseImages, (name) => existsSync(join(context, name)));
  process.stdout.write(`no Dockerfile found; building with this one:\n${text}\n`);
  writeFileSync(file, text);
  return file;
}

/** The build pod's variables with the installation's package registries. */
function registryVariables(env: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  const { npm_config_registry, PIP_INDEX_URL, PIP_TRUSTED_HOST } = env;
  return { npm_config_registry, PIP_INDEX_URL, PIP_TRUSTED_HOST };
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

/** The Dockerfile for a source without one. Pure. */
export function generatedDockerfile(
  { language, start }: Plan,
  baseImages: BuildSettings['baseImages'],
  has: Has,
): string {
  // Static sites have a server in JavaScript, and a command of a Procfile runs where most programs are.
  const base = language === 'go' ? '' : baseImages[language === 'python' ? 'python' : 'node'];
  if (base === '') throw new BuildFailure(`the platform has no base image for ${names[language]}: add a Dockerfile`);
  const steps = stepsFor[language](has);
  return [
    `FROM ${base}`,
    'USER root',
    'WORKDIR /app',
    ...steps,
    'ENV PORT=8080',
    'EXPOSE 8080',
    'USER 10001:10001',
    `ENTRYPOINT ${JSON.stringify(entrypointOf(start))}`,
    'CMD []',
    '',
  ].join('\n');
}

function declared(...names: string[]): string[] {
  return names.map((name) => `ARG ${name}`);
}

type Has = (file: string) => boolean;

const names = { node: 'Node', python: 'Python', go: 'Go', static: 'static sites', other: 'a Procfile alone' } as const;

const stepsFor: Readonly<Record<Plan['language'], (has: Has) => string[]>> = {
  node: nodeSteps,
  python: pythonSteps,
  go: () => [],
  static: () => ['COPY . .'],
  other: () => ['COPY . .'],
};

function nodeSteps(has: Has): string[] {
  const locked = has('package-lock.json');
  return [
    ...declared('npm_config_registry', ...certificateVariables),
    `COPY ${locked ? 'package.json package-lock.json' : 'package.json'} ./`,
    `RUN npm ${locked ? 'ci' : 'install'} --include=dev --no-audit --no-fund`,
    'COPY . .',
    'RUN npm run build --if-present && npm prune --omit=dev --no-audit --no-fund',
    'ENV NODE_ENV=production',
  ];
}

function pythonSteps(has: Has): string[] {
  return [
    'ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PATH=/opt/venv/bin:/usr/local/bin:/usr/bin:/bin',
    'RUN python3 -m venv /opt/venv',
    ...declared('PIP_INDEX_URL', 'PIP_TRUSTED_HOST', ...certificateVariables),
    ...(has('requirements.txt') ? ['COPY requirements.txt ./', 'RUN pip install -r requirements.txt'] : []),
    'COPY . .',
    ...(!has('requirements.txt') && has('pyproject.toml') ? ['RUN pip install .'] : []),
  ];
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
