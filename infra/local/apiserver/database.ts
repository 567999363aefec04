import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Greater than 1, so that a client with a version of another server has to list again. */
const firstVersion = 100;

/** One stored object. */
interface Row {
  resource: string;
  key: string;
  version: number;
  /** JSON. */
  value: string;
}

/** The server's storage: the current objects and the last version. */
export interface Database {
  /** Opens the file, or creates it, and reads everything. */
  open(): { version: number; rows: Row[] };
  put(row: Row): void;
  remove(row: Omit<Row, 'value'>): void;
  close(): void;
}

/**
 * A database in one SQLite file. A completed write survives a kill of the process. A power failure may lose the last
 * writes, but never corrupts the file. Only current objects are stored, so it needs no compaction.
 */
export function createDatabase(file: string): Database {
  let db: ReturnType<typeof prepare> | undefined;
  const requireOpen = () => {
    if (!db) throw new Error('the database is closed');
    return db;
  };
  return {
    open() {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      db = prepare(file);
      const rows = db.all.all() as unknown as Row[];
      const { version } = db.head.get() as { version: number };
      return { version: Math.max(version, rows.at(-1)?.version ?? 0), rows };
    },
    put: ({ resource, key, version, value }) => void requireOpen().put.run(resource, key, version, value),
    remove({ resource, key, version }) {
      // The version first: an unused version does no harm.
      requireOpen().count.run(version);
      requireOpen().remove.run(resource, key);
    },
    close() {
      db?.handle.close();
      db = undefined;
    },
  };
}

function prepare(file: string) {
  // The file contains Secrets. SQLite gives its other files the same mode.
  closeSync(openSync(file, 'a', 0o600));
  const handle = new DatabaseSync(file);
  try {
    // The lock lasts while the file is open: two servers would assign the same versions.
    handle.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT;');
  } catch (error) {
    handle.close();
    throw new Error(`Another API server uses ${file}`, { cause: error });
  }
  handle.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS objects (
      resource TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, value TEXT NOT NULL,
      PRIMARY KEY (resource, key)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS head (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL);
    INSERT OR IGNORE INTO head VALUES (1, ${firstVersion});
  `);
  return {
    handle,
    all: handle.prepare('SELECT resource, key, version, value FROM objects ORDER BY version'),
    head: handle.prepare('SELECT version FROM head'),
    count: handle.prepare('UPDATE head SET version = ?'),
    put: handle.prepare('INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?)'),
    remove: handle.prepare('DELETE FROM objects WHERE resource = ? AND key = ?'),
  };
}
