import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { systemClock } from '../../runtime/domain/clock.ts';
import { migrate } from '../../runtime/db/migrate.ts';
import { silentLog } from './log.ts';
import { testServers } from './servers.ts';

/** What a test needs of tap: somewhere to hang the cleaning up. */
interface Teardown {
  teardown(end: () => unknown): void;
}

/** A fresh, migrated database on the run's real PostgreSQL; dropped when the test ends. */
export async function testDatabase(t: Teardown): Promise<{ pool: pg.Pool; url: string; name: string }> {
  const server = testServers().postgres;
  const name = `test_${randomBytes(6).toString('hex')}`;
  await query(`${server.url}/postgres`, `CREATE DATABASE ${name}`);
  const url = `${server.url}/${name}`;
  await migrate({ url, clock: systemClock, log: silentLog });
  const pool = new pg.Pool({ connectionString: url, max: 20 });
  // A test may cut the server's connections; an idle client then reports here.
  pool.on('error', () => undefined);
  t.teardown(async () => {
    await pool.end();
    await query(`${server.url}/postgres`, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  });
  return { pool, url, name };
}

/** Runs statements on a connection of their own. */
export async function query(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
