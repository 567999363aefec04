import { isDeepStrictEqual } from 'node:util';
import type { Pool } from 'pg';
import { transaction, type Database } from '../db/pool.ts';
import { newId, type Id } from '../domain/ids.ts';
import { renewWork } from './work.ts';

/** What the spec says of a binding that concerns its service. */
export interface BindingWish {
  service: string;
  version: number;
  database?: string;
  dropDatabase?: boolean;
  /** That the function's events come from. */
  bucket?: string;
}

/** A binding, with what was made for it so far. */
export interface BindingRecord {
  id: Id;
  workloadId: Id;
  service: string;
  namespace: string;
  /** Of the function. */
  name: string;
  environment: string;
  serviceId: Id | null;
  username: string | null;
  database: string | null;
  /** Attempts in a row that the service refused. */
  failures: number;
}

/**
 * Writes a function's bindings as its object has them now; each that changed gets work, those too that it has no more.
 * Repeating it is free. Of a function that is not projected yet nothing is written.
 */
export async function projectBindings(pool: Pool, workloadId: Id, bindings: readonly BindingWish[]): Promise<void> {
  const wishes = new Map(
    bindings.map(({ service, version, database, dropDatabase, bucket }): [string, Omit<BindingWish, 'service'>] => [
      service,
      {
        version,
        ...(database !== undefined && { database }),
        ...(dropDatabase === true && { dropDatabase }),
        ...(bucket !== undefined && { bucket }),
      },
    ]),
  );
  const { rows } = await pool.query<{ service: string; wish: unknown }>(
    `SELECT service, wish FROM function_bindings WHERE workload_id = $1`,
    [workloadId],
  );
  const known = new Map(rows.map(({ service, wish }) => [service, wish]));
  const changed = [...wishes].filter(([service, wish]) => !isDeepStrictEqual(known.get(service), wish));
  const gone = rows.filter(({ service, wish }) => wish !== null && !wishes.has(service));
  if (changed.length === 0 && gone.length === 0) return;
  await transaction(pool, async (client) => {
    for (const [service, wish] of [...changed, ...gone.map((row) => [row.service, null] as const)]) {
      const written = await client.query<{ id: Id }>(
        `INSERT INTO function_bindings (id, workload_id, service, wish)
         SELECT $2, id, $3, $4 FROM workloads WHERE id = $1
         ON CONFLICT (workload_id, service) DO UPDATE SET wish = $4, failures = 0 RETURNING id`,
        [workloadId, newId(), service, wish && JSON.stringify(wish)],
      );
      for (const { id } of written.rows) await renewWork(client, 'bindings', id);
    }
  });
}

/** A binding; undefined once it is gone with all that was made for it. */
export async function findBinding(database: Database, id: Id): Promise<BindingRecord | undefined> {
  const { rows } = await database.query<BindingRecord>(
    `SELECT b.id, b.workload_id AS "workloadId", b.service, w.namespace, w.name, w.environment,
       b.service_id AS "serviceId", b.username, b.database, b.failures
     FROM function_bindings b JOIN workloads w ON w.id = b.workload_id WHERE b.id = $1`,
    [id],
  );
  return rows[0];
}

/** Records what is about to be made for a binding, so that it is found again whatever happens. */
export async function recordMade(
  database: Database,
  id: Id,
  made: { serviceId: Id; username: string | undefined; database: string | undefined },
): Promise<void> {
  await database.query(`UPDATE function_bindings SET service_id = $2, username = $3, database = $4 WHERE id = $1`, [
    ...[id, made.serviceId, made.username, made.database],
  ]);
}

/**
 * Has a service's server tell of the bucket of a binding, where it has one, and no longer of the one that it had before,
 * unless another binding has that one, too. Bindings of one service do so one after the other.
 * @param tell makes it so on the server @returns what it answered for the binding's own bucket; true without one
 */
