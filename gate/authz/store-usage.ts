import type { ClientBase } from 'pg';
import type { Id } from '../../runtime/domain/ids.ts';
import { utcDay } from '../../runtime/domain/period.ts';
import type { UsageColumns, UsageQuestion } from './gate-store.ts';

/** The parameters of {@link othersOf}. */
function othersValues({ incarnation, calendar: { start, end } }: UsageQuestion): string[] {
  const moments = [start.day, start.week, start.month, end.day, end.week, end.month];
  return [incarnation, ...moments.map((moment) => utcDay(new Date(moment)))];
}

/** The requests that all incarnations but one have allowed each key in the current period of its plan's quota. */
const othersOf = (keys: string, join: 'JOIN' | 'LEFT JOIN') => `
  SELECT api_keys.id AS "keyId", coalesce(sum(usage.allowed), 0)::float8 AS allowed
  FROM api_keys JOIN plans ON plans.id = plan_id AND quota_limit IS NOT NULL
  ${join} usage ON usage.key_id = api_keys.id AND usage.incarnation <> $1
    AND usage.day >= CASE quota_period WHEN 'day' THEN $2::date WHEN 'week' THEN $3::date ELSE $4::date END
    AND usage.day < CASE quota_period WHEN 'day' THEN $5::date WHEN 'week' THEN $6::date ELSE $7::date END
  WHERE ${keys} GROUP BY api_keys.id`;

/** The usage of all keys that have any; for a cursor. */
export function allOthers(question: UsageQuestion): { text: string; values: unknown[] } {
  return { text: othersOf('true', 'JOIN'), values: othersValues(question) };
}

/** The usage of the named keys, the keys of the named plans, and keys with usage after `version`; for a cursor. */
export function othersSince(
  question: UsageQuestion,
  { version, keys, plans }: { version: number; keys: Id[]; plans: Id[] },
): { text: string; values: unknown[] } {
  return {
    // A UNION, because an OR would scan all keys.
    text: othersOf(
      `api_keys.id IN (
         SELECT key_id FROM usage WHERE version > $8 AND incarnation <> $1
         UNION SELECT unnest($9::uuid[]) UNION SELECT id FROM api_keys WHERE plan_id = ANY($10::uuid[]))`,
      'LEFT JOIN',
    ),
    values: [...othersValues(question), version, arrayLiteral(keys), arrayLiteral(plans)],
  };
}

/**
 * An array of ids, days or numbers, whose texts need no quotes, as one parameter. For a JavaScript array, pg would
 * search every element for characters to escape: 20 ms for the five columns of 10,000 rows, in which nothing is served.
 */
export function arrayLiteral(values: readonly (string | number)[]): string {
  return `{${values.join(',')}}`;
}

/** One statement in one transaction; see `flush_usage` in the migrations. */
export async function flushUsage(
  client: ClientBase,
  incarnation: Id,
  batch: number,
  { keyIds, days, allowed, rateDenied, quotaDenied }: UsageColumns,
): Promise<boolean> {
  const { rows } = await client.query<{ open: boolean }>('SELECT flush_usage($1, $2, $3, $4, $5, $6, $7) AS open', [
    incarnation,
    batch,
    ...[keyIds, days, allowed, rateDenied, quotaDenied].map(arrayLiteral),
  ]);
  return rows[0]?.open === true;
}
