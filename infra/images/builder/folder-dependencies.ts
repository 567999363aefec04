import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  createWriteStream,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { dependencyFolders, type Plan } from '../../../runtime/domain/folder-plan.ts';
import { hasBuildScript, periodMs } from './generated-build.ts';
import { authorization } from './registry-credentials.ts';
import { capture, run } from './run.ts';
import type { BuildSettings } from './settings.ts';

/** The dependencies of a folder image: their folder, and a name for them. Equal keys mean equal dependencies. */
export interface FolderDependencies {
  folder: (typeof dependencyFolders)[number];
  key: string;
  /** Whether the build runs a script that reads them, and may change them. */
  needed: boolean;
}

/** What the build found out: the folder's dependencies, and whether they are those of the last image. */
export interface BuiltDependencies extends FolderDependencies {
  cached: boolean;
}

const silentMs = 20_000;
/** Larger dependencies would take most of the workspace. */
const archiveMaxBytes = 1024 ** 3;
const recordMaxBytes = 10_000;
/** Scripts of a package that npm runs when it installs the package's dependencies, and which may read the whole folder. */
const installScripts = [
  'preinstall',
  'install',
  'postinstall',
  'prepublish',
  'preprepare',
  'prepare',
  'postprepare',
  'dependencies',
];
/** A line of requirements.txt that names a package of the registry, with its version, environment and hashes. */
const requirement = /^[A-Za-z0-9][\w.-]*(?:\[[\w., -]*\])? *(?:[<>=!~;][^:/]*|--hash=.*)?\\?$/;
const hashLine = /^--hash=\S+ *\\?$/;

/**
 * Asks the image store for the dependencies of the app's last image. Runs before anything of the source is in the workspace,
 * because it has the credentials of the store. A build without a cache is slower and nothing else, so this never fails.
 */
export async function restoreDependencies({ workspace, image, target, cacheDigest }: BuildSettings): Promise<void> {
  if (cacheDigest === undefined) return;
  const host = target.slice(0, target.indexOf('/'));
  const name = `${image.slice(0, image.lastIndexOf(':'))}@${cacheDigest}`;
  try {
    const record = await ask(host, `/images/${encodeURIComponent(name)}`);
    // Of the app's last image, later builds can use nothing.
    if (!record) return;
    mkdirSync(join(workspace, 'cache'), { recursive: true });
    writeFileSync(restoredFile(workspace), await text(record));
    if (readRestored(workspace)?.needed !== true) return;
    const archive = await ask(host, `/images/${encodeURIComponent(name)}/dependencies`);
    if (!archive) throw new Error('the image was deleted');
    await pipeline(archive, limitedTo(archiveMaxBytes), createWriteStream(restoredArchive(workspace)));
  } catch {
    rmSync(join(workspace, 'cache'), { recursive: true, force: true });
    process.stdout.write('the image of the last build cannot be read; the dependencies are installed again\n');
  }
}

/** Gets something from the image store, which is undefined if the store does not have it. @throws Error */
async function ask(host: string, path: string): Promise<IncomingMessage | undefined> {
  const sent = request(`http://${host}${path}`, { headers: authorization(host), timeout: silentMs });
  sent.once('timeout', () => sent.destroy(new Error('the image store does not answer')));
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  if (response.statusCode === 200) return response;
  response.resume();
  if (response.statusCode === 404) return undefined;
  throw new Error(`the image store answered ${response.statusCode}`);
}

function limitedTo(maxBytes: number): Transform {
  let size = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      done(size > maxBytes ? new Error('the dependencies are too large') : null, chunk);
    },
  });
}

const restoredFile = (workspace: string) => join(workspace, 'cache/dependencies.json');
const restoredArchive = (workspace: string) => join(workspace, 'cache/dependencies.tar');
const builtFile = (workspace: string) => join(workspace, 'dependencies.json');

/** The dependencies of the app's last image, if its build could say what they are. */
export function readRestored(workspace: string): FolderDependencies | undefined {
  return readRecord(restoredFile(workspace));
}

/** Puts the dependencies of the app's last image into the folder that is built. @throws BuildFailure */
export async function unpackRestored(
  workspace: string,
  context: string,
  { folder }: FolderDependencies,
): Promise<void> {
  rmSync(join(context, folder), { recursive: true, force: true });
  await run('tar', ['--extract', '--file', restoredArchive(workspace), '--directory', context, '--no-same-owner']);
}

/** Two texts that tell whether a script changed the dependencies: `all`, and `packages`, which leaves out caches. */
export function stateOf(context: string, { folder }: FolderDependencies): { all: string; packages: string } {
  const path = join(context, folder);
  const [all, packages]: [string[], string[]] = [[], []];
  const names = existsSync(path) ? readdirSync(path, { recursive: true, encoding: 'utf8' }) : [];
  for (const name of names.toSorted()) {
    const { size, mtimeMs, mode } = lstatSync(join(path, name));
    const line = `${name} ${size} ${mtimeMs} ${mode}`;
    all.push(line);
    // Such as .cache and .vite, which installers do not write.
    if (!/^\.(?!bin(?:\/|$))/.test(name)) packages.push(line);
  }
  return { all: all.join('\n'), packages: packages.join('\n') };
}

