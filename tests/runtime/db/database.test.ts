import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import t, { type Test } from 'tap';
import { connectionSettings } from '../../../runtime/db/connection.ts';
import { createListener } from '../../../runtime/db/listener.ts';
import { migrate, migrationNames, missingMigrations, waitForSchema } from '../../../runtime/db/migrate.ts';
import { createPool, transaction } from '../../../runtime/db/pool.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { recordingLog, silentLog } from '../../support/log.ts';
import { query, testDatabase } from '../../support/postgres.ts';
import { freePort, testServers } from '../../support/servers.ts';

const clock = systemClock;
const log = silentLog;

async function emptyDatabase(t: Test): Promise<{ url: string; pool: pg.Pool }> {
  const server = testServers().postgres.url;
  const name = `empty_${randomBytes(6).toString('hex')}`;
  await query(`${server}/postgres`, `CREATE DATABASE ${name}`);
  const url = `${server}/${name}`;
  const pool = createPool({ url });
  t.teardown(async () => {
    await pool.end();
    await query(`${server}/postgres`, `DROP DATABASE ${name} WITH (FORCE)`);
  });
  return { url, pool };
}

t.test('two processes migrate one database at the same time: each migration runs once', async (t) => {
  const { url, pool } = await emptyDatabase(t);
  const names = await migrationNames();
  t.same(await missingMigrations(pool), names);
  const runs = await Promise.all([migrate({ url, clock, log }), migrate({ url, clock, log })]);
  t.same(runs.flat(), names);
  t.same(await missingMigrations(pool), []);
  t.same(await migrate({ url, clock, log }), [], 'a repeated run does nothing');
  await pool.query('SELECT id, leased_until FROM work');
});

t.test('a migration that fails changes nothing', async (t) => {
  const { url, pool } = await emptyDatabase(t);
  await pool.query('CREATE TABLE work (id integer)');
  await t.rejects(migrate({ url, clock, log }), /already exists/);
  t.equal((await pool.query(`SELECT to_regclass('users') AS found`)).rows[0]?.found, null);
});

t.test('the database of a development version is rejected and left unchanged', async (t) => {
  const [first = ''] = await migrationNames();
  for (const [applied, foreign] of [
    [['0001_identities'], '0001_identities'],
    [[first, '0002_later'], '0002_later'],
  ] as const) {
    const { url, pool } = await emptyDatabase(t);
    await pool.query(`CREATE TABLE pgmigrations (id serial PRIMARY KEY, name text, run_on timestamp)`);
    await pool.query(`INSERT INTO pgmigrations (name, run_on) SELECT unnest($1::text[]), now()`, [applied]);
    await t.rejects(migrate({ url, clock, log }), new RegExp(`development version .*"${foreign}".* Delete it`));
    t.equal((await pool.query('SELECT FROM pgmigrations')).rowCount, applied.length);
  }
});

t.test('an older version accepts the database of a newer one', async (t) => {
  const { url, pool } = await testDatabase(t);
  await pool.query(`INSERT INTO pgmigrations (name, run_on) VALUES ('9999_later', now())`);
  t.same(await migrate({ url, clock, log }), []);
  t.same(await missingMigrations(pool), []);
});

t.test('a process can wait for the schema, and for the database', async (t) => {
  const { url, pool } = await emptyDatabase(t);
  let waited = 0;
  const patient = {
    ...clock,
    async sleep() {
      waited++;
      await migrate({ url, clock, log });
    },
  };
  await waitForSchema(pool, { clock: patient, log });
  t.equal(waited, 1);

  const unreachable = createPool({ url: `postgresql://svc@127.0.0.1:${await freePort()}/svc` });
  const stop = new AbortController();
  const impatient = { ...clock, sleep: async () => stop.abort(new Error('stopped')) };
  await t.rejects(waitForSchema(unreachable, { clock: impatient, log, signal: stop.signal }), /stopped/);
  await unreachable.end();
});

