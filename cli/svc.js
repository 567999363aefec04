#!/usr/bin/env node
// Runs the command line with a Node that reads TypeScript: this one, or the one among the packages. What is read is kept
// in the user's cache: reading it anew would be most of the time that a short command takes.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const wanted = 24;

if (Number(process.versions.node.split('.')[0]) >= wanted) {
  // https://specifications.freedesktop.org/basedir-spec/latest/
  const { XDG_CACHE_HOME, HOME } = process.env;
  const cache = XDG_CACHE_HOME || (HOME && join(HOME, '.cache'));
  if (cache) module.enableCompileCache(join(cache, 'svc/modules'));
  await import('./main.ts');
} else {
  const node = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url));
  if (!existsSync(node)) {
    process.stderr.write(`error: svc needs Node ${wanted}; this is ${process.version}. Run npm install first.\n`);
    process.exit(1);
  }
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.once('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
  });
}
