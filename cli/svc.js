#!/usr/bin/env node
// Runs the command line with a Node that reads TypeScript: this one, or the one among the packages.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const wanted = 24;

if (Number(process.versions.node.split('.')[0]) >= wanted) {
  await import('./main.ts');
} else {
  const node = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url));
  if (!existsSync(node)) {
    process.stderr.write(`error: svc needs Node ${wanted}; this is ${process.version}. Run npm install first.\n`);
    process.exit(1);
  }
  const main = fileURLToPath(new URL('main.ts', import.meta.url));
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.once('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
  });
}
