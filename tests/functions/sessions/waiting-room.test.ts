import t from 'tap';
import { createWaitingRoom } from '../../../functions/sessions/waiting-room.ts';
import { seededRandom } from '../../support/random.ts';
import { testSeed } from '../../support/soak.ts';

const seed = testSeed();

t.test(`the largest group makes room, and the groups have turns (seed ${seed})`, (t) => {
  const random = seededRandom(seed);
  for (let round = 0; round < 200; round++) {
    const max = { all: random.between(1, 12), ofGroup: random.between(1, 5) };
    const room = createWaitingRoom(max);
    /** The groups in the order of their turns, each with its entries. */
    const model = new Map<string, number[]>();
    const ends: string[] = [];
    let last = 0;
    for (let turn = 0; turn < 100; turn++) {
      const lengths = new Map([...model].map(([group, { length }]) => [group, length]));
      const all = [...lengths.values()].reduce((sum, length) => sum + length, 0);
      ends.length = 0;
      if (random.chance(0.35)) {
        room.startNext();
        const [first] = model;
        if (!first) {
          t.same(ends, []);
          continue;
        }
        const [group, entries] = first;
        t.same(ends, [`start ${group} ${entries.shift()}`], 'the first entry of the group whose turn it is');
        model.delete(group);
        if (entries.length > 0) model.set(group, entries);
        continue;
      }
      const group = `group-${random.between(1, random.chance(0.5) ? 3 : 15)}`;
      const number = ++last;
      const end = (what: string) => () => void ends.push(`${what} ${group} ${number}`);
      room.add(group, { start: end('start'), refuse: end('refuse') });
      const own = lengths.get(group) ?? 0;
      const largest = Math.max(0, ...lengths.values());
      if (own < max.ofGroup && all < max.all) {
        t.same(ends, [], 'there is room');
      } else if (own >= max.ofGroup || (largest < own + 2 && !(largest === 1 && own === 0))) {
        t.same(ends, [`refuse ${group} ${number}`], 'no other group has two entries more');
        continue;
      } else {
        const [, loser = '', entry] = /^refuse (\S+) (\d+)$/.exec(ends.join()) ?? [];
        t.equal(lengths.get(loser), largest, 'a group with the most entries');
        t.equal(model.get(loser)?.pop(), Number(entry), 'its last one');
        if (model.get(loser)?.length === 0) model.delete(loser);
      }
      model.set(group, [...(model.get(group) ?? []), number]);
      t.equal(room.isEmpty(), false);
    }
    while (!room.isEmpty()) room.startNext();
  }
  t.end();
});
