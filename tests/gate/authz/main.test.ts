import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t, { type Test } from 'tap';
import { authzRuntime } from '../../../infra/manifests/platform/processes.ts';
import { deleteKey } from '../../../runtime/records/keys.ts';
import { testDatabase } from '../../support/postgres.ts';
import { freePort } from '../../support/servers.ts';
import { insertGateRecords } from './gate-records.ts';

const main = join(import.meta.dirname, '../../../gate/authz/main.ts');

t.test('the process serves from the store, follows it, and ends cleanly', async (t) => {
  const { pool, url } = await testDatabase(t);
  const records = await insertGateRecords(pool);
  const { key, id, handle } = await records.key({ name: 'Acme' });
  const [port, adminPort] = [await freePort(), await freePort()];
  const child = spawn(process.execPath, [main], {
    env: { DATABASE_URL: url, PORT: String(port), ADMIN_PORT: String(adminPort) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  const entries: Record<string, unknown>[] = [];
  const log = createInterface(child.stdout);
  const ended = once(log, 'close');
  await new Promise<void>((resolve) => {
    const seen = new Set<unknown>();
    log.on('line', (line) => {
      const entry = JSON.parse(line) as Record<string, unknown>;
      entries.push(entry);
      seen.add(entry['msg']);
      if (seen.has('process started') && seen.has('gate view loaded')) resolve();
    });
  });

  const authorize = () =>
    fetch(`http://127.0.0.1:${port}/authorize?app=${records.appId}`, { headers: { 'X-API-Key': key } });
  const allowed = await authorize();
  t.equal(allowed.status, 200);
  t.equal(allowed.headers.get('x-svc-key-prefix'), handle);
  for (const at of [port, adminPort]) {
    t.equal((await fetch(`http://127.0.0.1:${at}/ready`)).status, 200);
    t.match(await (await fetch(`http://127.0.0.1:${at}/metrics`)).text(), 'authz_requests_total{decision="allow"} 1');
  }

  await deleteKey(pool, id);
  let denied = await authorize();
  while (denied.status === 200) denied = await authorize();
  t.equal(denied.status, 401);

  child.kill('SIGTERM');
  const readyStatus = async () => (await fetch(`http://127.0.0.1:${port}/ready`)).status;
  let status = await readyStatus();
  while (status === 200) status = await readyStatus();
  t.equal(status, 503, 'the process still serves, and asks for no more requests');
  t.same(await exited, [0, null]);
  await ended;
  t.match(
    entries.find(({ msg }) => msg === 'authorize deny'),
    { name: 'svc-authz', reason: 'deny_key', fault: 'unknown', key_prefix: handle },
    'the last entries are not lost',
  );
  t.notMatch(JSON.stringify(entries), key);
});

/** Starts the process, and resolves when it has loaded its view. */
async function start(t: Test, url: string, args: string[] = []) {
  const port = await freePort();
  const child = spawn(process.execPath, [main, ...args], {
    env: { DATABASE_URL: url, PORT: String(port), ADMIN_PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  const seen = new Set<unknown>();
  await new Promise<void>((resolve) => {
    createInterface(child.stdout).on('line', (line) => {
      seen.add((JSON.parse(line) as { msg: unknown }).msg);
      if (seen.has('process started') && seen.has('gate view loaded')) resolve();
    });
  });
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers });
  return { child, exited, get };
}

t.test('a process that is killed loses at most the usage of its last flush interval', async (t) => {
  const { pool, url } = await testDatabase(t);
  const records = await insertGateRecords(pool, { requestsPerSecond: 10_000, burst: 10_000 });
  const { key } = await records.key();
  const gate = await start(t, url);
  let allowed = 0;
  const ask = async (times: number) => {
    for (let turn = 0; turn < times; turn++) {
      t.equal((await gate.get(`/authorize?app=${records.appId}`, { 'X-API-Key': key })).status, 200);
      allowed++;
    }
  };
  const written = async () => {
    const { rows } = await pool.query<{ sum: number }>('SELECT coalesce(sum(allowed), 0)::integer AS sum FROM usage');
    return rows[0]?.sum ?? 0;
  };
  // Flushes run by themselves, one after the other.
  for (let flush = 0; flush < 3; flush++) {
    await ask(10);
    while ((await written()) < allowed) await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await ask(10);
  gate.child.kill('SIGKILL');
  await gate.exited;
  const writtenCount = await written();
  t.ok(
    writtenCount >= 30 && writtenCount <= allowed,
    `${writtenCount} of ${allowed} are written, 30 of them since the previous flush`,
  );
  const { rows } = await pool.query<{ open: boolean }>('SELECT closed_at IS NULL AS open FROM gate_replicas');
  t.same(rows, [{ open: true }], 'for housekeeping to close');

  const next = await start(t, url);
  t.equal((await next.get(`/authorize?app=${records.appId}`, { 'X-API-Key': key })).status, 200);
  next.child.kill('SIGTERM');
  t.same(await next.exited, [0, null]);
  t.equal(
    await written(),
    writtenCount + 1,
    'a clean end loses nothing, and the next process life continues from there',
  );
});

t.test('trusted proxies are set on the command line', async (t) => {
  const { pool, url } = await testDatabase(t);
  const records = await insertGateRecords(pool);
  const { key, id } = await records.key();
  await pool.query(`UPDATE api_keys SET allowed_cidrs = '{198.51.100.0/24}' WHERE id = $1`, [id]);
  const gate = await start(t, url, ['--trusted-proxy', '10.0.0.0/8', '--trusted-proxy=192.0.2.1']);
  const status = async (forwardedFor: string) =>
    (await gate.get(`/authorize?app=${records.appId}`, { 'X-API-Key': key, 'X-Forwarded-For': forwardedFor })).status;
  t.equal(await status('198.51.100.7'), 200);
  t.equal(await status('198.51.100.7, 10.1.2.3, 192.0.2.1'), 200);
  t.equal(await status('198.51.100.7, 192.0.2.2'), 401);
  const metrics = await (await gate.get('/metrics')).text();
  t.match(metrics, 'authz_rollup_flush_failures_total 0');
});

t.test('an invalid command line ends the process', async (t) => {
  for (const args of [['--trusted-proxy', '10.0.0.1/8'], ['--trusted-proxy'], ['--trust'], ['x']]) {
    const child = spawn(process.execPath, [main, ...args], { env: {}, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
    const [code] = (await once(child, 'close')) as [number];
    t.equal(code, 1);
    t.match(output, args[1] === '10.0.0.1/8' ? /10\.0\.0\.0\/8/ : /trusted-proxy|trust|x/);
  }
});

t.test('an invalid environment ends the process before it does anything', async (t) => {
  const child = spawn(process.execPath, [main], {
    env: { DATABASE_URL: 'mysql://svc:hunter2@db' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  const [code] = (await once(child, 'close')) as [number];
  t.equal(code, 1);
  t.match(output, 'DATABASE_URL');
  t.notMatch(output, 'hunter2');
});

t.test('the image compiles the process with the options of its pods', async (t) => {
  const dockerfile = readFileSync(join(import.meta.dirname, '../../../infra/images/platform/Dockerfile'), 'utf8');
  const { options } = authzRuntime;
  t.match(dockerfile, ` node ${options.join(' ')} gate/authz/main.ts --compile-only`);
  const folder = t.testdir();
  const env = { PATH: process.env['PATH'], NODE_COMPILE_CACHE: folder };
  const child = spawn(process.execPath, [...options, main, '--compile-only'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  t.same(await once(child, 'exit'), [0, null], 'without settings');
  t.equal(output, '');
  t.ok(readdirSync(folder, { recursive: true }).length > 10, 'and stores what it compiled');
});
