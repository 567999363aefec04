import t from 'tap';
import { createFairPlaces, PlacesFull, type FairPlaces } from '../../../runtime/domain/fair-places.ts';
import { settle } from '../../support/clock.ts';

const limits = { total: 2, perKey: 1, waitingPerKey: 2, waitingTotal: 3 };

t.test('keys get places in turn, so that one that asks much delays no other', async (t) => {
  const places = createFairPlaces({ ...limits, total: 1 });
  const order: string[] = [];
  const run = async (key: string, name: string) => {
    const leave = await places.enter(key);
    order.push(name);
    await settle();
    leave();
    leave();
  };
  await Promise.all([run('noisy', 'n1'), run('noisy', 'n2'), run('noisy', 'n3'), run('quiet', 'q1')]);
  t.same(order, ['n1', 'n2', 'q1', 'n3']);
  t.equal(places.active(), 0);
});

t.test('a key cannot take all places, and what waits is bounded', async (t) => {
  const places = createFairPlaces(limits);
  const leave = await places.enter('a');
  const second = places.enter('a');
  const third = places.enter('a');
  await t.rejects(places.enter('a'), PlacesFull, 'two of one key wait');
  (await places.enter('b'))();
  const other = await places.enter('b');
  const waiting = places.enter('b');
  await t.rejects(places.enter('b'), PlacesFull, 'three wait in all');
  leave();
  (await second)();
  (await third)();
  other();
  (await waiting)();
  t.equal(places.active(), 0);
});

t.test('who stops waiting takes no place', async (t) => {
  const places = createFairPlaces({ ...limits, total: 1 });
  const leave = await places.enter('a');
  const stop = new AbortController();
  const waiting = places.enter('b', stop.signal);
  stop.abort(new Error('gone'));
  await t.rejects(waiting, /gone/);
  await t.rejects(places.enter('b', stop.signal), /gone/);
  leave();
  t.equal(places.active(), 0);
  (await places.enter('b'))();
});

t.test('a key that fills the waiting room gives way to one that has fewer waiting', async (t) => {
  const places = createFairPlaces({ total: 1, perKey: 1, waitingPerKey: 3, waitingTotal: 3 });
  const leave = await places.enter('noisy');
  const [first, second, third] = [places.enter('noisy'), places.enter('noisy'), places.enter('noisy')];
  const refused = t.rejects(third, PlacesFull);
  const quiet = places.enter('quiet');
  await refused;
  await t.rejects(places.enter('quiet'), PlacesFull, 'two of one wait and one of the other');
  leave();
  (await first)();
  (await quiet)();
  (await second)();
  t.equal(places.active(), 0);
  (await places.enter('noisy'))();
});

t.test('a key with one waiter more than it needs to keep gives way too', async (t) => {
  const places = createFairPlaces({ total: 1, perKey: 1, waitingPerKey: 2, waitingTotal: 2 });
  const leave = await places.enter('noisy');
  const [first, second] = [places.enter('noisy'), places.enter('noisy')];
  const refused = t.rejects(second, PlacesFull);
  const quiet = places.enter('quiet');
  await refused;
  leave();
  (await first)();
  (await quiet)();
  t.equal(places.active(), 0);
});

t.test('who stops waiting at the moment of admission has the place, and the others keep their turns', async (t) => {
  const places = createFairPlaces({ ...limits, total: 1 });
  const leave = await places.enter('a');
  const stop = new AbortController();
  const first = places.enter('b', stop.signal);
  const second = places.enter('b');
  leave();
  stop.abort(new Error('late'));
  (await first)();
  (await second)();
  t.equal(places.active(), 0);
});

t.test('when one of several waiters of a key stops waiting, the others keep their turns', async (t) => {
  const places = createFairPlaces({ ...limits, total: 1 });
  const leave = await places.enter('a');
  const stop = new AbortController();
  const first = places.enter('b', stop.signal);
  const second = places.enter('b');
  stop.abort(new Error('gone'));
  await t.rejects(first, /gone/);
  leave();
  (await second)();
  t.equal(places.active(), 0);
});

