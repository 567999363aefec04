import type { ControllerHealth } from '../contracts/api/health.ts';
import type { PlatformState } from '../contracts/platform-state.ts';
import type { Database } from '../db/pool.ts';

/** The health of the controllers and, from those that know it, the state of the platform. */
export type ControllerReport = ControllerHealth & Partial<PlatformState>;

/** The leader reports every 5 s; an older report proves nothing. */
export const reportSeconds = 15;

/** The last report, with its age by the database's clock, which avoids comparing the clocks of two machines. */
export interface StoredControllerReport {
  report: ControllerReport;
  ageSeconds: number;
}

/** Replaces the report. Only the leader of svc-controllers calls this. */
export async function writeControllerReport(database: Database, report: ControllerReport): Promise<void> {
  await database.query(
    `INSERT INTO controller_reports (report, reported_at) VALUES ($1, now())
     ON CONFLICT (singleton) DO UPDATE SET report = excluded.report, reported_at = excluded.reported_at`,
    [JSON.stringify(report)],
  );
}

/** The last report, or undefined before the first. */
export async function readControllerReport(database: Database): Promise<StoredControllerReport | undefined> {
  const { rows } = await database.query<StoredControllerReport>(
    `SELECT report, extract(epoch FROM now() - reported_at)::float8 AS "ageSeconds" FROM controller_reports`,
  );
  return rows[0];
}
