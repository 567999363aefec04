import { join } from 'node:path';
import { createSuite } from './suite.ts';
import { readImportGraph } from './support/import-graph.ts';

/**
 * `npm run soak [files…]`: the tests that choose their cases at random, with 50 times as many cases as in `npm test`; those
 * that go through all states try every one. `SVC_SOAK` sets another factor, and `SVC_SEED` repeats a run.
 */
const graph = readImportGraph(join(import.meta.dirname, '..'));
const seeded = [...graph.dependentsOf(['tests/support/soak.ts'])].filter((file) => file.endsWith('.test.ts')).sort();
const files = process.argv.slice(2);
const suite = createSuite();
const env = { SVC_SOAK: process.env['SVC_SOAK'] ?? '50' };
await suite.tests('soak', { files: files.length > 0 ? files : seeded, jobs: 2, timeoutSeconds: 7_200 }, env);
suite.end();
