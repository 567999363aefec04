import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../domain/clock.ts';
import { connectionSettings, type DatabaseAddress } from './connection.ts';

const folder = join(import.meta.dirname, 'migrations');
const table = 'pgmigrations';
/** Interval between attempts to reach a database, and between checks of its schema. */
const retryMs = 1_000;

export interface MigrateOptions extends DatabaseAddress {
  clock: Clock;
  log: Logger;
  /** Stops waiting for a database that is unavailable. */
  signal?: AbortSignal;
}

/** The names of this version's migrations, in order. */
export async function migrationNames(): Promise<string[]> {
  const files = await readdir(folder);
  return files
    .filter((file) => file.endsWith('.sql'))
    .map((file) => file.slice(0, -'.sql'.length))
    .sort();
}

/**
 * Upgrades the schema to this version in one transaction: if a migration fails, nothing changes. Waits until the database
 * is available and until no other process migrates it (advisory lock).
 * @returns the names of the migrations that were applied
 * @throws Error if a development version created the database, since its migrations no longer exist
 */
export async function migrate({ clock, log, signal, ...address }: MigrateOptions): Promise<string[]> {
  const client = await connect(address, clock, log, signal);
  try {
    await rejectDevelopmentSchema(client);
    const applied = await runner({
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
    const names = applied.map(({ name }) => name);
    log.info({ migrations: names }, names.length > 0 ? 'schema migrated' : 'schema is up to date');
    return names;
  } finally {
    await client.end();
  }
}

/** The migrations of development versions were replaced before the first release. */
async function rejectDevelopmentSchema(client: pg.Client): Promise<void> {
  const names = await migrationNames();
  const applied = await appliedMigrations(client);
  const foreign = applied.find((name, index) => index < names.length && name !== names[index]);
  if (foreign === undefined) return;
  throw new Error(
    `The database "${client.database}" was created by a development version of the platform (migration ` +
      `"${foreign}") and cannot be upgraded. Delete it with its data, create it again, and restart the migration.`,
  );
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
      log.warn({ err: error }, 'database is unavailable, retrying');
      await client.end().catch(() => undefined);
      await clock.sleep(retryMs, signal);
    }
  }
}

/** The names of the migrations that were applied to the database, in order. */
async function appliedMigrations(database: pg.Pool | pg.Client): Promise<string[]> {
  const { rows: tables } = await database.query<{ exists: boolean }>(`SELECT to_regclass($1) IS NOT NULL AS exists`, [
    table,
  ]);
  if (!tables[0]?.exists) return [];
  const { rows } = await database.query<{ name: string }>(`SELECT name FROM ${table} ORDER BY id`);
  return rows.map(({ name }) => name);
}

/** The migrations of this version that the database lacks; none for a database of a newer version. */
export async function missingMigrations(pool: pg.Pool): Promise<string[]> {
  const names = await migrationNames();
  const applied = new Set(await appliedMigrations(pool));
  return names.filter((name) => !applied.has(name));
}

/** Resolves when the database has all migrations of this version; rejects only when the signal is aborted. */
export async function waitForSchema(
  pool: pg.Pool,
  { clock, log, signal }: { clock: Clock; log: Logger; signal?: AbortSignal },
): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    signal?.throwIfAborted();
    try {
      const missing = await missingMigrations(pool);
      if (missing.length === 0) return;
      if (attempt % 30 === 0) log.info({ missing }, 'waiting for the schema');
    } catch (error) {
      if (attempt % 30 === 0) log.warn({ err: error }, 'waiting for the database');
    }
    await clock.sleep(retryMs, signal);
  }
}
