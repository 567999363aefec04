import t from 'tap';
import type { UsageBatch } from '../../../gate/authz/unwritten-usage.ts';
import type { OthersRow } from '../../../gate/authz/gate-store.ts';
import { createKeySlots } from '../../../gate/authz/key-slots.ts';
import { createUsage } from '../../../gate/authz/usage.ts';
import { newId, type Id } from '../../../runtime/domain/ids.ts';
import { calendarDay, type CalendarDay, type Period } from '../../../runtime/domain/period.ts';
import { rowsOf } from './usage-columns.ts';

const [first, second, key, other] = [newId(), newId(), newId(), newId()];
const monday = Date.parse('2026-03-02T12:00:00Z');
const dayMs = 86_400_000;

/** A batch as rows: key, day, allowed, rate-denied, quota-denied. */
function rows(batch: UsageBatch | undefined) {
  if (!batch) return undefined;
  return rowsOf(batch.columns).map(({ keyId, day, allowed, rateDenied, quotaDenied }) => [
    keyId === key ? 'key' : 'other',
    day.slice(5),
    allowed,
    rateDenied,
    quotaDenied,
  ]);
}

function counter(wall = monday) {
  const slots = createKeySlots();
  const slotOf = (id: Id) => slots.slotOf(id);
  const real = createUsage(first, slots);
  const usage = {
    ...real,
    allowed: (id: Id, period: Period, calendar: CalendarDay) => real.allowed(slotOf(id), period, calendar),
    countAllowed: (id: Id, calendar: CalendarDay) => real.countAllowed(slotOf(id), calendar),
    countRateDenied: (id: Id, calendar: CalendarDay) => real.countRateDenied(slotOf(id), calendar),
    countQuotaDenied: (id: Id, calendar: CalendarDay) => real.countQuotaDenied(slotOf(id), calendar),
    /** Sets what the other replicas allowed. */
    putOthers(others: OthersRow[], calendar: CalendarDay, all: boolean) {
      const reading = real.readOthers();
      reading.others(others);
      reading.commit(calendar, all);
    },
  };
  const at = (ms: number) => usage.calendar(ms);
  const allow = (times: number, ms = wall, id = key) => {
    for (let turn = 0; turn < times; turn++) usage.countAllowed(id, at(ms));
  };
  /** Writes the pending counts, as rows. */
  const write = () => {
    const batch = usage.batch(100);
    if (batch) usage.written(batch);
    return rows(batch);
  };
  return { usage, slots, at, allow, write };
}

t.test('counts are written as absolute numbers, once for each change', (t) => {
  const { usage, at, allow, write } = counter();
  t.equal(usage.batch(100), undefined);
  allow(2);
  usage.countRateDenied(key, at(monday));
  usage.countQuotaDenied(other, at(monday));
  t.same(write(), [
    ['key', '03-02', 2, 1, 0],
    ['other', '03-02', 0, 0, 1],
  ]);
  t.equal(write(), undefined);
  t.notOk(usage.pending());
  allow(1);
  t.same(write(), [['key', '03-02', 3, 1, 0]]);
  allow(1, monday, other);
  allow(1);
  t.same(rows(usage.batch(1)), [['other', '03-02', 1, 0, 1]], 'at most the requested number');
  t.end();
});

t.test('a batch is repeated unchanged until its result is known', (t) => {
  const { usage, allow, write } = counter();
  allow(1);
  t.ok(usage.pending());
  const batch = usage.batch(100);
  t.match(batch, { incarnation: first, number: 1 });
  t.ok(usage.pending(), 'not known to be written');
  allow(1);
  t.equal(usage.batch(100), batch, 'the same');
  t.same(rows(batch), [['key', '03-02', 1, 0, 0]]);
  t.ok(usage.pending());
  t.same(write(), [['key', '03-02', 1, 0, 0]]);
  t.match(usage.batch(100), { number: 2 });
  t.same(write(), [['key', '03-02', 2, 0, 0]]);
  t.end();
});

