import t from 'tap';
import {
  createBucket,
  markShared,
  secondsToFull,
  takeForOther,
  takeToken,
  tokensLeft,
  unsharedMax,
} from '../../../gate/authz/rate-limit.ts';

t.test('allows the burst at once, then the rate', (t) => {
  const bucket = createBucket();
  const plan = { requestsPerSecond: 10, burst: 5 };
  let admitted = 0;
  for (let now = 1_000; now < 11_000; now += 1) if (takeToken(bucket, plan, now) === 0) admitted++;
  t.equal(admitted, 5 + 99);
  t.end();
});

t.test('refills up to the burst and no further', (t) => {
  const bucket = createBucket();
  const plan = { requestsPerSecond: 1, burst: 2 };
  t.same(
    [0, 0, 0, 3_600_000, 3_600_000, 3_600_000].map((now) => takeToken(bucket, plan, now)),
    [0, 0, 1, 0, 0, 1],
  );
  t.end();
});

t.test('reports when there is a token again, in whole seconds', (t) => {
  const bucket = createBucket();
  const slow = { requestsPerSecond: 0.1, burst: 1 };
  t.equal(takeToken(bucket, slow, 0), 0);
  t.equal(takeToken(bucket, slow, 0), 10);
  t.equal(takeToken(bucket, slow, 1), 10);
  t.equal(takeToken(bucket, slow, 9_500), 1);
  t.equal(takeToken(bucket, slow, 10_000), 0, 'and then there is one');
  t.end();
});

t.test('does not refill while time does not advance', (t) => {
  const bucket = createBucket();
  const plan = { requestsPerSecond: 1000, burst: 1 };
  t.equal(takeToken(bucket, plan, 5_000), 0);
  t.equal(takeToken(bucket, plan, 4_000), 1);
  t.end();
});

t.test('reports how many tokens remain, and when it is full', (t) => {
  const bucket = createBucket();
  const plan = { requestsPerSecond: 2, burst: 4 };
  t.same([tokensLeft(createBucket(), plan, 0), secondsToFull(createBucket(), plan, 0)], [4, 1]);
  for (let round = 0; round < 3; round++) takeToken(bucket, plan, 0);
  t.same([tokensLeft(bucket, plan, 0), secondsToFull(bucket, plan, 0)], [1, 2]);
  t.same([tokensLeft(bucket, plan, 600), secondsToFull(bucket, plan, 600)], [2, 1]);
  t.same([tokensLeft(bucket, { ...plan, burst: 1 }, 0)], [0], 'a smaller burst');
  takeToken(bucket, plan, 0);
  t.same([tokensLeft(bucket, plan, 0), secondsToFull(bucket, plan, 0)], [0, 2], 'whole seconds are not rounded up');
  t.end();
});

t.test('one of several replicas takes a part of the burst before the others know of it', (t) => {
  const plan = { requestsPerSecond: 1, burst: 12 };
  const most = (replicas: number, limit = plan) => {
    const bucket = createBucket();
    let admitted = 0;
    while (takeToken(bucket, limit, 0, replicas) === 0) admitted++;
    return admitted;
  };
  t.same(
    [1, 2, 3, 4, 5, 100].map((replicas) => most(replicas)),
    [12, 12, 6, 4, 3, 1],
  );
  t.equal(unsharedMax({ requestsPerSecond: 400, burst: 10 }, 5), 20, 'a quarter of a second of the rate, for all');
  t.end();
});

t.test('takes more when the others know of it, and not what they took', (t) => {
  const bucket = createBucket();
  const plan = { requestsPerSecond: 1, burst: 12 };
  const take = (now: number) => {
    let admitted = 0;
    while (takeToken(bucket, plan, now, 4) === 0) admitted++;
    return admitted;
  };
  t.equal(take(0), 4);
  t.equal(takeToken(bucket, plan, 0, 4), 1, 'although the bucket has eight tokens');
  markShared(bucket, 3);
  t.equal(take(0), 3);
  markShared(bucket, 100);
  t.equal(bucket.unshared, 0);
  takeForOther(bucket, plan, 0, 4, 20);
  t.equal(bucket.taken, 27);
  t.equal(tokensLeft(bucket, plan, 0), 0);
  t.equal(take(15_000), 0, 'what was allowed too much is paid back');
  t.equal(takeToken(bucket, plan, 15_000, 4), 1);
  t.equal(take(16_000), 1);
  t.end();
});

t.test('a fiftieth of the rate is never reported', (t) => {
  const bucket = createBucket();
  const plan = { requestsPerSecond: 100, burst: 10 };
  takeToken(bucket, plan, 0, 2);
  takeToken(bucket, plan, 0, 2);
  takeToken(bucket, plan, 1_000, 2);
  t.equal(bucket.unshared, 2, 'one in a second, by two replicas');
  takeToken(bucket, plan, 1_000, 1);
  t.equal(bucket.unshared, 0, 'a replica alone reports nothing');
  t.end();
});
