import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t, { type Test } from 'tap';

const watchdog = join(import.meta.dirname, '../../../gate/authz/watchdog.ts');

/** A process with a watchdog that obeys messages: `stall` blocks for ever, `work` for some time and then answers. */
const program = `
import { createWatchdog } from ${JSON.stringify(watchdog)};
const dog = createWatchdog({ name: 'svc-authz' });
dog.start();
const spin = (ms) => { for (const end = performance.now() + ms; performance.now() < end;); };
process.on('message', async (told) => {
  if (told === 'stall') for (;;);
  if (told === 'work') { spin(1_000); process.send('worked'); }
  if (told === 'stop') { await dog.stop(); spin(3_000); process.send('stopped'); process.disconnect(); }
});
process.send('ready');
`;

async function child(t: Test, stdout: 'pipe' | 'ignore' = 'pipe') {
  const started = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', stdout, 'inherit', 'ipc'],
  });
  t.teardown(() => started.kill('SIGKILL'));
  const exited = once(started, 'exit') as Promise<[number | null, string | null]>;
  await once(started, 'message');
  return { started, exited };
}

t.test('a process whose event loop is blocked ends itself, and logs the reason', async (t) => {
  const { started, exited } = await child(t);
  if (!started.stdout) throw new Error('no stdout');
  const lines: string[] = [];
  const read = once(
    createInterface(started.stdout).on('line', (line) => lines.push(line)),
    'close',
  );
  started.send('stall');
  t.same(await exited, [null, 'SIGKILL']);
  await read;
  t.equal(lines.length, 1);
  const entry = JSON.parse(lines[0] ?? '') as { stalledMs: number };
  t.match(entry, { level: 'fatal', name: 'svc-authz', msg: 'event loop is blocked; killing the process' });
  t.ok(entry.stalledMs >= 2_000);
});

t.test('a blocked reader of the log does not prevent that', async (t) => {
  const { started, exited } = await child(t);
  // Nothing reads, and the pipe is full.
  started.stdout?.pause();
  started.send('stall');
  t.same(await exited, [null, 'SIGKILL']);
});

t.test('a busy process, a stopped one and a clean end are not killed', async (t) => {
  const { started, exited } = await child(t, 'ignore');
  started.send('work');
  await once(started, 'message');
  started.kill('SIGSTOP');
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  started.kill('SIGCONT');
  started.send('work');
  await once(started, 'message');
  started.send('stop');
  await once(started, 'message');
  t.same(await exited, [0, null]);
});
