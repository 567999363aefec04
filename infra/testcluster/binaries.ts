import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { attempt, run } from './command.ts';
import { ClusterProblem } from './problem.ts';
import { versions } from './settings.ts';
import type { Progress } from './progress.ts';

/** One thing that is built: a Go module under `build/` and the package in it. */
export interface Tool {
  readonly name: 'kubernetes' | 'coredns' | 'traefik' | 'pause' | 'minio' | 'ferretdb';
  /** Go package to build, as seen from the module. */
  readonly package: string;
  /** Values set at link time, by full variable name. */
  readonly variables: Readonly<Record<string, string>>;
  /** Files kept beside the binary: path inside a module that the build depends on. */
  readonly files: readonly { readonly module: string; readonly path: string; readonly name: string }[];
  /** The module that is built by itself, since it wants a file with its version that is not in it as it is published. */
  readonly alone?: { readonly module: string; readonly versionFile: string };
}

/** A built tool. */
export interface Binary {
  readonly tool: Tool['name'];
  /** Folder of its own, named by the digest of all that went into it. */
  readonly folder: string;
  readonly path: string;
}

const kubernetesVersion = 'k8s.io/component-base/version';
const traefikModule = 'github.com/traefik/traefik/v3';
const [kubernetesMajor = '', kubernetesMinor = ''] = versions.kubernetes.split('.');

/** What the cluster itself is, in the order in which it is built: the largest first shares most with those after it. */
export const tools: readonly Tool[] = [
  { name: 'pause', package: '.', variables: {}, files: [] },
  {
    name: 'kubernetes',
    package: '.',
    variables: {
      [`${kubernetesVersion}.gitVersion`]: `v${versions.kubernetes}`,
      [`${kubernetesVersion}.gitMajor`]: kubernetesMajor,
      [`${kubernetesVersion}.gitMinor`]: kubernetesMinor,
    },
    files: [],
  },
  { name: 'coredns', package: '.', variables: {}, files: [] },
  {
    name: 'traefik',
    package: `${traefikModule}/cmd/traefik`,
    variables: { [`${traefikModule}/pkg/version.Version`]: versions.traefik },
    files: [{ module: traefikModule, path: 'integration/fixtures/k8s/01-traefik-crd.yml', name: 'crds.yml' }],
  },
];

/** The object store of services; its image holds it, and the cluster does without. */
export const minio: Tool = { name: 'minio', package: 'github.com/minio/minio', variables: {}, files: [] };

/** What services of the type mongodb run; kept as MinIO is. */
export const ferretdb: Tool = {
  ...{ name: 'ferretdb', package: './cmd/ferretdb', variables: {}, files: [] },
  alone: { module: 'github.com/FerretDB/FerretDB', versionFile: 'build/version/version.txt' },
};

/** How long binaries that are not used are kept: a checkout of another version comes back to its own. */
const keptDays = 14;

/** The oldest Go that builds all of them: Traefik's go.mod asks for it. */
export const oldestGo = { major: 1, minor: 25 };

/** Parameters of `go` that build a tool to `output`. Pure. */
export function buildParameters(tool: Tool, output: string): string[] {
  const values = Object.entries(tool.variables).map(([name, value]) => `-X ${name}=${value}`);
  const linker = ['-s', '-w', ...values].join(' ');
  return ['build', '-mod=readonly', '-trimpath', '-buildvcs=false', `-ldflags=${linker}`, '-o', output, tool.package];
}

/**
 * A digest of all that decides what the binary is: the module's files, the parameters and the machine's kind.
 * @param sources folder of the module
 */
export function buildDigest(tool: Tool, sources: string, architecture: string): string {
  const recipe = [architecture, buildParameters(tool, ''), tool.files, ...(tool.alone ? [tool.alone] : [])];
  const hash = createHash('sha256').update(JSON.stringify(recipe));
  for (const name of readdirSync(sources).sort()) {
    hash.update(`\0${name}\0`).update(readFileSync(join(sources, name)));
  }
  return hash.digest('hex').slice(0, 16);
}

/**
 * Gives every tool's binary, building those that the cache lacks, one after the other: each build uses all cores.
 * Source: the Go modules pinned in `build/<tool>/go.sum`.
 * @param cache folder that keeps the binaries
 * @throws ClusterProblem when Go is missing or too old, or a build fails
 */
