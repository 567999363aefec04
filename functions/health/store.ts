import type { Pool } from 'pg';
import type { ControllerHealth } from '../../runtime/contracts/api/health.ts';

/** The last report of svc-controllers with its age in seconds by the database's clock, or undefined before the first. */
export async function latestControllerReport(
  pool: Pool,
): Promise<{ report: ControllerHealth; ageSeconds: number } | undefined> {
  const { rows } = await pool.query<{ report: ControllerHealth; ageSeconds: number }>(
    `SELECT report, extract(epoch FROM now() - reported_at)::float8 AS "ageSeconds" FROM controller_reports`,
  );
  return rows[0];
}
