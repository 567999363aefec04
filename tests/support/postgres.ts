import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { templateDatabase, testServers } from './servers.ts';

/** The part of tap's test that cleans up. */
interface Teardown {
  teardown(end: () => unknown): void;
}

/** Creates a migrated database on the run's PostgreSQL and drops it when the test ends. */
export async function testDatabase(t: Teardown): Promise<{ pool: pg.Pool; url: string; name: string }> {
  const server = testServers().postgres;
  const name = `test_${randomBytes(6).toString('hex')}`;
  await query(`${server.url}/postgres`, `CREATE DATABASE ${name} TEMPLATE ${templateDatabase}`);
  const url = `${server.url}/${name}`;
  const pool = new pg.Pool({ connectionString: url, max: 20 });
  // A test may cut the server's connections, which an idle client reports here.
  pool.on('error', () => undefined);
  t.teardown(async () => {
    await pool.end();
    await query(`${server.url}/postgres`, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  });
  return { pool, url, name };
}

/** Runs statements on a new connection. */
export async function query(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
