import t from 'tap';
import { nextReplicas, rolloutLimits, type ReplicaCounts } from '../../../../infra/local/controllers/rolling-update.ts';
import { seededRandom } from '../../../support/random.ts';

t.test('percentages refer to the desired count; zero for both would never end', async (t) => {
  t.same(rolloutLimits(4), { maxSurge: 1, maxUnavailable: 1 });
  t.same(rolloutLimits(1), { maxSurge: 1, maxUnavailable: 0 });
  t.same(rolloutLimits(10, { maxSurge: '11%', maxUnavailable: '19%' }), { maxSurge: 2, maxUnavailable: 1 });
  t.same(rolloutLimits(3, { maxSurge: 0, maxUnavailable: 0 }), { maxSurge: 0, maxUnavailable: 1 });
});

t.test('an old pod is removed only when a new one is available', async (t) => {
  const room = { maxSurge: 1, maxUnavailable: 0 };
  const old = (replicas: number) => [{ replicas, available: replicas }];
  t.same(nextReplicas(2, room, { replicas: 0, available: 0 }, old(2)), { current: 1, old: [2] });
  t.same(nextReplicas(2, room, { replicas: 1, available: 0 }, old(2)), { current: 1, old: [2] });
  t.same(nextReplicas(2, room, { replicas: 1, available: 1 }, old(2)), { current: 1, old: [1] });
  t.same(nextReplicas(2, room, { replicas: 2, available: 2 }, old(1)), { current: 2, old: [0] });
});

t.test('old pods that are not available are removed at once', async (t) => {
  const room = { maxSurge: 1, maxUnavailable: 0 };
  const broken = [{ replicas: 1, available: 0 }];
  t.same(nextReplicas(1, room, { replicas: 1, available: 0 }, [...broken, { replicas: 1, available: 1 }]), {
    current: 1,
    old: [0, 1],
  });
});

t.test('under random events the bounds hold and the rollout ends', async (t) => {
  for (let seed = 1; seed <= 300; seed++) {
    const random = seededRandom(seed);
    const desired = random.between(0, 6);
    const room = rolloutLimits(desired, { maxSurge: random.between(0, 3), maxUnavailable: random.between(0, 3) });
    let current: ReplicaCounts = { replicas: 0, available: 0 };
    let old: ReplicaCounts[] = Array.from({ length: random.between(0, 3) }, () => {
      const replicas = random.between(0, 3);
      return { replicas, available: random.between(0, replicas) };
    });
    const all = () => [current, ...old];
    const sum = (field: keyof ReplicaCounts) => all().reduce((total, set) => total + set[field], 0);
    for (let step = 0; step < 200; step++) {
      const before = { total: sum('replicas'), available: sum('available') };
      const next = nextReplicas(desired, room, current, old);
      const shrunk = (set: ReplicaCounts, replicas: number) => ({
        replicas,
        available: Math.min(set.available, replicas),
      });
      current = shrunk(current, next.current);
      old = old.map((set, index) => shrunk(set, next.old[index] ?? 0));
      const maxPods = Math.max(before.total, desired + room.maxSurge);
      if (sum('replicas') > maxPods) t.fail(`seed ${seed}: ${sum('replicas')} pods of at most ${maxPods}`);
      const least = Math.min(before.available, desired - room.maxUnavailable);
      if (sum('available') < least) t.fail(`seed ${seed}: ${sum('available')} of at least ${least} serve`);
      if (current.available < current.replicas && random.between(0, 1) === 1) {
        current = { ...current, available: current.available + 1 };
      }
    }
    if (current.available !== desired || old.some(({ replicas }) => replicas > 0)) t.fail(`seed ${seed} does not end`);
  }
});
