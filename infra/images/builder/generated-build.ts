import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { certificateVariables } from './certificates.ts';
import { BuildFailure } from './failure.ts';
import { entrypointOf } from './plan.ts';
import {
  baseImagesOf,
  goProgram,
  noBaseImage,
  type BaseImages,
  type Language,
  type Plan,
} from '../../../runtime/domain/folder-plan.ts';

/** How to build a folder without a Dockerfile, in two parts: first its dependencies, then its other files. */
export interface GeneratedBuild {
  base: string;
  entrypoint: string[];
  /** The files that the dependencies are installed from. */
  dependencyFiles: string[];
  /** The Dockerfile of the image with the dependencies. */
  dependencies: string;
  /** Whether the dependencies follow from their files alone: without a lock file, each build asks the registry. */
  isLocked: boolean;
  /**
   * The instructions that follow, in an image that begins with the dependencies; undefined when the folder's files are
   * copied and nothing runs, so that they can be added without a container.
   */
  source: string[] | undefined;
  /** The whole as one Dockerfile, for the log. */
  dockerfile: string;
}

/** The files of a folder, by name. */
interface Folder {
  has: (name: string) => boolean;
  read: (name: string) => string;
}

interface Steps {
  dependencyFiles: string[];
  isLocked: boolean;
  dependencies: string[];
  /** What runs once the folder's files are there. */
  source: string[];
  /** Variables of the running image that the source's steps must not have. */
  variables: string[];
}

/** How long dependencies are used again, in ms: a base's or a package's faults do not stay for ever. */
export const periodMs = 7 * 24 * 3_600_000;

const copying: Steps = { dependencyFiles: [], isLocked: true, dependencies: [], source: [], variables: [] };

const stepsFor: Readonly<Record<Language, (folder: Folder, available: readonly string[]) => Steps>> = {
  node: nodeSteps,
  python: pythonSteps,
  // The program is among the files: `goDockerfile`.
  go: () => copying,
  static: () => copying,
  other: () => copying,
};

/**
 * @param available the names of the variables that steps may get; buildah warns about an argument without a value
 * @throws BuildFailure when the platform has no base image for the language
 */
export function generateBuild(
  { language, start }: Plan,
  images: BaseImages,
  folder: Folder,
  available: readonly string[],
): GeneratedBuild {
  const { runs: base } = requireBaseImages(language, images);
  const { dependencyFiles, isLocked, dependencies, source, variables } = stepsFor[language](folder, available);
  const entrypoint = entrypointOf(start);
  const begin = [`FROM ${base}`, 'USER root', 'WORKDIR /app', ...dependencies];
  const copy = ['COPY . .', ...source];
  const end = [...variables, 'ENV PORT=8080', 'EXPOSE 8080', 'USER 10001:10001'];
  const command = [`ENTRYPOINT ${JSON.stringify(entrypoint)}`, 'CMD []'];
  const hasIgnoreFile = ['.containerignore', '.dockerignore'].some((name) => folder.has(name));
  const isCopy = source.length === 0 && !hasIgnoreFile;
  return {
    base,
    entrypoint,
    dependencyFiles,
    isLocked,
    dependencies: text(isCopy ? [...begin, ...end] : begin),
    source: isCopy ? undefined : ['USER root', ...copy, ...end, ...command],
    dockerfile: text([...begin, ...copy, ...end, ...command]),
  };
}

/** @throws BuildFailure when the installation lacks one */
function requireBaseImages(language: Language, images: BaseImages): { runs: string; compiles?: string } {
  const required = baseImagesOf(language, images);
  if (required) return required;
  const { reason, remedy } = noBaseImage(language);
  throw new BuildFailure(`${reason}: ${remedy}`);
}

/** The file in the image of {@link goDockerfile}. */
export const compiledProgram = basename(goProgram);

