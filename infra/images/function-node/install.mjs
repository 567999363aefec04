// Installs what the manifest names into the folder of its digest, once: every later start finds it there. Packages run no
// scripts. What fails, fails with the installer's last lines.
import { randomUUID } from 'node:crypto';
import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const { SVC_MANIFEST: manifest, SVC_DEPENDENCIES: target } = process.env;
const linesMax = 12;

/** npm's own words without what stands before each line, and without hints at files that nobody can read. */
function tellingLines(said) {
  const lines = said.split('\n').map((line) => line.replace(/^npm (?:error|ERR!) ?/, '').trim());
  return lines.filter((line) => line !== '' && !/complete log of this run|^\/.*-debug-\d+\.log$/.test(line));
}

function install(folder) {
  const options = [
    '--ignore-scripts',
    '--omit=dev',
    '--no-package-lock',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ];
  // A HOME of its own: no configuration but the platform's counts.
  const env = {
    ...process.env,
    HOME: folder,
    npm_config_cache: join(folder, '.npm'),
    npm_config_update_notifier: 'false',
  };
  const child = spawn('npm', ['install', ...options], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said = (said + data).slice(-20_000)));
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: 1, said: `npm cannot be started: ${error.message}` }));
    child.once('close', (code) => resolve({ code: code ?? 1, said }));
  });
}

if (!existsSync(target)) {
  const work = join(target, '..', `.making-${randomUUID()}`);
  mkdirSync(work, { recursive: true });
  copyFileSync(manifest, join(work, 'package.json'));
  const { code, said } = await install(work);
  if (code === 0) {
    rmSync(join(work, '.npm'), { recursive: true, force: true });
    mkdirSync(join(work, 'node_modules'), { recursive: true });
    try {
      renameSync(work, target);
    } catch (error) {
      // Another pod was faster.
      if (!existsSync(target)) throw error;
    }
  }
  rmSync(work, { recursive: true, force: true });
  if (code !== 0) process.stderr.write(`${tellingLines(said).slice(0, linesMax).join('\n')}\n`);
  process.exitCode = code === 0 ? 0 : 1;
}
