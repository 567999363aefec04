import type { UsageColumns } from '../../../gate/authz/gate-store.ts';
import type { Id } from '../../../runtime/domain/ids.ts';
import { dayMs, utcDay } from '../../../runtime/domain/period.ts';

/** A row of a batch of usage. */
export interface UsageRow {
  keyId: Id;
  /** `YYYY-MM-DD`. */
  day: string;
  allowed: number;
  rateDenied: number;
  quotaDenied: number;
}

export function rowsOf({ keyIds, days, allowed, rateDenied, quotaDenied }: UsageColumns): UsageRow[] {
  return Array.from(days, (day, index) => ({
    keyId: idOf(keyIds.toString('hex', 16 * index, 16 * (index + 1))),
    day: utcDay(new Date(day * dayMs)),
    allowed: allowed[index] ?? 0,
    rateDenied: rateDenied[index] ?? 0,
    quotaDenied: quotaDenied[index] ?? 0,
  }));
}

export function columnsOf(rows: readonly UsageRow[]): UsageColumns {
  return {
    keyIds: Buffer.from(rows.map(({ keyId }) => keyId.replaceAll('-', '')).join(''), 'hex'),
    days: Int32Array.from(rows, ({ day }) => Date.parse(day) / dayMs),
    allowed: Float64Array.from(rows, ({ allowed }) => allowed),
    rateDenied: Float64Array.from(rows, ({ rateDenied }) => rateDenied),
    quotaDenied: Float64Array.from(rows, ({ quotaDenied }) => quotaDenied),
  };
}

function idOf(hex: string): Id {
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
