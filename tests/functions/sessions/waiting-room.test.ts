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
    const all: { group: string; number: number; entry: { start(): void; refuse(): void } }[] = [];
    let last = 0;
    for (let turn = 0; turn < 100; turn++) {
      const lengths = new Map([...model].map(([group, { length }]) => [group, length]));
      const size = [...lengths.values()].reduce((sum, length) => sum + length, 0);
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
      if (last > 0 && random.chance(0.2)) {
        const { group, number, entry } = random.pick(all);
        room.remove(group, entry);
        const waiting = model.get(group) ?? [];
        const others = waiting.filter((one) => one !== number);
        t.same(ends, others.length < waiting.length ? [`refuse ${group} ${number}`] : [], 'only one that waits');
        if (others.length > 0) model.set(group, others);
        else model.delete(group);
        continue;
      }
      const group = `group-${random.between(1, random.chance(0.5) ? 3 : 15)}`;
      const number = ++last;
      const end = (what: string) => () => void ends.push(`${what} ${group} ${number}`);
      const entry = { start: end('start'), refuse: end('refuse') };
      all.push({ group, number, entry });
      room.add(group, entry);
      const own = lengths.get(group) ?? 0;
      const largest = Math.max(0, ...lengths.values());
      if (own < max.ofGroup && size < max.all) {
        t.same(ends, [], 'there is room');
      } else if (own >= max.ofGroup || (largest < own + 2 && !(largest === 1 && own === 0))) {
        t.same(ends, [`refuse ${group} ${number}`], 'no other group has two entries more');
        continue;
      } else {
        const [, loser = '', refused] = /^refuse (\S+) (\d+)$/.exec(ends.join()) ?? [];
        t.equal(lengths.get(loser), largest, 'a group with the most entries');
        t.equal(model.get(loser)?.pop(), Number(refused), 'its last one');
        if (model.get(loser)?.length === 0) model.delete(loser);
      }
      model.set(group, [...(model.get(group) ?? []), number]);
      t.equal(room.isEmpty(), false);
    }
    while (!room.isEmpty()) room.startNext();
  }
  t.end();
});
