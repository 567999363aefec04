import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Not 1: whoever comes with a smaller version has it from elsewhere, and must list anew. */
const firstVersion = 100;

/** One object as it lies on disk. */
export interface Row {
  resource: string;
  key: string;
  version: number;
  /** JSON. */
  value: string;
}

/** What the server keeps on disk: the current objects, and the last version that was given. */
export interface Database {
  /** Everything, and the last version. Opens the file, making it when there is none. */
  open(): { version: number; rows: Row[] };
  put(row: Row): void;
  remove(row: Omit<Row, 'value'>): void;
  close(): void;
}

/**
 * A database in one SQLite file. A write that returned survives the process's end, kill -9 included; a power cut may
 * take the last ones, but never tears the file. Only the current objects are kept, so there is nothing to compact.
 */
export function createDatabase(file: string): Database {
  let db: ReturnType<typeof prepare> | undefined;
  const opened = () => {
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
    put: ({ resource, key, version, value }) => void opened().put.run(resource, key, version, value),
    remove({ resource, key, version }) {
      // In this order: a version that was given and not used does no harm.
      opened().count.run(version);
      opened().remove.run(resource, key);
    },
    close() {
      db?.handle.close();
      db = undefined;
    },
  };
}

function prepare(file: string) {
  // Secrets lie in it; SQLite gives its other files the same rights.
  closeSync(openSync(file, 'a', 0o600));
  const handle = new DatabaseSync(file);
  try {
    // Held as long as the file is open: two servers would give the same versions twice.
    handle.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT;');
  } catch (error) {
    handle.close();
    throw new Error(`another API server has ${file}`, { cause: error });
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
