import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { createClientPool, type ClientPoolOptions } from '../../../runtime/process/client-pool.ts';
import { silentLog } from '../../support/log.ts';

const runtime = join(import.meta.dirname, '../../../runtime');

/** A program with calls that succeed, fail, hang and take memory. */
function programOf(t: Test): string {
  const folder = t.testdir({
    'program.ts': `import { Socket } from 'node:net';
import { serveCalls } from '${runtime}/process/client-calls.ts';
const socket = new Socket({ fd: 3 });
socket.on('close', () => process.exit());
const kept: Buffer[] = [];
serveCalls(socket, {
  echo: async (parameters) => parameters,
  pid: async () => process.pid,
  variables: async () => Object.keys(process.env),
  refuse: async () => { throw new RangeError('not today'); },
  hang: () => new Promise(() => undefined),
  crash: async () => { setImmediate(() => { throw new Error('uncaught'); }); await new Promise(() => undefined); },
  keep: async ({ mib }: any) => { kept.push(Buffer.alloc(mib * 1024 ** 2, 1)); },
  large: async () => 'x'.repeat(30 * 1024 ** 2),
});`,
    // A process that starts such processes.
    'parent.ts': `import { createClientPool } from '${runtime}/process/client-pool.ts';
const log: any = { warn: () => undefined };
const pool = createClientPool({ program: process.argv[2] ?? '', max: 1, env: process.env, log });
const lease = await pool.lease('a');
console.log(await lease.call('pid', {}));
setInterval(() => undefined, 1_000);`,
    // A process that stops while it has a lease.
    'stopping.ts': `import { createClientPool } from '${runtime}/process/client-pool.ts';
const log: any = { warn: () => undefined };
const pool = createClientPool({ program: process.argv[2] ?? '', max: 1, env: process.env, log });
await (await pool.lease('a')).call('pid', {});
await pool.stop();
console.log(process.getActiveResourcesInfo().join());`,
  });
  return join(folder, 'program.ts');
}

function poolOf(t: Test, options: Partial<ClientPoolOptions> = {}) {
  const pool = createClientPool({ program: programOf(t), max: 2, env: process.env, log: silentLog, ...options });
  t.teardown(() => pool.stop());
  return pool;
}

const untilGone = async (pid: number) => {
  // A process stays as a zombie until its parent waits for it.
  const isAlive = () => existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  while (isAlive()) await new Promise((resolve) => setTimeout(resolve, 20));
};

t.test('a lease calls its process, which the next lease gets, with its errors', async (t) => {
  const pool = poolOf(t);
  const first = await pool.lease('a');
  t.same(await first.call('echo', { text: 'ü', deep: [1, null] }), { text: 'ü', deep: [1, null] });
  await t.rejects(first.call('refuse', {}), { name: 'RangeError', message: 'not today' });
  await t.rejects(first.call('large', {}), { name: 'RangeError', message: /larger than \d+ bytes/ });
  await t.rejects(first.call('missing', {}), { message: 'There is no method missing.' });
  const pid = await first.call('pid', {});
  first.release(true);
  first.release(true);
  const second = await pool.lease('b');
  t.equal(await second.call('pid', {}), pid);
  second.release(false);
  await untilGone(pid as number);
  const third = await pool.lease('b');
  t.not(await third.call('pid', {}), pid);
});

t.test('a process gets no variable that it does not need', async (t) => {
  const pool = poolOf(t, { env: { ...process.env, DATABASE_URL: 'postgresql://svc', KUBECONFIG: '/a' } });
  const variables = (await (await pool.lease('a')).call('variables', {})) as string[];
  t.ok(variables.includes('PATH'));
  t.notOk(
    variables.some((name) => /^(DATABASE|KUBE|REDIS|ENCRYPTION)/.test(name)),
    String(variables),
  );
});