export async function hearOfBucket(
  pool: Pool,
  { id, serviceId }: { id: Id; serviceId: Id },
  bucket: string | undefined,
  tell: (bucket: string, told: boolean) => Promise<boolean>,
): Promise<boolean> {
  return transaction(pool, async (client) => {
    await client.query(`SELECT pg_advisory_xact_lock(hashtextextended('function_bindings.heard_bucket ' || $1, 0))`, [
      serviceId,
    ]);
    const { rows } = await client.query<{ before: string | null; shared: boolean }>(
      `SELECT heard_bucket AS before, EXISTS (SELECT FROM function_bindings o WHERE o.service_id = b.service_id
         AND o.heard_bucket = b.heard_bucket AND o.id <> b.id) AS shared
       FROM function_bindings b WHERE id = $1`,
      [id],
    );
    const { before = null, shared = false } = rows[0] ?? {};
    if (before !== null && before !== bucket && !shared) await tell(before, false);
    await client.query(`UPDATE function_bindings SET heard_bucket = $2 WHERE id = $1`, [id, bucket ?? null]);
    return bucket === undefined || tell(bucket, true);
  });
}

/** Counts an attempt that the service refused, or forgets them. */
export async function countFailures(database: Database, id: Id, failures: number): Promise<void> {
  await database.query(`UPDATE function_bindings SET failures = $2 WHERE id = $1`, [id, failures]);
}

/** Records that nothing of a binding is left, unless it has been asked for again. */
export async function forgetBinding(database: Database, id: Id): Promise<void> {
  await database.query(`DELETE FROM function_bindings WHERE id = $1 AND (wish IS NULL OR wish ? 'dropDatabase')`, [id]);
}

/** A service that has refused so often is not asked any more before its environment goes. */
const refusalsMax = 3;

/** Whether users that bindings made on these services of a namespace are still to be taken away, and may yet be. */
export async function hasBoundUsers(
  database: Database,
  namespace: string,
  services: readonly string[],
): Promise<boolean> {
  const { rowCount } = await database.query(
    `SELECT FROM function_bindings b JOIN workloads w ON w.id = b.workload_id
     WHERE w.namespace = $1 AND b.service = ANY($2) AND b.username IS NOT NULL AND b.failures < $3 LIMIT 1`,
    [namespace, services, refusalsMax],
  );
  return rowCount === 1;
}

/** For whom a database of a service was made. */
export interface DatabaseHolder {
  workloadId: Id;
  /** Of the function, while it lives. */
  name: string | null;
}

/** Whose a database of a service is; undefined for one that no binding made. */
export async function findDatabase(
  database: Database,
  serviceId: Id,
  name: string,
): Promise<DatabaseHolder | undefined> {
  const { rows } = await database.query<DatabaseHolder>(
    `SELECT d.workload_id AS "workloadId", w.name FROM service_databases d
     LEFT JOIN workloads w ON w.id = d.workload_id AND w.deleted_at IS NULL
     WHERE d.service_id = $1 AND d.name = $2`,
    [serviceId, name],
  );
  return rows[0];
}

/**
 * Records that a database is a function's, before it is made; one that was a deleted function's becomes its own.
 * @returns false when another function's binding has it
 */
export async function holdDatabase(database: Database, serviceId: Id, name: string, workloadId: Id): Promise<boolean> {
  const { rowCount } = await database.query(
    `INSERT INTO service_databases AS d (service_id, name, workload_id) VALUES ($1, $2, $3)
     ON CONFLICT (service_id, name) DO UPDATE SET workload_id = $3
     WHERE d.workload_id = $3
       OR NOT EXISTS (SELECT 1 FROM workloads w WHERE w.id = d.workload_id AND w.deleted_at IS NULL)`,
    [serviceId, name, workloadId],
  );
  return rowCount === 1;
}

/** Records that a database is gone. */
export async function forgetDatabase(database: Database, serviceId: Id, name: string): Promise<void> {
  await database.query(`DELETE FROM service_databases WHERE service_id = $1 AND name = $2`, [serviceId, name]);
}

/** Records that a service is gone with all its databases. Repeating it is free. */
export async function forgetServiceDatabases(database: Database, serviceId: Id): Promise<void> {
  await database.query(`DELETE FROM service_databases WHERE service_id = $1`, [serviceId]);
}
