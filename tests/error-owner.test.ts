import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';

/** Tests that fail with an error that nothing catches, and waiting tests between them. */
const example = `
import t from 'tap';
t.test('a timer throws', () => {
  setTimeout(() => { throw new Error('of the timer'); });
  return new Promise(() => undefined);
});
t.test('a promise is rejected', async () => {
  void Promise.reject(new Error('of the promise'));
  await new Promise(() => undefined);
});
t.test('an inner test fails', async (t) => {
  await t.test('it passes', async (t) => t.pass());
  await t.test('it throws later', () => {
    setImmediate(() => { throw new Error('of the inner test'); });
    return new Promise(() => undefined);
  });
  t.pass('goes on');
});
t.test('it passes', async (t) => t.pass());
`;

t.test('an error that nothing catches fails the test that runs, and the next ones run', (t) => {
  const folder = t.testdir({ 'example.mjs': example });
  const preload = join(import.meta.dirname, 'support/preload.ts');
  const { status, stdout } = spawnSync(process.execPath, [`--import=${preload}`, join(folder, 'example.mjs')], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], TAP: '1' },
  });
  const results = stdout.split('\n').filter((line) => /^ *(not )?ok /.test(line));
  t.same(
    results.map((line) => line.replace(/ # time=.*/, '')),
    [
      '    not ok 1 - of the timer',
      'not ok 1 - a timer throws',
      '    not ok 1 - of the promise',
      'not ok 2 - a promise is rejected',
      '        ok 1 - (unnamed test)',
      '    ok 1 - it passes',
      '        not ok 1 - of the inner test',
      '    not ok 2 - it throws later',
      '    ok 3 - goes on',
      'not ok 3 - an inner test fails',
      '    ok 1 - (unnamed test)',
      'ok 4 - it passes',
    ],
  );
  t.equal(status, 1);
  t.end();
});