t.test('one owner never has all processes, and a wait that is too long is refused', async (t) => {
  const pool = poolOf(t, { waitMs: 200 });
  const lease = await pool.lease('a');
  await t.rejects(pool.lease('a'), { name: 'NoClientError' });
  const other = await pool.lease('b');
  await t.rejects(pool.lease('c'), { name: 'NoClientError' });
  const waiting = pool.lease('c');
  other.release(true);
  (await waiting).release(true);
  lease.release(true);
  (await pool.lease('a')).release(true);
});

t.test(
  'an owner with its share has one request that waits, so that its others leave their places in the queue',
  async (t) => {
    const pool = poolOf(t, { waitMs: 60_000 });
    const lease = await pool.lease('a');
    const waiting = pool.lease('a');
    await t.rejects(pool.lease('a'), { name: 'NoClientError', message: /waits for a client process already/ });
    const other = await pool.lease('b');
    lease.release(true);
    (await waiting).release(true);
    other.release(true);
  },
);

t.test('a process that takes too much memory or breaks ends alone', async (t) => {
  const pool = poolOf(t, { max: 3, memoryMaxBytes: 100 * 1024 ** 2 });
  const healthy = await pool.lease('healthy');
  const pid = await healthy.call('pid', {});
  const large = await pool.lease('large');
  const keep = async () => {
    for (;;) await large.call('keep', { mib: 10 });
  };
  const message = 'the server sent more than fits into 100 MiB of memory';
  await t.rejects(keep(), { name: 'ClientEndedError', message });
  await t.rejects(large.call('pid', {}), { name: 'ClientEndedError' });
  large.release(true);
  const broken = await pool.lease('broken');
  await t.rejects(broken.call('crash', {}), { message: 'the server sent something that cannot be read' });
  broken.release(true);
  t.equal(await healthy.call('pid', {}), pid, 'the others go on');
});

t.test('a process ends when its lease has lasted too long', async (t) => {
  const pool = poolOf(t, { leaseMs: 500 });
  const slow = await pool.lease('slow');
  await t.rejects(slow.call('hang', {}), { message: 'the server took longer than 0.5 s' });
  slow.release(true);
});

t.test('a signal ends the process, and a signal that is already aborted ends the call', async (t) => {
  const pool = poolOf(t);
  const lease = await pool.lease('a');
  const controller = new AbortController();
  const call = lease.call('hang', {}, controller.signal);
  controller.abort();
  await t.rejects(call, { name: 'ClientEndedError' });
  lease.release(true);
  const next = await pool.lease('a');
  await t.rejects(next.call('echo', {}, controller.signal), { name: 'AbortError' });
  t.same(await next.call('echo', {}), {});
});

t.test('a process that keeps much memory, or stays idle, ends', async (t) => {
  const pool = poolOf(t, { memoryMaxBytes: 150 * 1024 ** 2, idleMs: 50 });
  const large = await pool.lease('a');
  const pid = (await large.call('pid', {})) as number;
  await large.call('keep', { mib: 80 });
  large.release(true);
  await untilGone(pid);
  const small = await pool.lease('a');
  const idlePid = (await small.call('pid', {})) as number;
  small.release(true);
  await untilGone(idlePid);
});

t.test('a process ends with its pool, and with the process that started it, however that ends', async (t) => {
  const program = programOf(t);
  const pool = createClientPool({ program, max: 2, env: process.env, log: silentLog });
  const lease = await pool.lease('a');
  const pid = (await lease.call('pid', {})) as number;
  const hanging = lease.call('hang', {});
  await Promise.all([t.rejects(hanging, { name: 'ClientEndedError' }), pool.stop()]);
  await untilGone(pid);
  await t.rejects(pool.lease('a'), { name: 'NoClientError' });

  const stopping = spawn(process.execPath, [join(dirname(program), 'stopping.ts'), program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.notMatch(await text(stopping.stdout), 'Timeout', 'nothing keeps a process whose pool has stopped');

  const parent = spawn(process.execPath, [join(dirname(program), 'parent.ts'), program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  parent.kill('SIGKILL');
  await untilGone(Number(line.toString()));
});
