import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';
import { createTurnOutput } from '../../../runtime/process/turn-output.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

t.test('the lines of one turn are one write, in their order', async (t) => {
  const writes: string[] = [];
  const output = createTurnOutput({ write: (text) => writes.push(text) });
  output.write('one\n');
  await Promise.resolve();
  output.write('two\n');
  t.same(writes, [], 'not before the turn has ended');
  await nextTurn();
  t.same(writes, ['one\ntwo\n']);
  output.write('three\n');
  await nextTurn();
  t.same(writes, ['one\ntwo\n', 'three\n']);
});

t.test('a flush writes at once, and only once', async (t) => {
  const writes: string[] = [];
  const output = createTurnOutput({ write: (text) => writes.push(text) });
  output.write('one\n');
  output.flushSync();
  output.flushSync();
  t.same(writes, ['one\n']);
  await nextTurn();
  t.same(writes, ['one\n']);
});

for (const [end, code] of [
  ['process.exit(3)', 3],
  ["throw new Error('unexpected')", 1],
] as const) {
  t.test(`a process that ends with ${end} writes its last lines`, async (t) => {
    const module = join(import.meta.dirname, '../../../runtime/process/log.ts');
    const script = `const { createLogger } = await import(${JSON.stringify(module)});
      createLogger('test', { level: 'info' }).info('last words'); ${end}`;
    const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
    t.equal(status, code);
    t.match(JSON.parse(stdout), { name: 'test', msg: 'last words' });
  });
}
