import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import { tapBundle } from './tap-bundle.ts';

/**
 * Loaded into each test file first, by `NODE_OPTIONS`, which programs that the file starts do not get: they run as they do
 * for users, without tap's hooks. The hooks keep the source map of every module, up to 250 MB, which a test of a process's
 * memory would measure, and they double the time that a process takes to start. Nor does anything here need what they
 * record in the test files themselves.
 */
delete process.env['NODE_OPTIONS'];
process.env['_TAPJS_PROCESSINFO_EXCLUDE_'] = '/./';

const bundle = existsSync(tapBundle) ? pathToFileURL(tapBundle).href : undefined;
const errorOwner = new URL('error-owner.ts', import.meta.url).href;
registerHooks({
  resolve(specifier, context, next) {
    if (specifier === 'async-hook-domain') return { url: errorOwner, format: 'module-typescript', shortCircuit: true };
    if (specifier === 'tap' && bundle !== undefined) return { url: bundle, format: 'module', shortCircuit: true };
    // zod's messages in 60 languages, which `cli/svc.js` does not load either.
    if (specifier === '../locales/index.js' && context.parentURL?.includes('/node_modules/zod/'))
      return { url: 'data:text/javascript,', format: 'module', shortCircuit: true };
    return next(specifier, context);
  },
});
