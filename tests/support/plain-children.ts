import { createRequire } from 'node:module';

/**
 * Loaded into each test file before it runs: programs that the file starts run as they do for users, without the hooks
 * by which tap follows child processes. The hooks keep the source map of every module, up to 250 MB, which a test of a
 * process's memory would measure, and they double the time that a process takes to start.
 */
const require = createRequire(import.meta.url);
const processOnSpawn = require('process-on-spawn') as { removeAllListeners(): void };
processOnSpawn.removeAllListeners();
delete process.env['NODE_OPTIONS'];
