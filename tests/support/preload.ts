import { registerHooks } from 'node:module';

/**
 * Loaded into each test file first, by `NODE_OPTIONS`, which programs that the file starts do not get: they run as they do
 * for users, without tap's hooks. The hooks keep the source map of every module, up to 250 MB, which a test of a process's
 * memory would measure, and they double the time that a process takes to start. Nor does anything here need what they
 * record in the test files themselves.
 */
delete process.env['NODE_OPTIONS'];
process.env['_TAPJS_PROCESSINFO_EXCLUDE_'] = '/./';

const errorOwner = new URL('error-owner.ts', import.meta.url).href;
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'async-hook-domain'
      ? { url: errorOwner, format: 'module-typescript', shortCircuit: true }
      : next(specifier, context),
});
