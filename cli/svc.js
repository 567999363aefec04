#!/usr/bin/env node
// Runs the command line with a version of Node that runs TypeScript: the current one, or the one in node_modules. Compiled
// modules are cached, since compiling takes most of the time of a short command. Node runs no TypeScript in packages, so
// the npm package has the program as JavaScript, in few modules.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const requiredMajor = 24;
const isPackage = import.meta.url.includes('/node_modules/');

if (Number(process.versions.node.split('.')[0]) >= requiredMajor) {
  // Import statements would load what this does not need, such as processes and source maps.
  const module = process.getBuiltinModule('node:module');
  // https://specifications.freedesktop.org/basedir-spec/latest/
  const { XDG_CACHE_HOME, HOME } = process.env;
  const cache = XDG_CACHE_HOME || (HOME && join(HOME, '.cache'));
  if (cache) module.enableCompileCache(join(cache, 'svc/modules'));
  if (!isPackage) {
    // zod loads messages in 60 languages, of which svc prints none: two thirds of its modules. The package has none of them.
    module.registerHooks({
      resolve: (specifier, context, next) =>
        specifier === '../locales/index.js' && context.parentURL?.includes('/node_modules/zod/')
          ? { url: 'data:text/javascript,', format: 'module', shortCircuit: true }
          : next(specifier, context),
    });
  }
  await import(isPackage ? '../dist/cli/main.js' : './main.ts');
} else {
  const { spawn } = await import('node:child_process');
  const { existsSync } = await import('node:fs');
  const node = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url));
  if (!existsSync(node)) {
    const source = isPackage ? 'Install it from https://nodejs.org.' : 'In the repository, npm install brings one.';
    process.stderr.write(`error: svc requires Node ${requiredMajor} or later; this is ${process.version}. ${source}\n`);
    process.exit(1);
  }
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.once('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
  });
}
