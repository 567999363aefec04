import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { BuildFailure } from './failure.ts';
import { goProgram, onlyDockerfile, ownFolder, type Plan } from '../../../runtime/domain/folder-plan.ts';
import { dependenciesOf, readBuilt, readRestored, stateOf, unpackRestored, writeBuilt } from './folder-dependencies.ts';
import { hasBuildScript } from './generated-build.ts';
import { goSearchPath, withGoPackages } from './go-packages.ts';
import { entrypointOf, planOf } from './plan.ts';
import { authorization } from './registry-credentials.ts';
import { run } from './run.ts';
import type { BuildSettings } from './settings.ts';
import { addStaticServer } from './static-site.ts';

/**
 * A folder image for the embedded cluster: the files with their dependencies, and the start command. It ignores a
 * Dockerfile, whose image would be a file system of its own, and so a container: docs/decisions/0009-pods-as-processes.md.
 * Dependencies that the app's last image has are not installed again: docs/decisions/0086-dependencies-on-the-embedded-cluster.md.
 * @param options.now in ms since 1970
 */
export async function makeFolderImage(
  { workspace, target, dockerfile = 'Dockerfile' }: Pick<BuildSettings, 'workspace' | 'target' | 'dockerfile'>,
  { context, now }: { context: string; now: number },
): Promise<void> {
  const hasDockerfile = existsSync(join(context, dockerfile));
  const plan = planOrExplain(context, hasDockerfile ? dockerfile : undefined);
  const { language } = plan;
  if (hasDockerfile) {
    process.stdout.write(
      `ignoring ${dockerfile}: the embedded cluster has no containers and builds the folder instead\n`,
    );
  }
  if (language === 'go') return buildGo(context, hostOf(target));
  if (language === 'static') return addStaticServer(context);
  const dependencies = await dependenciesOf(context, plan, { env: process.env, now });
  const cached = dependencies !== undefined && readRestored(workspace)?.key === dependencies.key;
  if (cached) process.stdout.write('the dependencies are those of the last build\n');
  else if (language === 'node') await installNode(context);
  else if (language === 'python') await installPython(context);
  if (dependencies?.needed === true) {
    if (cached) await unpackRestored(workspace, context, dependencies);
    const before = stateOf(context, dependencies);
    await runBuildScript(context);
    const after = stateOf(context, dependencies);
    // A later build would begin with what the script left.
    if (after.packages !== before.packages) return;
    writeBuilt(workspace, { ...dependencies, cached: cached && after.all === before.all });
  } else {
    if (language === 'node' && hasBuildScript(manifestIn(context))) await runBuildScript(context);
    if (dependencies) writeBuilt(workspace, { ...dependencies, cached });
  }
}

const manifestIn = (context: string) => readFileSync(join(context, 'package.json'), 'utf8');

const runBuildScript = (context: string) => run('npm', ['run', 'build'], { cwd: context });

/** The plan of a folder. @throws BuildFailure that says what a folder needs that has only a Dockerfile */
function planOrExplain(context: string, dockerfile: string | undefined): Plan {
  try {
    return planOf(context);
  } catch (error) {
    if (dockerfile === undefined || !(error instanceof BuildFailure)) throw error;
    const { reason, remedy } = onlyDockerfile(dockerfile);
    throw new BuildFailure(`${reason}: ${remedy}`);
  }
}

async function installNode(context: string): Promise<void> {
  if (!dependsOnSomething(context)) return;
  const install = existsSync(join(context, 'package-lock.json')) ? 'ci' : 'install';
  await run('npm', [install, '--include=dev', '--no-audit', '--no-fund'], { cwd: context });
}

async function installPython(context: string): Promise<void> {
  const pip = ['-m', 'pip', 'install', '--disable-pip-version-check', '--no-cache-dir', '--target', '.packages'];
  const requirements = existsSync(join(context, 'requirements.txt'));
  if (!requirements && !existsSync(join(context, 'pyproject.toml'))) return;
  const what = requirements ? ['-r', 'requirements.txt'] : ['.'];
  await run('python3', [...pip, ...what], { cwd: context, name: 'pip install' });
}

/** @param host of the image store */
async function buildGo(context: string, host: string): Promise<void> {
  mkdirSync(join(context, ownFolder), { recursive: true });
  const PATH = goSearchPath(process.env['PATH'] ?? '');
  try {
    await withGoPackages(host, (env) =>
      run('go', ['build', '-buildvcs=false', '-o', goProgram, '.'], { cwd: context, env: { ...env, PATH } }),
    );
  } catch (error) {
    if (!(error instanceof BuildFailure) || !error.message.includes('ENOENT')) throw error;
    throw new BuildFailure(
      'this machine has no Go toolchain: install go, or build the program yourself and start it with a Procfile ("web: ./server")',
    );
  }
}

/**
 * Uploads the folder to the image store over HTTP, without the dependencies of the last image.
 * @returns the image's digest, and what its files take as an archive
 */
export async function pushFolderImage(
  { workspace, image, target, cacheDigest }: BuildSettings,
  context: string,
): Promise<{ digest: string; sizeBytes: number }> {
  const { language, start } = planOf(context);
  const env: Record<string, string> =
    language === 'python' ? { PYTHONUNBUFFERED: '1', PYTHONPATH: '/app/.packages' } : { NODE_ENV: 'production' };
  const configuration = JSON.stringify({ entrypoint: entrypointOf(start), env });
  const built = readBuilt(workspace);
  if (!built) return send(context, { image, target, headers: { 'x-configuration': configuration } });
  const { folder, key, needed, cached } = built;
  const dependencies = JSON.stringify(cached ? { of: cacheDigest } : { folder, key, needed });
  const headers = { 'x-configuration': configuration, 'x-dependencies': dependencies };
  return send(context, { image, target, headers, without: cached ? folder : undefined });
}

/** The image store's address. */
const hostOf = (target: string) => target.slice(0, target.indexOf('/'));

function dependsOnSomething(context: string): boolean {
  if (existsSync(join(context, 'package-lock.json'))) return true;
  return /"(?:\w+D|d)ependencies"/.test(manifestIn(context));
}

/** Uploads the folder as an archive. @returns the digest that the store assigns, and the size of the image's files */
async function send(
  context: string,
  {
    image,
    target,
    headers,
    without,
  }: { image: string; target: string; headers: Record<string, string>; without?: string | undefined },
): Promise<{ digest: string; sizeBytes: number }> {
  const exclude = without === undefined ? [] : ['--anchored', `--exclude=./${without}`];
  const archive = spawn('tar', ['--create', '--file=-', ...exclude, `--directory=${context}`, '.'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let sizeBytes = 0;
  archive.stdout.on('data', (chunk: Buffer) => (sizeBytes += chunk.length));
  const host = hostOf(target);
  const packed = new Promise<number | null>((resolve) => archive.once('close', resolve));
  const answer = await new Promise<{ status: number; body: string }>((resolve, reject) => {
    const sent = request(
      `http://${host}/images/${encodeURIComponent(image)}`,
      { method: 'PUT', headers: { 'content-type': 'application/x-tar', ...headers, ...authorization(host) } },
      (response) => {
        text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
      },
    );
    sent.once('error', reject);
    archive.stdout.pipe(sent);
  });
  if ((await packed) !== 0) throw new BuildFailure('tar failed to pack the folder');
  if (answer.status !== 201) throw new BuildFailure(`the image store refused the image: ${answer.body.slice(0, 300)}`);
  const { digest, dependencyBytes } = JSON.parse(answer.body) as { digest: string; dependencyBytes: number };
  return { digest, sizeBytes: sizeBytes + dependencyBytes };
}
