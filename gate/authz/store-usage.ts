import type { ClientBase } from 'pg';
import type { Id } from '../../runtime/domain/ids.ts';
import { utcDay } from '../../runtime/domain/period.ts';
import type { GateSession, UsageQuestion } from './gate-store.ts';

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
 * search every element for characters to escape.
 */
export function arrayLiteral(values: readonly (string | number)[]): string {
  return `{${values.join(',')}}`;
}

/** The types of elements: https://www.postgresql.org/docs/current/catalog-pg-type.html */
const elements = { bigint: { type: 20, bytes: 8 }, date: { type: 1082, bytes: 4 }, uuid: { type: 2950, bytes: 16 } };
const headBytes = 20;
/** PostgreSQL counts days from 2000-01-01. */
const daysUntil2000 = 10_957;

/**
 * Arrays that are not empty in PostgreSQL's binary form, which pg passes on as it is: the number of dimensions, whether there
 * are nulls, the type of elements, the length and the first index, and then each element after its length (`array_recv` in
 * PostgreSQL's arrayfuncs.c). All of them use the same memory: a new one for each would be garbage outside V8's heap, which
 * makes V8 collect all of the heap.
 * @returns the array of this length, whose elements `write` writes; valid until the next one
 */
function createArrayEncoder(element: keyof typeof elements) {
  const { type, bytes } = elements[element];
  let memory = Buffer.alloc(0);
  return (length: number, write: (index: number, target: Buffer, at: number) => void): Buffer => {
    const size = headBytes + length * (4 + bytes);
    if (size > memory.length) memory = Buffer.alloc(size);
    const target = memory.subarray(0, size);
    [1, 0, type, length, 1].forEach((number, place) => target.writeInt32BE(number, 4 * place));
    for (let index = 0, at = headBytes; index < length; index++, at += 4 + bytes) {
      target.writeInt32BE(bytes, at);
      write(index, target, at + 4);
    }
    return target;
  };
}

function createBigintEncoder() {
  const encode = createArrayEncoder('bigint');
  return (numbers: Float64Array): Buffer =>
    encode(numbers.length, (index, target, at) => {
      const number = numbers[index] ?? 0;
      target.writeInt32BE(Math.floor(number / 2 ** 32), at);
      target.writeUInt32BE(number % 2 ** 32, at + 4);
    });
}

/** Writes batches of usage, each in one statement in one transaction; see `flush_usage` in the migrations. */
export function createUsageFlush(client: ClientBase): GateSession['flush'] {
  const { bytes } = elements.uuid;
  const [encodeIds, encodeDays] = [createArrayEncoder('uuid'), createArrayEncoder('date')];
  const [allowedOf, rateDeniedOf, quotaDeniedOf] = [
    createBigintEncoder(),
    createBigintEncoder(),
    createBigintEncoder(),
  ];
  const statement = 'SELECT flush_usage($1, $2, $3, $4::date[]::text[], $5, $6, $7) AS open';
  return async (incarnation, batch, { keyIds, days, allowed, rateDenied, quotaDenied }) => {
    const { rows } = await client.query<{ open: boolean }>(statement, [
      incarnation,
      batch,
      encodeIds(days.length, (index, target, at) => keyIds.copy(target, at, bytes * index, bytes * (index + 1))),
      encodeDays(days.length, (index, target, at) => target.writeInt32BE((days[index] ?? 0) - daysUntil2000, at)),
      allowedOf(allowed),
      rateDeniedOf(rateDenied),
      quotaDeniedOf(quotaDenied),
    ]);
    return rows[0]?.open === true;
  };
}
