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
import { withLock } from './lock.ts';
import { ClusterProblem } from './problem.ts';
import { versions } from './settings.ts';
import type { Progress } from './progress.ts';

/** A program to build: a Go module under `build/` and the package in it. */
export interface Tool {
  readonly name: 'kubernetes' | 'coredns' | 'traefik' | 'pause' | 'minio' | 'ferretdb' | 'kwok';
  /** Go package to build, as seen from the module. */
  readonly package: string;
  /** Values set at link time, by full variable name. */
  readonly variables: Readonly<Record<string, string>>;
  /** Files to store with the binary, by their path inside a module that the build depends on. */
  readonly files: readonly { readonly module: string; readonly path: string; readonly name: string }[];
  /** A module that must be built in a copy, because it needs a version file that its published form lacks. */
  readonly patchedModule?: { readonly module: string; readonly versionFile: string };
  /** Unused packages that take long to compile, each with the file that replaces it. */
  readonly stubs?: readonly Stub[];
}

interface Stub {
  readonly module: string;
  /** The package's folder in the module. */
  readonly package: string;
  /** The replacement, in the folder of the tool's go.mod. */
  readonly source: string;
}

/** A built tool. */
export interface Binary {
  readonly tool: Tool['name'];
  /** The binary's own folder, whose name contains the digest of its inputs. */
  readonly folder: string;
  readonly path: string;
}

const kubernetesVersion = 'k8s.io/component-base/version';
const traefikModule = 'github.com/traefik/traefik/v3';
const [kubernetesMajor = '', kubernetesMinor = ''] = versions.kubernetes.split('.');

/**
 * The tools of the cluster, in build order. Later ones reuse packages that Kubernetes has compiled: its client, and what that
 * needs, have the same versions in all three modules.
 */
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
    stubs: [
      { module: 'github.com/go-acme/lego/v4', package: 'providers/dns', source: 'dns-providers.go.txt' },
      { module: traefikModule, package: 'pkg/provider/ecs', source: 'ecs.go.txt' },
    ],
  },
];

/** The object store of services. Its image contains it; the cluster itself does not use it. */
export const minio: Tool = { name: 'minio', package: 'github.com/minio/minio', variables: {}, files: [] };

/** The server of services of the type mongodb, in its image like MinIO. */
export const ferretdb: Tool = {
  name: 'ferretdb',
  package: './cmd/ferretdb',
  variables: {},
  files: [],
  patchedModule: { module: 'github.com/FerretDB/FerretDB', versionFile: 'build/version/version.txt' },
};

/** Fake nodes, whose pods become ready without running. Only a bench uses it. */
export const kwok: Tool = { name: 'kwok', package: 'sigs.k8s.io/kwok/cmd/kwok', variables: {}, files: [] };

/** How long unused binaries are kept, since another checkout may use them. */
const retentionDays = 14;

/** Older partial builds were interrupted: no build takes this long. */
const abandonedHours = 6;

/** How long to wait for another process that builds the same tool. */
const buildLockSeconds = 45 * 60;

/** The oldest Go that builds all tools: Traefik's go.mod requires it. */
const oldestGo = { major: 1, minor: 25 };

/** Parameters of `go` that build a tool to `output`. Pure. */
export function buildParameters(tool: Tool, output: string): string[] {
  const values = Object.entries(tool.variables).map(([name, value]) => `-X ${name}=${value}`);
  const linker = ['-s', '-w', ...values].join(' ');
  // The linker leaves out what debuggers read, so the compiler need not make it, which is a tenth of its work.
  const compiler = 'all=-dwarf=false';
  const flags = ['-mod=readonly', '-trimpath', '-buildvcs=false', `-gcflags=${compiler}`, `-ldflags=${linker}`];
  return ['build', ...flags, '-o', output, tool.package];
}

/**
 * A digest of everything that the binary depends on: the module's files, the parameters and the architecture.
 * @param sources folder of the module
 */
