import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t from 'tap';

const output = join(import.meta.dirname, '../../../runtime/process/line-output.ts');
const lines = 20_000;

/** Writes lines of about a kilobyte to stdout, reports how many were accepted, and waits to be closed. */
const program = `
import { openLineOutput } from ${JSON.stringify(output)};
const output = openLineOutput(1);
const line = 'x'.repeat(1000) + '\\n';
let taken = 0;
for (let round = 0; round < ${lines}; round++) {
  if (output.write(line)) taken++;
  if (round % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
}
process.send({ taken });
process.once('message', async () => {
  await output.close();
  process.disconnect();
});
`;

t.test('a reader that does not read costs lines, which is reported, and blocks nothing', async (t) => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const { stdout } = child;
  if (!stdout) throw new Error('no stdout');
  // A write that blocked would block for ever.
  const [{ taken }] = (await once(child, 'message')) as [{ taken: number }];
  // 4 MiB, and what the pipe holds: some 200 KiB, by the sizes of the writes.
  t.ok(taken > 4_190 && taken < 6_000, `${taken} of ${lines} lines accepted`);

  let read = 0;
  const reader = createInterface(stdout).on('line', () => read++);
  const closed = once(reader, 'close');
  child.send('close');
  await closed;
  t.equal(read, taken, 'accepted lines arrive');
});

t.test('closing writes the remaining lines', (t) => {
  const { stdout } = spawnSync(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { openLineOutput } from ${JSON.stringify(output)};
       const output = openLineOutput(1);
       output.write('one\\n');
       await output.close();
       process.exit(0);`,
    ],
    { encoding: 'utf8' },
  );
  t.equal(stdout, 'one\n');
  t.end();
});