export async function obtainBinaries(cache: string, progress: Progress): Promise<Map<Tool['name'], Binary>> {
  const binaries = new Map<Tool['name'], Binary>();
  for (const tool of tools) binaries.set(tool.name, await obtainBinary(tool, cache, progress));
  prune(cache);
  return binaries;
}

/** Gives one tool's binary, as {@link obtainBinaries} does, whose cache and errors are the same. */
export async function obtainBinary(tool: Tool, cache: string, progress: Progress): Promise<Binary> {
  const binary = placeOf(tool, cache);
  if (existsSync(binary.folder)) {
    utimesSync(binary.folder, new Date(), new Date());
  } else {
    await progress.stage(`build ${tool.name}`, () => build(tool, sourcesOf(tool), binary.folder));
  }
  return binary;
}

/** Where a tool's binary is in the cache; undefined while it has not been built. */
export function findBinary(tool: Tool, cache: string): string | undefined {
  const { path } = placeOf(tool, cache);
  return existsSync(path) ? path : undefined;
}

function placeOf(tool: Tool, cache: string): Binary {
  const folder = join(cache, `${tool.name}-${buildDigest(tool, sourcesOf(tool), process.arch)}`);
  return { tool: tool.name, folder, path: join(folder, tool.name) };
}

function sourcesOf(tool: Tool): string {
  return join(import.meta.dirname, 'build', tool.name);
}

/** Removes what nobody has used for long, and what an interrupted build left. */
function prune(cache: string): void {
  const oldest = Date.now() - keptDays * 24 * 3600 * 1000;
  for (const name of readdirSync(cache)) {
    const folder = join(cache, name);
    if (name.endsWith('.part') || statSync(folder).mtimeMs < oldest) rmSync(folder, { recursive: true, force: true });
  }
}

async function build(tool: Tool, sources: string, folder: string): Promise<void> {
  await requireGo();
  const unfinished = `${folder}.${process.pid}.part`;
  mkdirSync(unfinished, { recursive: true });
  try {
    const environment = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' };
    const source = tool.alone ? await copyOf(tool.alone, sources, join(unfinished, 'source'), environment) : sources;
    await run('go', buildParameters(tool, join(unfinished, tool.name)), { cwd: source, environment });
    if (source !== sources) rmSync(source, { recursive: true });
    for (const file of tool.files) {
      const listed = await run('go', ['list', '-m', '-f', '{{.Dir}}', file.module], { cwd: sources, environment });
      copyFileSync(join(listed.trim(), file.path), join(unfinished, file.name));
    }
    renameSync(unfinished, folder);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** The module as `sources` pins it, with the file that it lacks; what it needs, its own go.sum pins. @returns the folder */
async function copyOf(
  { module, versionFile }: NonNullable<Tool['alone']>,
  sources: string,
  folder: string,
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  const answer = await run('go', ['mod', 'download', '-json', module], { cwd: sources, environment });
  const { Dir: published, Version: version } = JSON.parse(answer) as { Dir: string; Version: string };
  // Go's folder cannot be written, and nor could the copy.
  await run('cp', ['-R', '--no-preserve=mode', published, folder]);
  writeFileSync(join(folder, versionFile), `${version}\n`);
  return folder;
}

async function requireGo(): Promise<void> {
  const wanted = `Go ${oldestGo.major}.${oldestGo.minor} or later`;
  const advice = `Install it from https://go.dev/dl and put it on PATH (Debian's package "golang" is too old).`;
  const answer = await attempt('go', ['env', 'GOVERSION'], { environment: { ...process.env, GOTOOLCHAIN: 'local' } });
  if (answer.code !== 0)
    throw new ClusterProblem(`${wanted} is needed to build the cluster; there is no "go". ${advice}`, 2);
  const [, major = 0, minor = 0] = (/go(\d+)\.(\d+)/.exec(answer.stdout) ?? []).map(Number);
  if (major < oldestGo.major || (major === oldestGo.major && minor < oldestGo.minor)) {
    throw new ClusterProblem(`${wanted} is needed; "go" is ${answer.stdout.trim()}. ${advice}`, 2);
  }
}