export function buildDigest(tool: Tool, sources: string, architecture: string): string {
  const { patchedModule, stubs } = tool;
  const recipe = [
    architecture,
    buildParameters(tool, ''),
    tool.files,
    ...(patchedModule ? [patchedModule] : []),
    ...(stubs ?? []),
  ];
  const hash = createHash('sha256').update(JSON.stringify(recipe));
  for (const name of readdirSync(sources).sort()) {
    hash.update(`\0${name}\0`).update(readFileSync(join(sources, name)));
  }
  return hash.digest('hex').slice(0, 16);
}

/**
 * Returns the binary of every tool. Builds those that are not in the cache, one at a time, since each build uses all cores.
 * Source: the Go modules pinned in `build/<tool>/go.sum`.
 * @param cache folder that keeps the binaries
 * @throws ClusterProblem when Go is missing or too old, or a build fails
 */
export async function obtainBinaries(cache: string, progress: Progress): Promise<Map<Tool['name'], Binary>> {
  const binaries = new Map<Tool['name'], Binary>();
  for (const tool of tools) binaries.set(tool.name, await obtainBinary(tool, cache, progress));
  removeUnused(cache);
  return binaries;
}

/** Returns the binary of one tool, with the cache and the errors of {@link obtainBinaries}. */
export async function obtainBinary(tool: Tool, cache: string, progress: Progress): Promise<Binary> {
  const binary = binaryOf(tool, cache);
  if (existsSync(binary.folder)) {
    utimesSync(binary.folder, new Date(), new Date());
    return binary;
  }
  await requireGo();
  const reportWait = (): void => progress.note(`waiting for another process that builds ${tool.name} ...`);
  await withBuildLock(`${binary.folder}.lock`, reportWait, async () => {
    if (existsSync(binary.folder)) return;
    await progress.stage(`build ${tool.name}`, () => build(tool, sourceFolder(tool), binary.folder));
  });
  return binary;
}

/** Only Linux has `flock`. Elsewhere two processes may build the same tool, and the later binary replaces the other. */
function withBuildLock(file: string, onWait: () => void, work: () => Promise<void>): Promise<void> {
  return process.platform === 'linux' ? withLock(file, buildLockSeconds, onWait, work) : work();
}

/** @throws ClusterProblem when a tool is not in the cache and Go is missing or too old */
export async function requireBuildable(cache: string): Promise<void> {
  if (needsBuild(cache)) await requireGo();
}

/** Whether a tool of the cluster or of an image is missing from the cache. */
export function needsBuild(cache: string): boolean {
  return [...tools, minio, ferretdb].some((tool) => findBinary(tool, cache) === undefined);
}

/** The path of a tool's binary in the cache; undefined if it has not been built. */
export function findBinary(tool: Tool, cache: string): string | undefined {
  const { path } = binaryOf(tool, cache);
  return existsSync(path) ? path : undefined;
}

function binaryOf(tool: Tool, cache: string): Binary {
  const folder = join(cache, `${tool.name}-${buildDigest(tool, sourceFolder(tool), process.arch)}`);
  return { tool: tool.name, folder, path: join(folder, tool.name) };
}

function sourceFolder(tool: Tool): string {
  return join(import.meta.dirname, 'build', tool.name);
}