t.test('a new day begins at zero, and the previous day is still written', (t) => {
  const { usage, at, allow, write } = counter();
  allow(2);
  allow(3, monday + dayMs);
  t.same(write(), [
    ['key', '03-02', 2, 0, 0],
    ['key', '03-03', 3, 0, 0],
  ]);
  const sums = (ms: number) => {
    const calendar = at(ms);
    return (['day', 'week', 'month'] as const).map((period) => usage.allowed(key, period, calendar));
  };
  t.same(sums(monday + dayMs), [3, 5, 5]);
  t.equal(at(Date.parse('2026-03-04T00:00:00Z') - 1).day, '2026-03-03');
  t.equal(at(Date.parse('2026-03-04T00:00:00Z')).day, '2026-03-04', 'at midnight');
  t.same(sums(monday + 7 * dayMs), [0, 0, 5], 'next week');
  allow(1, monday + 7 * dayMs);
  t.same(sums(monday + 7 * dayMs), [1, 1, 6]);
  t.same(sums(Date.parse('2026-04-01T00:00:00Z')), [0, 0, 0], 'next month');
  const april = counter(Date.parse('2026-04-01T12:00:00Z'));
  april.allow(2);
  april.allow(1, Date.parse('2026-04-02T12:00:00Z'));
  const secondOfApril = april.at(Date.parse('2026-04-02T12:00:00Z'));
  t.equal(april.usage.allowed(key, 'month', secondOfApril), 3, 'the first day of a month is a day of the month');
  const week = counter(Date.parse('2026-03-31T12:00:00Z'));
  week.allow(4);
  week.allow(1, Date.parse('2026-04-01T12:00:00Z'));
  const calendar = week.at(Date.parse('2026-04-01T12:00:00Z'));
  t.equal(week.usage.allowed(key, 'week', calendar), 5, 'a week crosses the end of a month');
  t.equal(week.usage.allowed(key, 'month', calendar), 1);
  t.end();
});

t.test('the counts of others belong to the period that they were read for', (t) => {
  const { usage, at, allow } = counter();
  allow(1);
  usage.putOthers([{ keyId: key, allowed: 10 }], at(monday), true);
  t.equal(usage.allowed(other, 'week', at(monday)), 0);
  t.equal(usage.allowed(key, 'week', at(monday)), 11);
  t.equal(usage.allowed(key, 'week', at(monday + dayMs)), 11);
  t.equal(usage.allowed(key, 'day', at(monday + dayMs)), 0, 'another day');
  usage.putOthers([{ keyId: key, allowed: 99 }], at(monday + dayMs), false);
  t.equal(usage.allowed(key, 'week', at(monday + dayMs)), 11, 'an answer for another day is ignored');
  usage.putOthers([{ keyId: key, allowed: 12 }], at(monday + dayMs), true);
  usage.putOthers([{ keyId: other, allowed: 3 }], at(monday + dayMs), false);
  t.equal(usage.allowed(key, 'day', at(monday + dayMs)), 12);
  t.equal(usage.allowed(other, 'day', at(monday + dayMs)), 3);
  usage.putOthers([{ keyId: other, allowed: 0 }], at(monday + dayMs), false);
  t.equal(usage.allowed(other, 'day', at(monday + dayMs)), 0);
  t.end();
});

t.test('another process life takes over unwritten counts, and nothing else', (t) => {
  const renewed = (lastBatch: number) => {
    const { usage, at, allow, write } = counter();
    allow(5);
    write();
    allow(2);
    usage.batch(100);
    allow(1);
    usage.renew(second, lastBatch, at(monday));
    const batch = usage.batch(100);
    t.match(batch, { incarnation: second, number: 1 });
    return { written: rows(batch), own: usage.allowed(key, 'month', at(monday)) };
  };
  t.same(renewed(1), { written: [['key', '03-02', 3, 0, 0]], own: 3 }, 'the batch in progress was not written');
  t.same(renewed(2), { written: [['key', '03-02', 1, 0, 0]], own: 1 }, 'it was written');

  const { usage, at, allow, write } = counter();
  allow(2);
  usage.batch(100);
  usage.renew(second, 1, at(monday));
  t.equal(usage.batch(100), undefined);
  t.equal(usage.size(), 0);
  allow(1);
  t.same(write(), [['key', '03-02', 1, 0, 0]]);
  t.end();
});

