import t from 'tap';
import { SlotIndex, textHash } from '../../../gate/authz/slot-index.ts';
import { seededRandom } from '../../support/random.ts';
import { testSeed } from '../../support/soak.ts';

const seed = testSeed();

/** An index of named slots, beside a Map that has the same. */
function pair(hashOf: (name: number) => number) {
  const names = new Map<number, number>();
  const slotOf = new Map<number, number>();
  const index = new SlotIndex((slot) => hashOf(names.get(slot) ?? 0));
  let last = 0;
  return {
    slotOf,
    add: (name: number) => {
      const slot = ++last;
      names.set(slot, name);
      slotOf.set(name, slot);
      index.add(slot);
    },
    remove: (name: number) => {
      index.remove(slotOf.get(name) ?? 0);
      slotOf.delete(name);
    },
    find: (name: number) => index.find(hashOf(name), (slot) => names.get(slot) === name),
  };
}

// All in one part of the table; few hashes, so that most names share theirs; and both at the end, where the search wraps.
const hashes: Record<string, (name: number) => number> = {
  'a good hash': (name) => textHash(String(name)),
  'hashes in one part of the table': (name) => (name * 7) << 8,
  'few hashes': (name) => (name % 5) << 8,
  'hashes at the end of the table': (name) => -1 - ((name % 3) << 8),
};

for (const [what, hashOf] of Object.entries(hashes)) {
  t.test(`finds what is in it and nothing else, with ${what} (seed ${seed})`, (t) => {
    const random = seededRandom(seed);
    const { slotOf, add, remove, find } = pair(hashOf);
    let wrong = 0;
    for (let turn = 0; turn < 3_000; turn++) {
      const name = random.between(1, 200);
      if (slotOf.has(name)) remove(name);
      else add(name);
      const other = random.between(1, 220);
      for (const one of [name, other]) if (find(one) !== (slotOf.get(one) ?? 0)) wrong++;
    }
    for (let name = 1; name <= 220; name++) if (find(name) !== (slotOf.get(name) ?? 0)) wrong++;
    t.equal(wrong, 0, 'wrong slots');
    t.end();
  });
}

t.test('grows before a part is full, so that a search for what is not there ends', (t) => {
  const { add, find } = pair((name) => name << 8);
  for (let name = 1; name <= 1_000; name++) {
    add(name);
    if (find(-1) !== 0 || find(name) !== name) t.fail(`with ${name} slots`);
  }
  t.equal(find(500), 500);
  t.end();
});

t.test('hashes texts by FNV-1a', (t) => {
  // http://www.isthe.com/chongo/tech/comp/fnv/: the test vectors of its authors.
  t.same(
    ['', 'a', 'b', 'foobar'].map((text) => textHash(text) >>> 0),
    [0x811c9dc5, 0xe40c292c, 0xe70c2de5, 0xbf9cf968],
  );
  t.end();
});
