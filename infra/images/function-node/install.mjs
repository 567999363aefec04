// Installs the packages of a manifest into the folder SVC_DEPENDENCIES, unless the folder exists. Does not run the packages'
// scripts. On failure, prints npm's error and exits with 1.
import { randomUUID } from 'node:crypto';
import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const { SVC_MANIFEST: manifest, SVC_DEPENDENCIES: target, SVC_CA_CERTIFICATES: certificates } = process.env;
const linesMax = 12;

/** npm's error lines, without their prefix and without references to log files in the pod, which users cannot read. */
function errorLines(output) {
  const lines = output.split('\n').map((line) => line.replace(/^npm (?:error|ERR!) ?/, '').trim());
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
    // npm's own 10 s and more between two attempts outlast the first call, which would never get the reason.
    '--fetch-retry-mintimeout=1000',
    '--fetch-retry-maxtimeout=5000',
  ];
  // Node.js trusts these CAs besides the public ones.
  const certificatesFile = join(folder, '.ca.pem');
  if (certificates) writeFileSync(certificatesFile, certificates);
  // A private HOME, so that npm uses only the platform's configuration.
  const env = {
    ...process.env,
    HOME: folder,
    npm_config_cache: join(folder, '.npm'),
    npm_config_update_notifier: 'false',
    ...(certificates && { NODE_EXTRA_CA_CERTS: certificatesFile }),
  };
  const child = spawn('npm', ['install', ...options], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => (output = (output + data).slice(-20_000)));
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: 1, output: `npm cannot start: ${error.message}` }));
    child.once('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

if (!existsSync(target)) {
  const partialFolder = join(target, '..', `.partial-${randomUUID()}`);
  mkdirSync(partialFolder, { recursive: true });
  copyFileSync(manifest, join(partialFolder, 'package.json'));
  const { code, output } = await install(partialFolder);
  if (code === 0) {
    for (const name of ['.npm', '.ca.pem']) rmSync(join(partialFolder, name), { recursive: true, force: true });
    mkdirSync(join(partialFolder, 'node_modules'), { recursive: true });
    try {
      renameSync(partialFolder, target);
    } catch (error) {
      // Another pod finished first.
      if (!existsSync(target)) throw error;
    }
  }
  rmSync(partialFolder, { recursive: true, force: true });
  if (code !== 0) process.stderr.write(`${errorLines(output).slice(0, linesMax).join('\n')}\n`);
  process.exitCode = code === 0 ? 0 : 1;
}
