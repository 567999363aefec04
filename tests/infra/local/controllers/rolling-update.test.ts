import t from 'tap';
import { nextCounts, roomOf, type Scaled } from '../../../../infra/local/controllers/rolling-update.ts';
import { seededRandom } from '../../../support/random.ts';

t.test('percentages are of the wanted count; both zero would never end', async (t) => {
  t.same(roomOf(4), { maxSurge: 1, maxUnavailable: 1 });
  t.same(roomOf(1), { maxSurge: 1, maxUnavailable: 0 });
  t.same(roomOf(10, { maxSurge: '11%', maxUnavailable: '19%' }), { maxSurge: 2, maxUnavailable: 1 });
  t.same(roomOf(3, { maxSurge: 0, maxUnavailable: 0 }), { maxSurge: 0, maxUnavailable: 1 });
});

t.test('an old pod goes only when a new one serves', async (t) => {
  const room = { maxSurge: 1, maxUnavailable: 0 };
  const old = (replicas: number) => [{ replicas, available: replicas }];
  t.same(nextCounts(2, room, { replicas: 0, available: 0 }, old(2)), { current: 1, old: [2] });
  t.same(nextCounts(2, room, { replicas: 1, available: 0 }, old(2)), { current: 1, old: [2] });
  t.same(nextCounts(2, room, { replicas: 1, available: 1 }, old(2)), { current: 1, old: [1] });
  t.same(nextCounts(2, room, { replicas: 2, available: 2 }, old(1)), { current: 2, old: [0] });
});

t.test('old pods that do not serve make room at once', async (t) => {
  const room = { maxSurge: 1, maxUnavailable: 0 };
  const broken = [{ replicas: 1, available: 0 }];
  t.same(nextCounts(1, room, { replicas: 1, available: 0 }, [...broken, { replicas: 1, available: 1 }]), {
    current: 1,
    old: [0, 1],
  });
});

t.test('whatever happens on the way, the bounds hold and it ends', async (t) => {
  for (let seed = 1; seed <= 300; seed++) {
    const random = seededRandom(seed);
    const wanted = random.between(0, 6);
    const room = roomOf(wanted, { maxSurge: random.between(0, 3), maxUnavailable: random.between(0, 3) });
    let current: Scaled = { replicas: 0, available: 0 };
    let old: Scaled[] = Array.from({ length: random.between(0, 3) }, () => {
      const replicas = random.between(0, 3);
      return { replicas, available: random.between(0, replicas) };
    });
    const all = () => [current, ...old];
    const sum = (field: keyof Scaled) => all().reduce((total, set) => total + set[field], 0);
    for (let step = 0; step < 200; step++) {
      const before = { total: sum('replicas'), available: sum('available') };
      const next = nextCounts(wanted, room, current, old);
      const shrunk = (set: Scaled, replicas: number) => ({ replicas, available: Math.min(set.available, replicas) });
      current = shrunk(current, next.current);
      old = old.map((set, index) => shrunk(set, next.old[index] ?? 0));
      const most = Math.max(before.total, wanted + room.maxSurge);
      if (sum('replicas') > most) t.fail(`seed ${seed}: ${sum('replicas')} pods of at most ${most}`);
      const least = Math.min(before.available, wanted - room.maxUnavailable);
      if (sum('available') < least) t.fail(`seed ${seed}: ${sum('available')} of at least ${least} serve`);
      if (current.available < current.replicas && random.between(0, 1) === 1) {
        current = { ...current, available: current.available + 1 };
      }
    }
    if (current.available !== wanted || old.some(({ replicas }) => replicas > 0)) t.fail(`seed ${seed} does not end`);
  }
});
