import type { Pool } from 'pg';

/**
 * Repeats a statement that changes or deletes up to `limit` rows, which is its last parameter, until there are no more. Each
 * slice is a transaction of its own, so that none reaches a time-out or holds its locks for long, however many rows there are.
 */
export async function inSlices(pool: Pool, text: string, values: readonly unknown[], limit: number): Promise<void> {
  for (let changed = limit; changed >= limit;) {
    const { rowCount } = await pool.query(text, [...values, limit]);
    changed = rowCount ?? 0;
  }
}
