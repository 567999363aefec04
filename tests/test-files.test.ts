import { join } from 'node:path';
import t from 'tap';
import { runTestFiles, type FileResult } from './test-files.ts';

const root = join(import.meta.dirname, '..');

const examples = {
  'passes.mjs': `import t from 'tap'; t.test('one', async (t) => { t.pass(); t.pass('later', { skip: true }); });`,
  'fails.mjs': `import t from 'tap'; t.test('one', async (t) => { t.pass(); t.equal(1, 2, 'is two'); });`,
  'is-killed.mjs': `import t from 'tap'; t.pass('before'); process.kill(process.pid, 'SIGKILL');`,
  'is-no-test.mjs': ``,
  'is-wrong.mjs': `process.exitCode = 1;`,
};

t.test('each file runs, and its result tells whether its tests passed', async (t) => {
  const folder = t.testdir(examples);
  const files = Object.keys(examples).map((name) => join(folder, name));
  const results = new Map<string, FileResult>();
  await runTestFiles(
    { files, jobs: 3, timeoutSeconds: 60, servers: false },
    { cwd: root, env: process.env, background: true },
    (result) => results.set(result.file.slice(folder.length + 1), result),
  );
  t.equal(results.size, files.length);
  const of = (name: string) => results.get(name);
  t.match(of('passes.mjs'), { end: 0, counts: { passed: 1, failed: 0, skipped: 1 } });
  t.match(of('fails.mjs'), { end: 1, counts: { passed: 1, failed: 1, skipped: 0 } });
  t.match(of('fails.mjs')?.lines.join('\n'), /^ +not ok 2 - is two$/m);
  t.match(of('is-killed.mjs'), { end: 'SIGKILL', counts: undefined });
  t.match(of('is-no-test.mjs'), { end: 0, counts: undefined });
  t.match(of('is-wrong.mjs'), { end: 1, counts: undefined });
});

t.test('no files are left out because of a wrong number', async (t) => {
  for (const jobs of [0, Number.NaN]) {
    const run = runTestFiles({ files: ['a'], jobs, timeoutSeconds: 5 }, { cwd: root, env: {}, background: false }, () =>
      t.fail(),
    );
    await t.rejects(run, /at least 1/);
  }
});
