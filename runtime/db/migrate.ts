import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../domain/clock.ts';
import { connectionSettings, type DatabaseAddress } from './connection.ts';

const folder = join(import.meta.dirname, 'migrations');
const table = 'pgmigrations';
/** Between two looks at a database that is not there yet, or not migrated yet. */
const retryMs = 1_000;

export interface MigrateOptions extends DatabaseAddress {
  clock: Clock;
  log: Logger;
  /** Ends the waiting for a database that does not answer. */
  signal?: AbortSignal;
}

/** Names of this version's migrations, in their order. */
export async function migrationNames(): Promise<string[]> {
  const files = await readdir(folder);
  return files
    .filter((file) => file.endsWith('.sql'))
    .map((file) => file.slice(0, -'.sql'.length))
    .sort();
}

/**
 * Brings the schema up to this version, in one transaction, and answers with the names of what was run. Waits for the
 * database to answer, and for another process that migrates (advisory lock); a migration that fails changes nothing.
 */
export async function migrate({ clock, log, signal, ...address }: MigrateOptions): Promise<string[]> {
  const client = await connect(address, clock, log, signal);
  try {
    const done = await runner({
      dbClient: client,
      dir: folder,
      direction: 'up',
      migrationsTable: table,
      singleTransaction: true,
      advisoryLockMode: 'wait',
      logger: {
        info: (message) => log.debug(message),
        warn: (message) => log.warn(message),
        error: (message) => log.error(message),
      },
    });
    const names = done.map(({ name }) => name);
    log.info({ migrations: names }, names.length > 0 ? 'schema migrated' : 'schema is up to date');
    return names;
  } finally {
    await client.end();
  }
}

async function connect(
  address: DatabaseAddress,
  clock: Clock,
  log: Logger,
  signal: AbortSignal | undefined,
): Promise<pg.Client> {
  for (;;) {
    signal?.throwIfAborted();
    const client = new pg.Client(connectionSettings(address));
    client.on('error', (error) => log.warn({ err: error }, 'database connection lost'));
    try {
      await client.connect();
      return client;
    } catch (error) {
      log.warn({ err: error }, 'database does not answer yet');
      await client.end().catch(() => undefined);
      await clock.sleep(retryMs, signal);
    }
  }
}

/** Names of migrations of this version that the database lacks; a database of a newer version lacks none. */
export async function missingMigrations(pool: pg.Pool): Promise<string[]> {
  const wanted = await migrationNames();
  const { rows } = await pool.query<{ migrated: boolean }>(`SELECT to_regclass($1) IS NOT NULL AS migrated`, [table]);
  if (!rows[0]?.migrated) return wanted;
  const { rows: run } = await pool.query<{ name: string }>(`SELECT name FROM ${table}`);
  const names = new Set(run.map(({ name }) => name));
  return wanted.filter((name) => !names.has(name));
}

/** Resolves once the database has every migration of this version; rejects only when the signal says so. */
export async function waitForSchema(
  pool: pg.Pool,
  { clock, log, signal }: { clock: Clock; log: Logger; signal?: AbortSignal },
): Promise<void> {
  for (let look = 0; ; look++) {
    signal?.throwIfAborted();
    try {
      const missing = await missingMigrations(pool);
      if (missing.length === 0) return;
      if (look % 30 === 0) log.info({ missing }, 'waiting for the schema');
    } catch (error) {
      if (look % 30 === 0) log.warn({ err: error }, 'waiting for the database');
    }
    await clock.sleep(retryMs, signal);
  }
}