/** Removes binaries that have not been used for a long time, and the files of interrupted builds. */
function removeUnused(cache: string): void {
  for (const name of readdirSync(cache)) {
    const folder = join(cache, name);
    const hours = name.endsWith('.part') ? abandonedHours : retentionDays * 24;
    const age = Date.now() - (statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > hours * 3600 * 1000) rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * The compiler spends a third of its time on collecting garbage. It is short-lived and runs twice at a time here, so it
 * collects only when it needs more than this: https://pkg.go.dev/runtime#hdr-Environment_Variables
 */
const compilerMemory = { GOGC: 'off', GOMEMLIMIT: '2GiB' };

async function build(tool: Tool, sources: string, folder: string): Promise<void> {
  const partial = `${folder}.${process.pid}.part`;
  mkdirSync(partial, { recursive: true });
  try {
    const environment = { ...process.env, ...compilerMemory, CGO_ENABLED: '0', GOWORK: 'off' };
    const source = await prepareSources(tool, sources, join(partial, 'source'), environment);
    // At low priority, because tests with deadlines may be running.
    const go = ['-n', '10', 'go', ...buildParameters(tool, join(partial, tool.name))];
    await run('nice', go, { cwd: source, environment });
    if (source !== sources) rmSync(source, { recursive: true });
    for (const file of tool.files) {
      const moduleFolder = await run('go', ['list', '-m', '-f', '{{.Dir}}', file.module], {
        cwd: sources,
        environment,
      });
      copyFileSync(join(moduleFolder.trim(), file.path), join(partial, file.name));
    }
    renameSync(partial, folder);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

/** The folder to build a tool in: `sources`, or `folder` with a changed copy. */
async function prepareSources(
  { patchedModule, stubs }: Tool,
  sources: string,
  folder: string,
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  if (patchedModule) return patchedCopy(patchedModule, sources, folder, environment);
  if (stubs) return copyWithStubs(stubs, sources, folder, environment);
  return sources;
}

/** Copies the tool's module, and into it the modules with stubs, and makes the tool's module use these copies. */
async function copyWithStubs(
  stubs: readonly Stub[],
  sources: string,
  folder: string,
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  await run('cp', ['-R', sources, folder]);
  for (const [index, stub] of stubs.entries()) {
    const { Dir: published } = await download(stub.module, sources, environment);
    const copy = `module-${index}`;
    // Without the mode, because Go's module cache is read-only.
    await run('cp', ['-R', '--no-preserve=mode', published, join(folder, copy)]);
    const packageFolder = join(folder, copy, stub.package);
    for (const name of readdirSync(packageFolder)) if (name.endsWith('.go')) rmSync(join(packageFolder, name));
    copyFileSync(join(sources, stub.source), join(packageFolder, 'stub.go'));
    await run('go', ['mod', 'edit', `-replace=${stub.module}=./${copy}`], { cwd: folder, environment });
  }
  return folder;
}

async function download(
  module: string,
  sources: string,
  environment: NodeJS.ProcessEnv,
): Promise<{ Dir: string; Version: string }> {
  const output = await run('go', ['mod', 'download', '-json', module], { cwd: sources, environment });
  return JSON.parse(output) as { Dir: string; Version: string };
}

/** Copies the module in the version that `sources` pins, and adds the version file. @returns the copy's folder */
async function patchedCopy(
  { module, versionFile }: NonNullable<Tool['patchedModule']>,
  sources: string,
  folder: string,
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  const { Dir: published, Version: version } = await download(module, sources, environment);
  // Without the mode, because Go's module cache is read-only.
  await run('cp', ['-R', '--no-preserve=mode', published, folder]);
  writeFileSync(join(folder, versionFile), `${version}\n`);
  return folder;
}

async function requireGo(): Promise<void> {
  const requirement = `Go ${oldestGo.major}.${oldestGo.minor} or later`;
  const advice = `Install it from https://go.dev/dl and put it on PATH (Debian's package "golang" is too old).`;
  const { code, stdout } = await attempt('go', ['env', 'GOVERSION'], {
    environment: { ...process.env, GOTOOLCHAIN: 'local' },
  });
  if (code !== 0)
    throw new ClusterProblem(`${requirement} is needed to build the cluster; "go" was not found. ${advice}`, 2);
  const [, major = 0, minor = 0] = (/go(\d+)\.(\d+)/.exec(stdout) ?? []).map(Number);
  if (major < oldestGo.major || (major === oldestGo.major && minor < oldestGo.minor)) {
    throw new ClusterProblem(`${requirement} is needed, but "go" is ${stdout.trim()}. ${advice}`, 2);
  }
}