t.test('another process life takes over unwritten denials', (t) => {
  const { usage, at, write } = counter();
  const denials = (rate: number, quota: number) => {
    for (let turn = 0; turn < rate; turn++) usage.countRateDenied(key, at(monday));
    for (let turn = 0; turn < quota; turn++) usage.countQuotaDenied(key, at(monday));
  };
  denials(5, 7);
  write();
  denials(1, 2);
  usage.renew(second, 1, at(monday));
  t.same(write(), [['key', '03-02', 0, 1, 2]]);
  t.end();
});

t.test('the outcome of a batch of an earlier incarnation is ignored', (t) => {
  const { usage, at, allow } = counter();
  allow(1);
  const late = usage.batch(100);
  usage.renew(second, 0, at(monday));
  if (late) usage.written(late);
  t.same(rows(usage.batch(100)), [['key', '03-02', 1, 0, 0]]);
  t.end();
});

t.test('counts of yesterday stay counts of yesterday in a new incarnation', (t) => {
  const { usage, at, allow, write } = counter();
  allow(2);
  allow(3, monday + dayMs);
  usage.renew(second, 0, at(monday + dayMs));
  t.equal(usage.allowed(key, 'week', at(monday + dayMs)), 5);
  t.equal(usage.allowed(key, 'day', at(monday + dayMs)), 3);
  t.same(
    new Set(write()),
    new Set([
      ['key', '03-02', 2, 0, 0],
      ['key', '03-03', 3, 0, 0],
    ]),
  );
  allow(1, monday + dayMs);
  t.same(write(), [['key', '03-03', 4, 0, 0]], 'a later request adds to the count of today');
  t.end();
});

t.test('counts that are only written again do not move to a new incarnation', (t) => {
  const { usage, at, allow, write } = counter();
  allow(2);
  write();
  usage.rewrite();
  usage.renew(second, 1, at(monday));
  t.equal(write(), undefined);
  t.end();
});

t.test('in a new incarnation, counts of yesterday count for the periods that they belong to', (t) => {
  const { usage, at, allow } = counter();
  // The first day of March is the last of its week.
  allow(2, monday - dayMs);
  allow(3);
  usage.renew(second, 0, at(monday));
  const sums = (['day', 'week', 'month'] as const).map((period) => usage.allowed(key, period, at(monday)));
  t.same(sums, [3, 3, 5]);
  t.end();
});

t.test('days do not follow the wall clock back before the process life is renewed', (t) => {
  const { usage, at, allow, write } = counter();
  allow(1);
  write();
  const ahead = monday + 40 * dayMs;
  allow(2, ahead);
  t.notOk(usage.outrun(ahead));
  const midnight = Date.parse('2026-04-11T00:00:00Z');
  t.notOk(usage.outrun(midnight - 60_000), 'the clock goes back by a minute at midnight');
  t.ok(usage.outrun(midnight - 60_001));
  t.ok(usage.outrun(monday));
  t.equal(at(monday).day, '2026-04-11');
  allow(4, monday);
  t.same(write(), [['key', '04-11', 6, 0, 0]]);
  allow(1, monday);
  usage.renew(second, 2, calendarDay(monday));
  t.notOk(usage.outrun(monday));
  t.equal(at(monday).day, '2026-03-02');
  allow(1, monday);
  t.same(write(), [['key', '03-02', 2, 0, 0]], 'unwritten counts belong to the current day');
  allow(1, ahead);
  t.same(write(), [['key', '04-11', 1, 0, 0]], 'the same day, in the new process life');
  t.end();
});

