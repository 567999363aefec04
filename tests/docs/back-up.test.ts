import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';
import pg from 'pg';
import t, { type Test } from 'tap';
import { query } from '../support/postgres.ts';
import { templateDatabase, testServers } from '../support/servers.ts';

/** The scripts of the page on backups, run as they stand there, on a real PostgreSQL with the platform's schema. */
const page = readFileSync(join(import.meta.dirname, '../../docs/how-to/back-up-and-upgrade.md'), 'utf8');

/** The `sh` blocks of a section. */
function scriptsOf(section: string): string[] {
  const start = page.indexOf(`## ${section}\n`);
  const end = page.indexOf('\n## ', start + 1);
  return [...page.slice(start, end).matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, script = '']) => script);
}

/** A folder whose `bin` has programs in the place of real ones. They write their arguments into `calls`. */
function machine(t: Test, programs: Readonly<Record<string, string>>) {
  const folder = t.testdir({ bin: {}, home: {} });
  const calls = join(folder, 'calls');
  writeFileSync(calls, '');
  for (const [name, body] of Object.entries(programs)) {
    writeFileSync(join(folder, 'bin', name), `#!/bin/sh\nprintf '%s\\n' "${name} $*" >> ${calls}\n${body}\n`);
    chmodSync(join(folder, 'bin', name), 0o755);
  }
  const run = async (script: string, env: Readonly<Record<string, string>> = {}) => {
    const child = spawn('bash', ['-e', '-o', 'pipefail', '-c', script], {
      cwd: folder,
      env: { PATH: `${join(folder, 'bin')}:${process.env['PATH']}`, HOME: join(folder, 'home'), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [stderr, [code]] = await Promise.all([
      text(child.stderr),
      once(child, 'close') as Promise<[number]>,
      text(child.stdout),
    ]);
    t.equal(code, 0, stderr);
  };
  return { folder, run, calls: () => readFileSync(calls, 'utf8').split('\n').filter(Boolean) };
}

t.test('in a cluster: a dump of the database brings back what was lost, and nothing that came later', async (t) => {
  const { url } = testServers().postgres;
  const { port } = new URL(url);
  // The names in the scripts; no other test uses them.
  await query(`${url}/postgres`, `CREATE DATABASE svc TEMPLATE ${templateDatabase}`);
  const client = new pg.Client({ connectionString: `${url}/svc` });
  await client.connect();
  t.teardown(async () => {
    await client.end();
    await query(`${url}/postgres`, 'DROP DATABASE svc WITH (FORCE)');
  });
  const [back, restore] = scriptsOf('In a cluster');
  const { folder, run, calls } = machine(t, {
    // `kubectl exec` runs the command here, and reads print what they were asked for.
    kubectl: `case "$*" in
      *" exec "*) while [ "$1" != -- ]; do shift; done; shift; exec "$@" ;;
      *"jsonpath="*) printf 'shop-prod\\nshop-dev\\n' ;;
      *"get "*) echo "$*" ;;
    esac`,
    svc: '',
  });
  const password = join(folder, 'password');
  writeFileSync(password, 'unused: the test server trusts its users');
  const pod = { POSTGRES_PASSWORD_FILE: password, STORE_PORT: port };
  const countUsers = async () =>
    (await client.query<{ email: string }>('SELECT email FROM users ORDER BY email')).rows.map(({ email }) => email);
  await client.query(
    `INSERT INTO users (id, email, password_hash, role) VALUES (gen_random_uuid(), 'ada@svc.test', 'x', 'admin')`,
  );

  await run(back ?? '', pod);
  t.equal(statSync(join(folder, 'svc.dump')).mode & 0o077, 0, 'nobody else can read it');
  for (const name of ['system-secrets', 'projects', 'apps', 'secrets-shop-prod', 'secrets-shop-dev']) {
    t.match(readFileSync(join(folder, `${name}.yaml`), 'utf8'), /get/, name);
  }

  await client.query(`DELETE FROM users`);
  await client.query(
    `INSERT INTO users (id, email, password_hash, role) VALUES (gen_random_uuid(), 'late@svc.test', 'x', 'member')`,
  );
  await client.query('DROP TABLE notification_deliveries CASCADE');
  await run(restore ?? '', pod);
  t.same(await countUsers(), ['ada@svc.test']);
  t.equal((await client.query('SELECT FROM notification_deliveries')).rowCount, 0, 'the table is back');
  const order = calls().filter((call) => /scale|pg_restore|svc install/.test(call));
  t.match(order, [/scale deployment console-api .*--replicas 0/, /pg_restore/, /^svc install/]);
});

t.test('on one machine: the folder comes back with its content, modes and links', async (t) => {
  const [back, restore] = scriptsOf('On one machine');
  const { folder, run, calls } = machine(t, { svc: '' });
  const data = join(folder, 'home/.local/share/svc');
  mkdirSync(join(data, 'postgres'), { recursive: true });
  writeFileSync(join(data, 'postgres/row'), 'before');
  chmodSync(join(data, 'postgres/row'), 0o600);
  await run(back ?? '');
  t.equal(statSync(join(folder, 'svc-backup.tar.gz')).mode & 0o077, 0, 'nobody else can read it');
  writeFileSync(join(data, 'postgres/row'), 'after');
  await run(restore ?? '');
  t.equal(readFileSync(join(data, 'postgres/row'), 'utf8'), 'before');
  t.equal(statSync(join(data, 'postgres/row')).mode & 0o777, 0o600);
  t.same(readdirSync(join(folder, 'home/.local/share')), ['svc', 'svc.old']);
  t.same(calls(), ['svc down', 'svc up', 'svc down', 'svc up']);
});
