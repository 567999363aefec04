import { isDeepStrictEqual } from 'node:util';
import type { Pool } from 'pg';
import { transaction, type Database } from '../db/pool.ts';
import { newId, type Id } from '../domain/ids.ts';
import { renewWork } from './work.ts';

/** The part of a binding's spec that decides what is created in the service. */
export interface DesiredBinding {
  service: string;
  version: number;
  database?: string;
  dropDatabase?: boolean;
  /** The bucket of the function's events. */
  bucket?: string;
}

/** A binding, with what was created for it so far. */
export interface BindingRecord {
  id: Id;
  workloadId: Id;
  service: string;
  project: string;
  namespace: string;
  /** The workload's kind and name. */
  kind: 'App' | 'Function' | 'Job';
  name: string;
  environment: string;
  serviceId: Id | null;
  username: string | null;
  database: string | null;
  /** Consecutive attempts that the service refused. */
  failures: number;
}

/**
 * Writes a workload's bindings from its object, and inserts work for those that were added, changed or removed.
 * Idempotent. Writes nothing for a workload that is not projected yet.
 */
export async function projectBindings(pool: Pool, workloadId: Id, bindings: readonly DesiredBinding[]): Promise<void> {
  const specs = new Map(
    bindings.map(({ service, version, database, dropDatabase, bucket }): [string, Omit<DesiredBinding, 'service'>] => [
      service,
      {
        version,
        ...(database !== undefined && { database }),
        ...(dropDatabase === true && { dropDatabase }),
        ...(bucket !== undefined && { bucket }),
      },
    ]),
  );
  const { rows } = await pool.query<{ service: string; spec: unknown }>(
    `SELECT service, spec FROM bindings WHERE workload_id = $1`,
    [workloadId],
  );
  const current = new Map(rows.map(({ service, spec }) => [service, spec]));
  const changed = [...specs].filter(([service, spec]) => !isDeepStrictEqual(current.get(service), spec));
  const removed = rows.filter(({ service, spec }) => spec !== null && !specs.has(service));
  if (changed.length === 0 && removed.length === 0) return;
  await transaction(pool, async (client) => {
    for (const [service, spec] of [...changed, ...removed.map((row) => [row.service, null] as const)]) {
      const written = await client.query<{ id: Id }>(
        `INSERT INTO bindings (id, workload_id, service, spec)
         SELECT $2, id, $3, $4 FROM workloads WHERE id = $1
         ON CONFLICT (workload_id, service) DO UPDATE SET spec = $4, failures = 0 RETURNING id`,
        [workloadId, newId(), service, spec && JSON.stringify(spec)],
      );
      for (const { id } of written.rows) await renewWork(client, 'bindings', id);
    }
  });
}

/** A binding; undefined after it was removed with everything created for it. */
export async function findBinding(database: Database, id: Id): Promise<BindingRecord | undefined> {
  const { rows } = await database.query<BindingRecord>(
    `SELECT b.id, b.workload_id AS "workloadId", b.service, w.project, w.namespace, w.kind, w.name, w.environment,
       b.service_id AS "serviceId", b.username, b.database, b.failures
     FROM bindings b JOIN workloads w ON w.id = b.workload_id WHERE b.id = $1`,
    [id],
  );
  return rows[0];
}

/** Records what is about to be created for a binding, so that it can be removed after a crash. */
export async function recordPlanned(
  database: Database,
  id: Id,
  planned: { serviceId: Id; username: string | undefined; database: string | undefined },
): Promise<void> {
  await database.query(`UPDATE bindings SET service_id = $2, username = $3, database = $4 WHERE id = $1`, [
    id,
    planned.serviceId,
    planned.username,
    planned.database,
  ]);
}

/**
 * Enables the server's notifications for the bucket of a binding, and disables those for its former bucket, unless
 * another binding has that one. Bindings of one service do this one at a time.
 * @param setNotifications enables or disables notifications on the server
 * @returns the result of `setNotifications` for the binding's bucket; true without one
 */