t.test('after the store returned to an older copy, today is written again', (t) => {
  const { usage, allow, write } = counter();
  allow(2);
  allow(1, monday, other);
  write();
  usage.rewrite();
  t.same(write(), [
    ['key', '03-02', 2, 0, 0],
    ['other', '03-02', 1, 0, 0],
  ]);
  t.end();
});

t.test('keys without counts in the current periods are forgotten once they are written', (t) => {
  const { usage, at, allow, write } = counter();
  allow(1);
  const april = Date.parse('2026-04-20T00:00:00Z');
  t.equal(usage.forget(at(monday + dayMs)), 0);
  t.equal(usage.forget(at(april)), 0, 'not written');
  write();
  t.equal(usage.forget(calendarDay(monday + dayMs)), 0, 'the next day');
  t.equal(usage.forget(calendarDay(monday + 7 * dayMs)), 0, 'the next week, in the same month');
  allow(1, april, other);
  t.equal(usage.forget(at(april)), 1);
  t.equal(usage.size(), 1);
  write();
  allow(2, april);
  t.same(write(), [['key', '04-20', 2, 0, 0]], 'a forgotten key begins at zero');
  t.equal(usage.size(), 2);

  const march = counter(Date.parse('2026-03-31T12:00:00Z'));
  march.allow(1);
  march.write();
  t.equal(march.usage.forget(calendarDay(Date.parse('2026-04-01T00:00:00Z'))), 0, 'the next month, in the same week');

  const sunday = counter(Date.parse('2026-03-01T12:00:00Z'));
  sunday.allow(1);
  sunday.write();
  t.equal(sunday.usage.forget(calendarDay(monday)), 0, 'the first day of the month, in the next week');
  t.end();
});

t.test('counts of yesterday whose batch is in progress are written once, and freed', (t) => {
  const { usage, at, allow, write } = counter();
  allow(2);
  const batch = usage.batch(100);
  allow(1);
  allow(4, monday + dayMs);
  if (batch) usage.written(batch);
  t.same(write(), [
    ['key', '03-02', 3, 0, 0],
    ['key', '03-03', 4, 0, 0],
  ]);
  t.equal(write(), undefined);
  usage.rewrite();
  t.same(write(), [['key', '03-03', 4, 0, 0]], 'only the last day is kept');

  const moved = counter();
  moved.allow(5);
  moved.usage.batch(100);
  moved.allow(1, monday + dayMs);
  moved.usage.renew(second, 0, moved.at(monday + dayMs));
  t.same(
    new Set(moved.write()),
    new Set([
      ['key', '03-02', 5, 0, 0],
      ['key', '03-03', 1, 0, 0],
    ]),
    'an unknown outcome',
  );
  t.equal(usage.allowed(key, 'week', at(monday + dayMs)), 7);
  t.end();
});

t.test('a key keeps its slot as long as it exists, or has counts', (t) => {
  const { usage, slots, at, allow, write } = counter();
  const [counts, exists, neither] = [slots.slotOf(key), slots.slotOf(other), slots.slotOf(newId())];
  const free = () => usage.freeSlots((slot) => slot === exists);
  allow(1);
  usage.putOthers([{ keyId: slots.idOf(neither), allowed: 9 }], at(monday), true);
  free();
  t.equal(slots.find(key), counts);
  t.equal(slots.find(other), exists);
  const next = newId();
  t.equal(slots.slotOf(next), neither, 'the slot of a deleted key without counts belongs to the next key');
  t.equal(usage.allowed(next, 'month', at(monday)), 0, 'which has none of its counts');

  const april = at(Date.parse('2026-04-20T00:00:00Z'));
  const batch = usage.batch(100);
  t.equal(usage.forget(april), 1);
  free();
  t.equal(slots.find(key), counts, 'its last batch may have to be repeated');
  if (batch) usage.written(batch);
  free();
  t.equal(slots.find(key), 0);
  t.equal(write(), undefined);
  t.end();
});