t.test('the limit of a key holds after one of its places was left', async (t) => {
  const places = createFairPlaces({ total: 3, perKey: 2, waitingPerKey: 1, waitingTotal: 1 });
  const leaves = [await places.enter('a'), await places.enter('a')];
  leaves[0]?.();
  const leave = await places.enter('a');
  let isIn = false;
  const enterThird = async () => {
    const leaveThird = await places.enter('a');
    isIn = true;
    leaveThird();
  };
  const third = enterThird();
  await settle();
  t.equal(isIn, false);
  leave();
  await third;
  leaves[1]?.();
  t.equal(places.active(), 0);
});

t.test('the limit of those that wait holds after some got their places', async (t) => {
  const places = createFairPlaces({ total: 1, perKey: 1, waitingPerKey: 2, waitingTotal: 2 });
  let leave = await places.enter('a');
  for (let round = 0; round < 3; round++) {
    const waiting = [places.enter('b'), places.enter('c')];
    await t.rejects(places.enter('d'), PlacesFull, `round ${round}`);
    for (const place of waiting) {
      leave();
      leave = await place;
    }
    leave();
    leave = await places.enter('a');
  }
  leave();
  t.equal(places.active(), 0);
});

t.test('the limit of those that wait holds after one stopped waiting', async (t) => {
  const places = createFairPlaces({ total: 1, perKey: 1, waitingPerKey: 2, waitingTotal: 2 });
  const leave = await places.enter('a');
  const stop = new AbortController();
  const gone = places.enter('b', stop.signal);
  const waiting = places.enter('c');
  stop.abort(new Error('gone'));
  await t.rejects(gone, /gone/);
  const next = places.enter('d');
  await t.rejects(places.enter('e'), PlacesFull);
  leave();
  (await waiting)();
  (await next)();
  const last = await places.enter('a');
  const again = [places.enter('b'), places.enter('c')];
  await t.rejects(places.enter('d'), PlacesFull);
  last();
  for (const place of again) (await place)();
  t.equal(places.active(), 0);
});

t.test('a place goes to the key with the fewest, and of several to the one that has waited longest', async (t) => {
  const places = createFairPlaces({ total: 3, perKey: 2, waitingPerKey: 2, waitingTotal: 6 });
  const leaves = [await places.enter('a'), await places.enter('a'), await places.enter('b')];
  const order: string[] = [];
  const enter = async (key: string) => {
    const leave = await places.enter(key);
    order.push(key);
    return leave;
  };
  const stop = new AbortController();
  const gone = places.enter('d', stop.signal);
  const entered = [enter('b'), enter('c')];
  stop.abort(new Error('gone'));
  await t.rejects(gone, /gone/);
  // It gave up and came again: c came later than it did at first.
  entered.push(enter('d'));
  for (const leave of leaves) {
    leave();
    await settle();
  }
  t.same(order, ['d', 'c', 'b']);
  for (const leave of await Promise.all(entered)) leave();
  t.equal(places.active(), 0);
});

t.test('a key that has a place makes room among those that wait for one that has none', async (t) => {
  const places = createFairPlaces({ total: 1, perKey: 2, waitingPerKey: 1, waitingTotal: 1 });
  const leave = await places.enter('a');
  const refused = t.rejects(places.enter('a'), PlacesFull);
  const waiting = places.enter('b');
  await refused;
  await t.rejects(places.enter('c'), PlacesFull, 'b has none either');
  await t.rejects(places.enter('a'), PlacesFull);
  leave();
  (await waiting)();
  (await places.enter('a'))();
  t.equal(places.active(), 0);
});