export async function updateBucketNotifications(
  pool: Pool,
  { id, serviceId }: { id: Id; serviceId: Id },
  bucket: string | undefined,
  setNotifications: (bucket: string, enabled: boolean) => Promise<boolean>,
): Promise<boolean> {
  return transaction(pool, async (client) => {
    await client.query(`SELECT pg_advisory_xact_lock(hashtextextended('bindings.event_bucket ' || $1, 0))`, [
      serviceId,
    ]);
    const { rows } = await client.query<{ before: string | null; shared: boolean }>(
      `SELECT event_bucket AS before, EXISTS (SELECT FROM bindings o WHERE o.service_id = b.service_id
         AND o.event_bucket = b.event_bucket AND o.id <> b.id) AS shared
       FROM bindings b WHERE id = $1`,
      [id],
    );
    const { before = null, shared = false } = rows[0] ?? {};
    if (before !== null && before !== bucket && !shared) await setNotifications(before, false);
    await client.query(`UPDATE bindings SET event_bucket = $2 WHERE id = $1`, [id, bucket ?? null]);
    return bucket === undefined || setNotifications(bucket, true);
  });
}

/** Sets the number of consecutive refused attempts. */
export async function countFailures(database: Database, id: Id, failures: number): Promise<void> {
  await database.query(`UPDATE bindings SET failures = $2 WHERE id = $1`, [id, failures]);
}

/** Deletes the record of a removed binding, unless it was added again. */
export async function deleteBindingRecord(database: Database, id: Id): Promise<void> {
  await database.query(`DELETE FROM bindings WHERE id = $1 AND (spec IS NULL OR spec ? 'dropDatabase')`, [id]);
}

/** After this many refusals, the deletion of an environment no longer waits for a service. */
const refusalsMax = 3;

/**
 * Whether users that bindings created on these services of a namespace still have to be deleted, and not too many
 * attempts failed.
 */
export async function hasBoundUsers(
  database: Database,
  namespace: string,
  services: readonly string[],
): Promise<boolean> {
  const { rowCount } = await database.query(
    `SELECT FROM bindings b JOIN workloads w ON w.id = b.workload_id
     WHERE w.namespace = $1 AND b.service = ANY($2) AND b.username IS NOT NULL AND b.failures < $3 LIMIT 1`,
    [namespace, services, refusalsMax],
  );
  return rowCount === 1;
}

/** The workload for which a database was created. */
export interface DatabaseHolder {
  workloadId: Id;
  /** The workload's kind and name; null after its deletion. */
  kind: 'App' | 'Function' | 'Job' | null;
  name: string | null;
}

/** The workload that holds a database of a service; undefined for a database that no binding created. */
export async function findDatabase(
  database: Database,
  serviceId: Id,
  name: string,
): Promise<DatabaseHolder | undefined> {
  const { rows } = await database.query<DatabaseHolder>(
    `SELECT d.workload_id AS "workloadId", w.kind, w.name FROM service_databases d
     LEFT JOIN workloads w ON w.id = d.workload_id AND w.deleted_at IS NULL
     WHERE d.service_id = $1 AND d.name = $2`,
    [serviceId, name],
  );
  return rows[0];
}

/**
 * Records that a workload holds a database, before it is created. A database of a deleted workload is transferred.
 * @returns false when a binding of another workload holds it
 */
export async function reserveDatabase(
  database: Database,
  serviceId: Id,
  name: string,
  workloadId: Id,
): Promise<boolean> {
  const { rowCount } = await database.query(
    `INSERT INTO service_databases AS d (service_id, name, workload_id) VALUES ($1, $2, $3)
     ON CONFLICT (service_id, name) DO UPDATE SET workload_id = $3
     WHERE d.workload_id = $3
       OR NOT EXISTS (SELECT 1 FROM workloads w WHERE w.id = d.workload_id AND w.deleted_at IS NULL)`,
    [serviceId, name, workloadId],
  );
  return rowCount === 1;
}

/** Deletes the record of a dropped database. */
export async function deleteDatabaseRecord(database: Database, serviceId: Id, name: string): Promise<void> {
  await database.query(`DELETE FROM service_databases WHERE service_id = $1 AND name = $2`, [serviceId, name]);
}

/** Deletes the records of a deleted service's databases. Idempotent. */
export async function deleteServiceDatabaseRecords(database: Database, serviceId: Id): Promise<void> {
  await database.query(`DELETE FROM service_databases WHERE service_id = $1`, [serviceId]);
}
