import t from 'tap';
import { createKeySlots } from '../../../gate/authz/key-slots.ts';
import { NumberRecords, PagedList } from '../../../gate/authz/paged.ts';
import { SlotIndex } from '../../../gate/authz/slot-index.ts';
import { newId, type Id } from '../../../runtime/domain/ids.ts';
import { seededRandom } from '../../support/random.ts';

t.test('an id is found as it was written, and no other text', (t) => {
  const slots = createKeySlots();
  const texts = [
    '00000000-0000-0000-0000-000000000001',
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
    '01234567-89ab-cdef-0123-456789abcdef',
    newId(),
  ];
  t.same(
    texts.map((id) => slots.slotOf(id)),
    [1, 2, 3, 4],
  );
  t.same(
    [1, 2, 3, 4].map((slot) => slots.idOf(slot)),
    texts,
  );
  t.same(
    texts.map((id) => slots.find(id)),
    [1, 2, 3, 4],
  );
  const [, , text = ''] = texts;
  const others = [text.toUpperCase(), `${text} `, text.slice(1), text.replace('-', 'a'), `${text.slice(0, -1)}g`, ''];
  for (const other of [...others, `${text.slice(0, -1)}\u0661`, newId()]) t.equal(slots.find(other), 0, other);
  t.throws(() => slots.slotOf('key'), { message: 'key is no id of a key' });
  t.throws(() => slots.idOf(5), { message: 'the slot is free' });
  const copy = Buffer.alloc(20, 'x');
  slots.copyId(3, copy, 2);
  t.equal(copy.toString('latin1', 0, 2) + copy.toString('hex', 2, 18), `xx${text.replaceAll('-', '')}`);
  t.equal(copy.toString('latin1', 18), 'xx');
  t.throws(() => slots.copyId(5, copy, 0), { message: 'the slot is free' });
  t.end();
});

t.test('numbers are 0 until they are set, in any order', (t) => {
  const records = new NumberRecords(3);
  t.equal(records.get(0, 0), 0);
  t.equal(records.get(1_000_000, 2), 0);
  records.set(1_000_000, 2, 0.5);
  records.set(4_095, 2, 1);
  records.set(4_096, 0, -2);
  t.same(
    [
      [1_000_000, 2],
      [4_095, 2],
      [4_096, 0],
      [4_096, 1],
      [999_999, 2],
    ].map(([record = 0, field = 0]) => records.get(record, field)),
    [0.5, 1, -2, 0, 0],
  );
  records.reset(4_095);
  records.reset(9_000_000);
  t.same([records.get(4_095, 2), records.get(4_096, 0)], [0, -2]);
  records.clear();
  t.equal(records.get(4_096, 0), 0);

  const list = new PagedList<string>();
  list.set(1_000_000, 'a');
  list.set(0, 'b');
  t.same([list.get(1_000_000), list.get(0), list.get(1), list.get(5_000)], ['a', 'b', undefined, undefined]);
  t.end();
});

t.test('an index finds exactly what was added and not removed, also when hashes collide', (t) => {
  for (const [seed, hashes] of [
    [1, 7],
    [2, 2 ** 32],
    [3, 5_000],
  ] as const) {
    const random = seededRandom(seed);
    const hashOfSlot = new Map<number, number>();
    const hashOf = (slot: number) => hashOfSlot.get(slot) ?? 0;
    const index = new SlotIndex(hashOf);
    const added = new Set<number>();
    for (let step = 0; step < 6_000; step++) {
      const slot = random.between(1, hashes < 10 ? 200 : 3_000);
      // The high bits choose the place in a shard.
      if (!hashOfSlot.has(slot)) hashOfSlot.set(slot, (random.between(0, hashes - 1) << 8) | 5);
      if (added.has(slot)) index.remove(slot);
      else index.add(slot);
      if (!added.delete(slot)) added.add(slot);
    }
    const missing = [...hashOfSlot.keys()].filter(
      (slot) => (index.find(hashOf(slot), (candidate) => candidate === slot) === slot) !== added.has(slot),
    );
    t.same(missing, [], `seed ${seed}`);
    t.ok(added.size > 50);
  }
  t.end();
});

t.test('ids keep their slots, and freed slots are given to other ids', (t) => {
  const slots = createKeySlots();
  const ids: Id[] = Array.from({ length: 10_000 }, newId);
  const bySlot = new Map(ids.map((id) => [slots.slotOf(id), id]));
  t.equal(bySlot.size, ids.length);
  t.equal(slots.last(), ids.length);
  t.same(
    [...bySlot].filter(([slot, id]) => slots.idOf(slot) !== id || slots.find(id) !== slot || slots.slotOf(id) !== slot),
    [],
  );
  t.equal(slots.find(newId()), 0);
  t.throws(() => slots.idOf(20_000), { message: 'the slot is free' });

  const odd = (slot: number) => slot % 2 === 1;
  slots.free(odd);
  t.same(
    [...bySlot].filter(([slot, id]) => slots.find(id) !== (odd(slot) ? slot : 0)),
    [],
  );
  slots.free(odd);
  const last = slots.last();
  const next = new Set(Array.from({ length: 5_000 }, () => slots.slotOf(newId())));
  t.equal(next.size, 5_000);
  t.equal(slots.last(), last, 'the memory of freed slots is used again');
  t.end();
});
