import t from 'tap';
import { createFairPlaces, PlacesFull } from '../../../runtime/domain/fair-places.ts';
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
