import t from 'tap';
import { IdRecords } from '../../../gate/authz/id-records.ts';
import { newId, type Id } from '../../../runtime/domain/ids.ts';

/** Each digit at each place, and ids of which only one part is not zero. */
const ids = [
  '01234567-89ab-cdef-0123-456789abcdef',
  'fedcba98-7654-3210-fedc-ba9876543210',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  '00000001-0000-0000-0000-000000000000',
  '00000000-0001-0000-0000-000000000000',
  '00000000-0000-0000-0001-000000000000',
  '00000000-0000-0000-0000-000000000001',
  '80000000-0000-0000-0000-000000000000',
  '00000000-8000-0000-0000-000000000000',
  '00000000-0000-0000-8000-000000000000',
  '00000000-0000-0000-0000-000080000000',
] as Id[];

/** Slots at the edges of pages. */
const slots = [0, 1, 2, 4_094, 4_095, 4_096, 4_097, 8_191, 8_192, 100_000, 100_001];

function put(records: IdRecords, slot: number, id: Id): void {
  t.ok(records.read(id), id);
  records.put(slot);
}

t.test('keeps ids by slot, and nothing for the other slots', (t) => {
  const records = new IdRecords();
  t.same([records.get(5), records.has(5), records.hash(5)], [undefined, false, 0], 'no page');
  slots.forEach((slot, index) => put(records, slot, ids[index] ?? newId()));
  t.same(
    slots.map((slot) => records.get(slot)),
    ids,
  );
  t.ok(slots.every((slot) => records.has(slot)));
  for (const slot of [3, 4_093, 4_098, 8_193, 99_999, 100_002, 200_000])
    t.same([records.get(slot), records.has(slot)], [undefined, false], `slot ${slot}`);
  t.end();
});

t.test('matches the id that was read last, and none that differs in one digit', (t) => {
  const records = new IdRecords();
  const id = '01234567-89ab-cdef-0123-456789abcdef' as Id;
  put(records, 7, id);
  t.ok(records.matches(7));
  for (let place = 0; place < id.length; place++) {
    if (id[place] === '-') continue;
    const other = `${id.slice(0, place)}${id[place] === '0' ? '1' : '0'}${id.slice(place + 1)}`;
    t.ok(records.read(other));
    t.notOk(records.matches(7), other);
  }
  t.ok(records.read(id));
  t.notOk(records.matches(8), 'an empty slot');
  t.notOk(records.matches(1_000_000), 'no page');
  t.end();
});

t.test('removes one id and leaves its neighbours', (t) => {
  const records = new IdRecords();
  const [first, second, third] = [newId(), newId(), newId()];
  put(records, 4_095, first);
  put(records, 4_096, second);
  put(records, 4_097, third);
  records.remove(4_096);
  records.remove(1_000_000);
  t.same(
    [4_095, 4_096, 4_097].map((slot) => records.get(slot)),
    [first, undefined, third],
  );
  t.notOk(records.has(4_096));
  t.end();
});

t.test('reads only ids as PostgreSQL writes them', (t) => {
  const records = new IdRecords();
  const id = '01234567-89ab-cdef-0123-456789abcdef';
  const wrong = [
    '',
    id.slice(1),
    `${id}0`,
    id.toUpperCase(),
    id.replaceAll('-', '0'),
    `${id.slice(0, -1)}g`,
    `${id.slice(0, -1)}/`,
    `${id.slice(0, -1)}:`,
    `${id.slice(0, -1)}\``,
    `${id.slice(0, -1)}\0`,
    `${id.slice(0, -1)}\x7f`,
    `${id.slice(0, -1)}\x80`,
    `${id.slice(0, -1)}\u0130`,
    '0123456-789ab-cdef-0123-456789abcdef',
    '012345678-9ab-cdef-0123-456789abcdef',
  ];
  for (const place of [8, 13, 18, 23]) wrong.push(`${id.slice(0, place)}_${id.slice(place + 1)}`);
  for (const text of wrong) t.notOk(records.read(text), JSON.stringify(text));
  t.ok(records.read(id));
  t.end();
});

t.test('hashes the id of a slot as the id that was read, and every part of it counts', (t) => {
  const records = new IdRecords();
  ids.forEach((id, index) => {
    put(records, 4_090 + index, id);
    t.equal(records.hash(4_090 + index), records.hashRead(), id);
  });
  // The first bit of each part has the same place in the hash, so only ids without it.
  const few = [...ids.slice(0, 7), '00000000-0000-0000-0000-000000000000'];
  const hashes = few.map((id) => (records.read(id), records.hashRead()));
  t.equal(new Set(hashes).size, few.length);
  t.end();
});
