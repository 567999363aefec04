import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t from 'tap';
import { deleteKey } from '../../../runtime/records/keys.ts';
import { testDatabase } from '../../support/postgres.ts';
import { freePort } from '../../support/servers.ts';
import { insertGateRecords } from './gate-records.ts';

const main = join(import.meta.dirname, '../../../gate/authz/main.ts');

t.test('the process serves from the store, follows it, and ends in order', async (t) => {
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
  const revoked = performance.now();
  let denied = await authorize();
  while (denied.status === 200) denied = await authorize();
  t.equal(denied.status, 401);
  const ms = performance.now() - revoked;
  t.ok(ms < 2_000, `a revoked key is denied within a poll (${Math.round(ms)} ms)`);

  child.kill('SIGTERM');
  t.same(await exited, [0, null]);
  await ended;
  t.match(
    entries.find(({ msg }) => msg === 'authorize deny'),
    { name: 'svc-authz', reason: 'deny_key', fault: 'unknown', key_prefix: handle },
    'the last entries are not lost',
  );
  t.notMatch(JSON.stringify(entries), key);
});

t.test('a bad environment ends the process before it does anything', async (t) => {
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
