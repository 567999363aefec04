import type { Database } from '../db/pool.ts';

/** Totals of the whole platform for its metrics. */
export interface PlatformTotals {
  /** Apps with a deployment that failed in the last 30 minutes, and with one that succeeded. */
  failedApps: number;
  succeededApps: number;
  databaseBytes: number;
}

export async function readPlatformTotals(database: Database): Promise<PlatformTotals | undefined> {
  const { rows } = await database.query<PlatformTotals>(
    `SELECT count(DISTINCT workload_id) FILTER (WHERE state = 'failed')::integer AS "failedApps",
       count(DISTINCT workload_id) FILTER (WHERE state = 'succeeded')::integer AS "succeededApps",
       (SELECT sum(pg_database_size(oid)) FROM pg_database WHERE datallowconn)::double precision AS "databaseBytes"
     FROM deployments WHERE state IN ('failed', 'succeeded') AND ended_at > now() - interval '30 minutes'`,
  );
  return rows[0];
}
