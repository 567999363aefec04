import type { Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';

/** The counted requests of one key (docs/reference/api.md#usage). */
export interface UsageCounts {
  allowed: number;
  rateDenied: number;
  quotaDenied: number;
}

export interface KeyUsage extends UsageCounts {
  /** The last UTC day with traffic; null when none is stored. */
  lastSeen: string | null;
}

const sums = (filter: string) => `
  coalesce(sum(allowed) ${filter}, 0)::float8 AS allowed,
  coalesce(sum(rate_denied) ${filter}, 0)::float8 AS "rateDenied",
  coalesce(sum(quota_denied) ${filter}, 0)::float8 AS "quotaDenied"`;

const hasTraffic = 'allowed + rate_denied + quota_denied > 0';

/** The totals from the UTC day `from` on, and the last day with traffic, of each key that had any. */
export async function sumUsage(
  database: Database,
  keyIds: readonly Id[],
  from: string,
): Promise<ReadonlyMap<Id, KeyUsage>> {
  const { rows } = await database.query<KeyUsage & { keyId: Id }>(
    `SELECT key_id AS "keyId", ${sums('FILTER (WHERE day >= $2)')}, max(day)::text AS "lastSeen"
     FROM usage WHERE key_id = ANY($1) AND ${hasTraffic} GROUP BY key_id`,
    [keyIds, from],
  );
  return new Map(rows.map(({ keyId, ...usage }) => [keyId, usage]));
}

/** The UTC days with traffic of a key, oldest first; both ends are inclusive. */
export async function listUsage(
  database: Database,
  keyId: Id,
  { from, to }: { from: string; to: string },
): Promise<(UsageCounts & { day: string })[]> {
  const { rows } = await database.query<UsageCounts & { day: string }>(
    `SELECT day::text, ${sums('')} FROM usage
     WHERE key_id = $1 AND day BETWEEN $2 AND $3 AND ${hasTraffic} GROUP BY usage.day ORDER BY usage.day`,
    [keyId, from, to],
  );
  return rows;
}
