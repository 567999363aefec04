import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { BuildFailure } from './failure.ts';
import { entrypointOf, planOf } from './plan.ts';
import { basicCredentials, credentialsFile } from './registry-credentials.ts';
import { run } from './run.ts';
import type { BuildSettings } from './settings.ts';

/** A folder image for the embedded cluster: the files with their dependencies, and the start command. It cannot run a Dockerfile. */
export async function makeFolderImage(context: string): Promise<void> {
  const plan = planOf(context);
  const has = (file: string) => existsSync(join(context, file));
  if (has('Dockerfile')) process.stdout.write('ignoring the Dockerfile: the embedded cluster has no containers\n');
  if (plan.language === 'node') {
    if (dependsOnSomething(context)) {
      const install = has('package-lock.json') ? 'ci' : 'install';
      await run('npm', [install, '--include=dev', '--no-audit', '--no-fund'], { cwd: context });
    }
    await run('npm', ['run', 'build', '--if-present'], { cwd: context });
  } else if (has('requirements.txt')) {
    const pip = ['-m', 'pip', 'install', '--disable-pip-version-check', '--no-cache-dir'];
    await run('python3', [...pip, '--target', '.packages', '-r', 'requirements.txt'], {
      cwd: context,
      name: 'pip install',
    });
  }
}

/** Uploads the folder to the image store over HTTP. @returns the image's digest */
export async function pushFolderImage({ image, target }: BuildSettings, context: string): Promise<string> {
  const { language, start } = planOf(context);
  const env =
    language === 'node' ? { NODE_ENV: 'production' } : { PYTHONUNBUFFERED: '1', PYTHONPATH: '/app/.packages' };
  return send(context, { image, target, configuration: { entrypoint: entrypointOf(start), env } });
}

function dependsOnSomething(context: string): boolean {
  if (existsSync(join(context, 'package-lock.json'))) return true;
  return /"(?:\w+D|d)ependencies"/.test(readFileSync(join(context, 'package.json'), 'utf8'));
}

/** Uploads the folder as an archive. @returns the digest that the store assigns */
async function send(
  context: string,
  { image, target, configuration }: { image: string; target: string; configuration: object },
): Promise<string> {
  const archive = spawn('tar', ['--create', '--file=-', `--directory=${context}`, '.'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
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
  return (JSON.parse(answer.body) as { digest: string }).digest;
}

/** This step's credentials for a registry, as a header. */
function authorization(registry: string): { authorization?: string } {
  const file = credentialsFile();
  const credentials = file && basicCredentials(readFileSync(file, 'utf8'), registry);
  return credentials ? { authorization: `Basic ${credentials}` } : {};
}