/** Places whose keys are recorded in the order in which they get them. */
function recorded(places: FairPlaces) {
  const order: string[] = [];
  return {
    order,
    enter: async (key: string) => {
      const leave = await places.enter(key);
      order.push(key);
      return leave;
    },
    /** A key that waits and stops waiting at once. */
    giveUp: async (key: string) => {
      const stop = new AbortController();
      const gone = places.enter(key, stop.signal);
      stop.abort(new Error('gone'));
      await gone.catch(() => undefined);
    },
  };
}

/** Leaves each of these places as soon as it is taken. */
async function pass(entered: Promise<() => void>[]): Promise<void> {
  for (const leave of entered.map((place) => place.then((leaves) => leaves()))) await leave;
}

t.test('a key with more waiters waits its next turn from when it got its place', async (t) => {
  const places = createFairPlaces({ total: 1, perKey: 1, waitingPerKey: 2, waitingTotal: 9 });
  const { order, enter } = recorded(places);
  const leave = await places.enter('a');
  const waiting = [enter('many'), enter('many'), enter('b')];
  leave();
  const leaveFirst = await waiting[0];
  waiting.push(enter('late'));
  leaveFirst?.();
  await pass(waiting.slice(1));
  t.same(order, ['many', 'b', 'many', 'late']);
});

t.test('a key that has had its turn comes after those that waited before it came again', async (t) => {
  const places = createFairPlaces({ total: 1, perKey: 1, waitingPerKey: 2, waitingTotal: 9 });
  const { order, enter } = recorded(places);
  const leave = await places.enter('a');
  const first = enter('again');
  leave();
  (await first)();
  const other = await places.enter('a');
  const waiting = [enter('b'), enter('again')];
  other();
  await pass(waiting);
  t.same(order, ['again', 'b', 'again']);
});

t.test('of the keys that gave up, the last 1,000 keep their turns', async (t) => {
  for (const [others, expected] of [
    [997, ['waits', 'early', 'late']],
    [998, ['waits', 'late', 'early']],
  ] as const) {
    const places = createFairPlaces({ total: 1, perKey: 1, waitingPerKey: 1, waitingTotal: 9 });
    const { order, enter, giveUp } = recorded(places);
    const leave = await places.enter('a');
    const waiting = [enter('waits')];
    await giveUp('early');
    for (let count = 0; count < others; count++) await giveUp(`other-${count}`);
    waiting.push(enter('late'), enter('early'));
    leave();
    await pass(waiting);
    t.same(order, expected, `${others} others gave up`);
  }
});

t.test('the key that has most waiters gives way, wherever it stands', async (t) => {
  const places = createFairPlaces({ total: 2, perKey: 1, waitingPerKey: 3, waitingTotal: 4 });
  const leaves = [await places.enter('a'), await places.enter('b')];
  const waiting = [places.enter('a'), places.enter('a')];
  const refused = t.rejects(places.enter('a'), PlacesFull);
  waiting.push(places.enter('b'), places.enter('c'));
  await refused;
  for (const leave of leaves) leave();
  await pass(waiting);
  t.equal(places.active(), 0);
});

t.test('a key with two waiters gives way to one with a place and none', async (t) => {
  const places = createFairPlaces({ total: 2, perKey: 1, waitingPerKey: 2, waitingTotal: 2 });
  const leaves = [await places.enter('a'), await places.enter('b')];
  const waiting = [places.enter('a')];
  const refused = t.rejects(places.enter('a'), PlacesFull);
  waiting.push(places.enter('b'));
  await refused;
  for (const leave of leaves) leave();
  await pass(waiting);
  t.equal(places.active(), 0);
});

t.test('the limit of those that wait holds after the only waiter of a key gave way', async (t) => {
  const places = createFairPlaces({ total: 1, perKey: 1, waitingPerKey: 2, waitingTotal: 1 });
  const leave = await places.enter('a');
  const refused = t.rejects(places.enter('a'), PlacesFull);
  const waiting = places.enter('b');
  await refused;
  leave();
  const leaveB = await waiting;
  const last = places.enter('b');
  await t.rejects(places.enter('b'), PlacesFull);
  leaveB();
  (await last)();
  t.equal(places.active(), 0);
});
