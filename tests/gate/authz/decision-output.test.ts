import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t from 'tap';

const output = join(import.meta.dirname, '../../../gate/authz/decision-output.ts');

/** Writes denials of about a kilobyte to stdout, tells how long the event loop stood still, and waits to be closed. */
const program = `
import { openDecisionOutput } from ${JSON.stringify(output)};
const output = openDecisionOutput('svc-authz', 1);
const line = JSON.stringify({ msg: 'authorize deny', filler: 'x'.repeat(1000) }) + '\\n';
let slowest = 0;
for (let round = 0; round < 20_000; round++) {
  const before = performance.now();
  output.write(line);
  slowest = Math.max(slowest, performance.now() - before);
  if (round % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
}
process.send({ slowest });
process.once('message', async () => {
  await output.close();
  process.disconnect();
});
`;

t.test('a reader that does not read costs entries, which are counted, and no time', async (t) => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const { stdout } = child;
  if (!stdout) throw new Error('no stdout');
  const [{ slowest }] = (await once(child, 'message')) as [{ slowest: number }];
  t.ok(slowest < 500, `the slowest write took ${slowest} ms`);

  const lines: { msg: string; count?: number }[] = [];
  const reader = createInterface(stdout);
  let told: (() => void) | undefined;
  const summed = new Promise<void>((resolve) => (told = resolve));
  reader.on('line', (line) => {
    const entry = JSON.parse(line) as { msg: string; count?: number };
    lines.push(entry);
    if (entry.count !== undefined) told?.();
  });
  await summed;
  const closed = once(reader, 'close');
  child.send('close');
  await closed;
  const counts = lines.flatMap(({ count }) => count ?? []);
  t.equal(counts.length, 1, 'one entry sums up what was dropped');
  t.equal(lines.length - 1 + (counts[0] ?? 0), 20_000, 'every denial is either there or counted');
  t.ok(lines.every(({ msg }) => msg === 'authorize deny'));
});

t.test('closing writes what is left', (t) => {
  const { stdout } = spawnSync(
    process.execPath,
    [
      ...['--input-type=module', '-e'],
      `import { openDecisionOutput } from ${JSON.stringify(output)};
       const output = openDecisionOutput('svc-authz', 1);
       output.write('one\\n');
       await output.close();
       process.exit(0);`,
    ],
    { encoding: 'utf8' },
  );
  t.equal(stdout, 'one\n');
  t.end();
});
