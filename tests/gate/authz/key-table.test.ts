import { randomBytes } from 'node:crypto';
import t from 'tap';
import { KeyTable, type KeyTerms, type StoredKey } from '../../../gate/authz/key-table.ts';
import { createPlan } from '../../../gate/authz/plan.ts';
import { randomText } from '../../../runtime/domain/random-text.ts';
import { environmentId, planRow } from './records.ts';

const terms: KeyTerms = {
  environmentId,
  plan: createPlan(planRow()),
  scope: undefined,
  addresses: undefined,
  enabled: true,
  expiresAt: Infinity,
};

function storedKey(change: Partial<StoredKey> = {}): StoredKey {
  return { handle: randomText(8), digest: randomBytes(32), terms, nameHeader: 'Acme', ...change };
}

/** Slots at the edges of pages. */
const slots = [1, 2, 2_047, 2_048, 4_095, 4_096, 4_097, 8_191, 8_192, 100_000];

/** A table with a key in each of these slots. */
function rig() {
  const table = new KeyTable();
  const keys = slots.map((slot) => ({ slot, ...storedKey({ nameHeader: `name ${slot}`, terms: { ...terms } }) }));
  for (const { slot, ...key } of keys) table.put(slot, key);
  return { table, keys };
}

t.test('finds each key by its handle, with its own terms, name and digest', (t) => {
  const { table, keys } = rig();
  t.equal(table.count, slots.length);
  for (const { slot, handle, digest, terms, nameHeader } of keys) {
    t.equal(table.find(handle), slot);
    t.equal(table.handle(slot), handle);
    t.equal(table.has(slot), true);
    t.equal(table.terms(slot), terms);
    t.equal(table.nameHeader(slot), nameHeader);
    t.same(
      slots.filter((other) => table.matches(other, digest)),
      [slot],
    );
  }
  t.end();
});

t.test('finds nothing for other handles and in other slots', (t) => {
  const { table, keys } = rig();
  for (const { handle } of keys) {
    for (const other of [handle.slice(0, 7), `${handle}a`, `${handle.slice(0, 7)}#`, `#${handle.slice(1)}`, ''])
      t.equal(table.find(other), 0, other);
  }
  for (const slot of [0, 3, 4_094, 8_193, 200_000]) {
    t.same([table.has(slot), table.terms(slot), table.nameHeader(slot)], [false, undefined, undefined]);
    t.equal(table.matches(slot, randomBytes(32)), false);
  }
  t.equal(table.matches(0, new Uint8Array(32)), false, 'that of slot 0 is random');
  t.end();
});

t.test('a key replaces the one of its slot, and a removed one leaves the others', (t) => {
  const { table, keys } = rig();
  for (const { slot, handle, digest } of keys) {
    const next = storedKey({ nameHeader: undefined });
    table.put(slot, next);
    t.equal(table.find(handle), 0);
    t.equal(table.find(next.handle), slot);
    t.equal(table.nameHeader(slot), undefined);
    t.equal(table.terms(slot), terms);
    t.same([table.matches(slot, digest), table.matches(slot, next.digest)], [false, true]);
    t.equal(table.count, slots.length);
    table.put(slot, { ...storedKey(), handle });
  }
  keys.forEach(({ slot, handle }, index) => {
    table.remove(slot);
    table.remove(slot);
    t.equal(table.find(handle), 0);
    t.same([table.has(slot), table.terms(slot), table.nameHeader(slot)], [false, undefined, undefined]);
    t.equal(table.count, slots.length - index - 1);
    t.ok(keys.slice(index + 1).every((other) => table.find(other.handle) === other.slot));
  });
  t.end();
});

t.test('refuses a digest or a handle of another length, and keeps the previous key', (t) => {
  const { table, keys } = rig();
  const [key] = keys;
  if (!key) throw new Error('the table has keys');
  const { slot, handle, digest } = key;
  for (const bytes of [31, 33])
    t.throws(() => table.put(slot, storedKey({ digest: randomBytes(bytes) })), { message: `32 bytes, got ${bytes}` });
  for (const length of [7, 9])
    t.throws(() => table.put(slot, storedKey({ handle: randomText(length) })), { message: `8 bytes, got ${length}` });
  t.equal(table.find(handle), slot);
  t.equal(table.matches(slot, digest), true);
  t.equal(table.count, slots.length);
  t.end();
});