/** Leaves what the build found out for the push. */
export function writeBuilt(workspace: string, dependencies: BuiltDependencies): void {
  writeFileSync(builtFile(workspace), JSON.stringify(dependencies));
}

/** What the build left; undefined without dependencies that another build may use. */
export function readBuilt(workspace: string): BuiltDependencies | undefined {
  const record = readRecord(builtFile(workspace));
  return record && { ...record, cached: record.cached === true };
}

/** The code that was built could write these files, so a link is not followed. */
function readRecord(file: string): (FolderDependencies & { cached?: unknown }) | undefined {
  try {
    const status = lstatSync(file);
    if (!status.isFile() || status.size > recordMaxBytes) return undefined;
    const record = JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, unknown>>;
    const { folder: name, key, needed, cached } = record;
    const folder = dependencyFolders.find((each) => each === name);
    if (folder === undefined || typeof key !== 'string' || !/^[a-f0-9]{64}$/.test(key)) return undefined;
    return { folder, key, needed: needed === true, cached };
  } catch {
    return undefined;
  }
}

/**
 * Names the dependencies of a folder; undefined when they do not follow from a few files, so that each build installs them.
 * @param options.now in ms since 1970
 */
export async function dependenciesOf(
  context: string,
  { language }: Plan,
  { env, now }: { env: Readonly<Record<string, string | undefined>>; now: number },
): Promise<FolderDependencies | undefined> {
  const folder = { node: 'node_modules', python: '.packages' } as const;
  if (language !== 'node' && language !== 'python') return undefined;
  const files = language === 'node' ? nodeFiles(context) : pythonFiles(context);
  if (!files) return undefined;
  const version = language === 'node' ? process.version : await capture('python3', ['--version']);
  const { npm_config_registry: npm = '', PIP_INDEX_URL: pypi = '' } = env;
  const week = String(Math.floor(now / periodMs));
  const digest = createHash('sha256');
  for (const part of [language, version, process.platform, process.arch, npm, pypi, week, ...files]) {
    digest.update(`${Buffer.byteLength(part)}\n${part}`);
  }
  const needed = language === 'node' && hasBuildScript(files[0] ?? '');
  return { folder: folder[language], key: digest.digest('hex'), needed };
}

/** The texts that a folder's node_modules follow from; undefined without a lock file, and when more than these decides. */
function nodeFiles(context: string): string[] | undefined {
  const [manifest, lock] = ['package.json', 'package-lock.json'].map((name) => readOwn(context, name));
  if (manifest === undefined || lock === undefined) return undefined;
  if (['npm-shrinkwrap.json', 'binding.gyp'].some((name) => existsSync(join(context, name)))) return undefined;
  const configuration = existsSync(join(context, '.npmrc')) ? readOwn(context, '.npmrc') : '';
  if (configuration === undefined || !isInstalledAlone(manifest, lock)) return undefined;
  return [manifest, lock, configuration];
}

/** Whether npm installs the packages of a lock file without the other files of the folder. */
function isInstalledAlone(manifest: string, lock: string): boolean {
  try {
    const { scripts = {}, workspaces } = JSON.parse(manifest) as { scripts?: object; workspaces?: unknown };
    if (workspaces !== undefined || installScripts.some((name) => Object.hasOwn(scripts, name))) return false;
    const { packages } = JSON.parse(lock) as {
      packages: Readonly<Record<string, { link?: boolean; resolved?: string }>>;
    };
    return Object.entries(packages).every(
      ([path, { link, resolved = '' }]) =>
        (path === '' || path.startsWith('node_modules/')) && link !== true && !resolved.startsWith('file:'),
    );
  } catch {
    // npm says what is wrong with the file.
    return false;
  }
}

/** The text that a folder's packages follow from; undefined when it names other files. */
function pythonFiles(context: string): string[] | undefined {
  const requirements = readOwn(context, 'requirements.txt');
  const lines = requirements?.split('\n').map(withoutComment);
  const isPlain = lines?.every(
    (line) =>
      line === '' ||
      hashLine.test(line) ||
      (requirement.test(line) && !existsSync(join(context, line.split(/[ ;<>=!~[]/, 1)[0] ?? ''))),
  );
  return requirements !== undefined && isPlain === true ? [requirements] : undefined;
}

/** A line of requirements.txt. Addresses have a `#`, too, but no blank before it. */
function withoutComment(line: string): string {
  const start = line.startsWith('#') ? 0 : line.search(/\s#/);
  return (start === -1 ? line : line.slice(0, start)).trim();
}

/** A file of the folder that is built. A link could lead to files of this container. */
function readOwn(context: string, name: string): string | undefined {
  const file = join(context, name);
  return lstatSync(file, { throwIfNoEntry: false })?.isFile() === true ? readFileSync(file, 'utf8') : undefined;
}