/**
 * A Dockerfile whose image has nothing but the program of a Go module, as {@link compiledProgram}. Without cgo, because the
 * image that runs the program need not have the libraries of the one that compiles it. Pure.
 * https://docs.docker.com/build/building/multi-stage/
 * @param available as for {@link generateBuild}
 * @throws BuildFailure when the platform has no base image for Go
 */
export function goDockerfile(images: BaseImages, available: readonly string[]): string {
  const { compiles } = requireBaseImages('go', images);
  return text([
    `FROM ${compiles} AS compiled`,
    'USER root',
    'WORKDIR /app',
    ...declared(['GOPROXY', ...certificateVariables], available),
    'COPY . .',
    'RUN CGO_ENABLED=0 go build -buildvcs=false -o /program .',
    'FROM scratch',
    `COPY --from=compiled /program /${compiledProgram}`,
  ]);
}

/**
 * Names the dependencies of a folder: equal keys mean equal dependencies, as long as they are on the same base image.
 * Undefined for dependencies that each build installs. Pure.
 * @param options.registries where packages come from
 * @param options.now in ms since 1970
 */
export function dependencyKey(
  build: GeneratedBuild,
  folder: Pick<Folder, 'read'>,
  { registries, now }: { registries: readonly string[]; now: number },
): string | undefined {
  if (!build.isLocked) return undefined;
  const digest = createHash('sha256');
  const parts = [build.dependencies, ...registries, ...build.dependencyFiles.map((name) => folder.read(name))];
  for (const part of parts) digest.update(`${Buffer.byteLength(part)}\n${part}`);
  return digest.update(String(Math.floor(now / periodMs))).digest('hex');
}

function nodeSteps({ has, read }: Folder, available: readonly string[]): Steps {
  const isLocked = has('package-lock.json');
  const dependencyFiles = ['package.json', ...(isLocked ? ['package-lock.json'] : [])];
  const install = `npm ${isLocked ? 'ci' : 'install'} --include=dev --no-audit --no-fund`;
  const prune = 'npm prune --omit=dev --no-audit --no-fund';
  const hasBuild = hasBuildScript(read('package.json'));
  const variables = declared(['npm_config_registry', ...certificateVariables], available);
  return {
    dependencyFiles,
    isLocked,
    dependencies: [
      ...variables,
      `COPY ${dependencyFiles.join(' ')} ./`,
      `RUN ${hasBuild ? install : `${install} && ${prune}`}`,
    ],
    source: hasBuild ? [...variables, `RUN npm run build && ${prune}`] : [],
    variables: ['ENV NODE_ENV=production'],
  };
}

/** Whether a package.json has a script `build`. @throws BuildFailure for one that is not valid */
export function hasBuildScript(text: string): boolean {
  try {
    const { scripts } = JSON.parse(text) as { scripts?: Record<string, unknown> };
    return typeof scripts?.['build'] === 'string';
  } catch (error) {
    throw new BuildFailure(`package.json is invalid: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function pythonSteps({ has }: Folder, available: readonly string[]): Steps {
  const hasRequirements = has('requirements.txt');
  const variables = declared(['PIP_INDEX_URL', 'PIP_TRUSTED_HOST', ...certificateVariables], available);
  return {
    dependencyFiles: hasRequirements ? ['requirements.txt'] : [],
    isLocked: true,
    dependencies: [
      'ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PATH=/opt/venv/bin:/usr/local/bin:/usr/bin:/bin',
      'RUN python3 -m venv /opt/venv',
      ...(hasRequirements ? [...variables, 'COPY requirements.txt ./', 'RUN pip install -r requirements.txt'] : []),
    ],
    source: !hasRequirements && has('pyproject.toml') ? [...variables, 'RUN pip install .'] : [],
    variables: [],
  };
}

function declared(variables: readonly string[], available: readonly string[]): string[] {
  return variables.filter((name) => available.includes(name)).map((name) => `ARG ${name}`);
}

function text(lines: readonly string[]): string {
  return [...lines, ''].join('\n');
}