t.test('a transaction commits as a whole or not at all, and its connection is used again', async (t) => {
  const { url } = await emptyDatabase(t);
  const pool = createPool({ url, max: 1 });
  await pool.query('CREATE TABLE marks (mark text)');
  await t.rejects(
    transaction(pool, async (client) => {
      await client.query(`INSERT INTO marks VALUES ('lost')`);
      throw new Error('no');
    }),
    /no/,
  );
  t.equal(
    await transaction(pool, async (client) => (await client.query(`INSERT INTO marks VALUES ('kept')`)).rowCount),
    1,
  );
  t.same((await pool.query('SELECT mark FROM marks')).rows, [{ mark: 'kept' }]);

  await t.rejects(
    transaction(pool, async (client) => {
      await client.query('SELECT pg_terminate_backend(pg_backend_pid())');
    }),
    /terminat/i,
  );
  t.equal((await pool.query('SELECT 1')).rowCount, 1, 'a broken connection is replaced');
  const { rows } = await pool.query<{ name: string; setting: string }>(
    `SELECT name, setting FROM pg_settings WHERE name IN ('lock_timeout', 'idle_in_transaction_session_timeout') ORDER BY 1`,
  );
  t.same(
    rows.map(({ setting }) => setting),
    ['5000', '5000'],
  );
  await pool.end();
});

t.test('an idle connection that breaks is logged and replaced', async (t) => {
  const { url, pool } = await emptyDatabase(t);
  const recorded = recordingLog();
  const victim = createPool({ url, log: recorded.log, name: 'victim' });
  await victim.query('SELECT 1');
  const lost = once(victim, 'error');
  await pool.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'victim'`);
  await lost;
  t.match(recorded.entries, [{ msg: 'idle database connection lost' }]);
  t.equal((await victim.query('SELECT 1')).rowCount, 1);
  await victim.end();
});

t.test('the password is read from its file at every connection', async (t) => {
  const sent: string[] = [];
  const server = createServer((socket) => {
    socket.once('data', () => {
      socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3])); // AuthenticationCleartextPassword
      socket.once('data', (message) => {
        sent.push(message.subarray(5, -1).toString());
        socket.destroy();
      });
    });
    socket.on('error', () => undefined);
  }).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const passwordFile = join(t.testdir({ password: 'first\n' }), 'password');
  const connect = async () => {
    const client = new pg.Client(connectionSettings({ url: `postgresql://svc@127.0.0.1:${port}/svc`, passwordFile }));
    t.match(client, { host: '127.0.0.1', port, user: 'svc', database: 'svc' });
    await t.rejects(client.connect());
  };
  await connect();
  writeFileSync(passwordFile, 'second');
  await connect();
  t.same(sent, ['first', 'second']);
});

t.test('a listener gets notifications, and again after its connection was cut', async (t) => {
  const { url, pool } = await testDatabase(t);
  const payloads: (string | undefined)[] = [];
  let arrived = Promise.withResolvers<void>();
  const listener = createListener({
    url,
    channel: 'work',
    clock,
    log,
    onNotify: (payload) => {
      payloads.push(payload);
      arrived.resolve();
    },
  });
  const next = async () => {
    await arrived.promise;
    arrived = Promise.withResolvers<void>();
  };
  listener.start();
  t.teardown(() => listener.stop());
  await next();
  await pool.query(`SELECT pg_notify('work', 'one')`);
  await next();
  t.same(payloads, [undefined, 'one']);
  await pool.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE 'LISTEN%'`);
  await next();
  await pool.query(`SELECT pg_notify('work', 'two')`);
  await next();
  t.same(payloads, [undefined, 'one', undefined, 'two'], 'a reconnection counts as a notification');
});

t.test('connections that are kept stay open while they are idle, and no others', async (t) => {
  const { url } = await testDatabase(t);
  const pool = createPool({ url, min: 1, max: 3 });
  t.teardown(() => pool.end());
  // The time after which pg closes idle connections, shorter.
  (pool as unknown as { options: { idleTimeoutMillis: number } }).options.idleTimeoutMillis = 20;
  const process = async () => (await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid;
  const kept = await process();
  const clients = [await pool.connect(), await pool.connect(), await pool.connect()];
  const removals = [once(pool, 'remove'), once(pool, 'remove')];
  for (const client of clients) client.release();
  await Promise.all(removals);
  while (pool.totalCount > 1) await once(pool, 'remove');
  t.equal(pool.totalCount, 1);
  t.type(kept, 'number');
  const second = await process();
  await clock.sleep(60);
  t.equal(await process(), second, 'the same connection');
});
