import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { BuildFailure } from './failure.ts';
import { goProgram, onlyDockerfile, ownFolder, type Plan } from '../../../runtime/domain/folder-plan.ts';
import { basicCredentials } from '../../../runtime/domain/registry-credentials.ts';
import { entrypointOf, planOf } from './plan.ts';
import { credentialsFile } from './registry-credentials.ts';
import { run } from './run.ts';
import type { BuildSettings } from './settings.ts';
import { addStaticServer } from './static-site.ts';

/**
 * A folder image for the embedded cluster: the files with their dependencies, and the start command. It ignores a
 * Dockerfile, whose image would be a file system of its own, and so a container: docs/decisions/0009-pods-as-processes.md.
 * @param dockerfile the name of the Dockerfile that the source names
 */
export async function makeFolderImage(context: string, dockerfile = 'Dockerfile'): Promise<void> {
  const hasDockerfile = existsSync(join(context, dockerfile));
  const { language } = planOrExplain(context, hasDockerfile ? dockerfile : undefined);
  if (hasDockerfile) {
    process.stdout.write(
      `ignoring ${dockerfile}: the embedded cluster has no containers and builds the folder instead\n`,
    );
  }
  if (language === 'node') await installNode(context);
  else if (language === 'python') await installPython(context);
  else if (language === 'go') await buildGo(context);
  else if (language === 'static') addStaticServer(context);
}

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
  if (dependsOnSomething(context)) {
    const install = existsSync(join(context, 'package-lock.json')) ? 'ci' : 'install';
    await run('npm', [install, '--include=dev', '--no-audit', '--no-fund'], { cwd: context });
  }
  await run('npm', ['run', 'build', '--if-present'], { cwd: context });
}

async function installPython(context: string): Promise<void> {
  const pip = ['-m', 'pip', 'install', '--disable-pip-version-check', '--no-cache-dir', '--target', '.packages'];
  const requirements = existsSync(join(context, 'requirements.txt'));
  if (!requirements && !existsSync(join(context, 'pyproject.toml'))) return;
  const what = requirements ? ['-r', 'requirements.txt'] : ['.'];
  await run('python3', [...pip, ...what], { cwd: context, name: 'pip install' });
}

async function buildGo(context: string): Promise<void> {
  mkdirSync(join(context, ownFolder), { recursive: true });
  // Pods have the system's PATH, which lacks the folder that Go's own installation uses: https://go.dev/doc/install
  const env = { PATH: `${process.env['PATH'] ?? ''}:/usr/local/go/bin` };
  try {
    await run('go', ['build', '-o', goProgram, '.'], { cwd: context, env });
  } catch (error) {
    if (!(error instanceof BuildFailure) || !error.message.includes('ENOENT')) throw error;
    throw new BuildFailure(
      'this machine has no Go toolchain: install go, or build the program yourself and start it with a Procfile ("web: ./server")',
    );
  }
}

/** Uploads the folder to the image store over HTTP. @returns the image's digest, and the size of its archive */
export async function pushFolderImage(
  { image, target }: BuildSettings,
  context: string,
): Promise<{ digest: string; sizeBytes: number }> {
  const { language, start } = planOf(context);
  const env: Record<string, string> =
    language === 'python' ? { PYTHONUNBUFFERED: '1', PYTHONPATH: '/app/.packages' } : { NODE_ENV: 'production' };
  return send(context, { image, target, configuration: { entrypoint: entrypointOf(start), env } });
}

function dependsOnSomething(context: string): boolean {
  if (existsSync(join(context, 'package-lock.json'))) return true;
  return /"(?:\w+D|d)ependencies"/.test(readFileSync(join(context, 'package.json'), 'utf8'));
}

/** Uploads the folder as an archive. @returns the digest that the store assigns, and the archive's size */
async function send(
  context: string,
  { image, target, configuration }: { image: string; target: string; configuration: object },
): Promise<{ digest: string; sizeBytes: number }> {
  const archive = spawn('tar', ['--create', '--file=-', `--directory=${context}`, '.'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let sizeBytes = 0;
  archive.stdout.on('data', (chunk: Buffer) => (sizeBytes += chunk.length));
  const host = target.slice(0, target.indexOf('/'));
  const packed = new Promise<number | null>((resolve) => archive.once('close', resolve));
  const answer = await new Promise<{ status: number; body: string }>((resolve, reject) => {
    const sent = request(
      `http://${host}/images/${encodeURIComponent(image)}`,
      {
        method: 'PUT',
        headers: {
          'content-type': 'application/x-tar',
          'x-configuration': JSON.stringify(configuration),
          ...authorization(host),
        },
      },
      (response) => {
        text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
      },
    );
    sent.once('error', reject);
    archive.stdout.pipe(sent);
  });
  if ((await packed) !== 0) throw new BuildFailure('tar failed to pack the folder');
  if (answer.status !== 201) throw new BuildFailure(`the image store refused the image: ${answer.body.slice(0, 300)}`);
  return { digest: (JSON.parse(answer.body) as { digest: string }).digest, sizeBytes };
}

/** This step's credentials for a registry, as a header. */
function authorization(registry: string): { authorization?: string } {
  const file = credentialsFile();
  const credentials = file && basicCredentials(readFileSync(file, 'utf8'), registry);
  return credentials ? { authorization: `Basic ${credentials}` } : {};
}
