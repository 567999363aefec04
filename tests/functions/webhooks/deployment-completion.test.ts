import type { Pool } from 'pg';
import t from 'tap';
import { createDeploymentWaiter } from '../../../functions/webhooks/deployment-completion.ts';
import { newId, type Id } from '../../../runtime/domain/ids.ts';
import { fakeClock, settle } from '../../support/clock.ts';

/** A waiter on a stopped clock, over a database with one deployment, which a test ends. */
function rig() {
  const clock = fakeClock();
  const id = newId();
  const deployment = { id, state: 'accepted' };
  let reads = 0;
  const query = (_text: string, values: readonly Id[]) => {
    reads++;
    return Promise.resolve({ rows: values[0] === id ? [{ ...deployment }] : [] });
  };
  const waiter = createDeploymentWaiter({ pool: { query } as unknown as Pool, clock });
  const states: string[] = [];
  return {
    clock,
    id,
    waiter,
    reads: () => reads,
    /** The states that the waits resolved to, in their order. */
    states,
    /** Starts a wait of a minute for the deployment of an app. */
    wait: async (workloadId: Id, signal = new AbortController().signal) => {
      void waiter.wait(id, { workloadId, ms: 60_000, signal }).then((end) => states.push(end?.state ?? 'none'));
      await settle();
    },
    end: async () => {
      deployment.state = 'failed';
      waiter.notified(id);
      await settle();
    },
  };
}

t.test('a wait reads the deployment once, again when it ends, and every 15 s for a lost notification', async (t) => {
  const { clock, waiter, wait, end, reads, states } = rig();
  await wait(newId());
  t.equal(reads(), 1);
  waiter.notified(newId());
  await clock.advance(14_999);
  t.equal(reads(), 1, 'the end of another deployment');
  await clock.advance(1);
  t.equal(reads(), 2);
  t.same(states, []);
  await end();
  t.equal(reads(), 3);
  t.same(states, ['failed']);
  t.equal(clock.sleepers(), 0);
});

t.test('a wait ends with the current state after its time, and at once for an unknown deployment', async (t) => {
  const { clock, waiter, wait, states } = rig();
  await wait(newId());
  await clock.advance(59_999);
  t.same(states, []);
  await clock.advance(1);
  t.same(states, ['accepted']);
  const { signal } = new AbortController();
  t.equal(await waiter.wait(newId(), { workloadId: newId(), ms: 60_000, signal }), undefined);
});

t.test('at most 20 requests wait for one app; others get the current state at once', async (t) => {
  const { clock, wait, end, states } = rig();
  const [app, other] = [newId(), newId()];
  for (let count = 0; count < 20; count++) await wait(app);
  t.equal(clock.sleepers(), 20);
  t.same(states, []);
  await wait(app);
  t.same(states, ['accepted']);
  await wait(other);
  t.equal(clock.sleepers(), 21, 'another app');
  await end();
  t.same(states.slice(1), Array<string>(21).fill('failed'));
  t.equal(clock.sleepers(), 0);
});

t.test('at most 200 requests wait in all, and one that leaves makes room for one', async (t) => {
  const { clock, wait, states } = rig();
  const apps = Array.from({ length: 10 }, () => newId());
  const [first = newId()] = apps;
  const leaving = new AbortController();
  await wait(first, leaving.signal);
  for (const app of apps) for (let count = app === first ? 1 : 0; count < 20; count++) await wait(app);
  t.equal(clock.sleepers(), 200);
  t.same(states, []);
  await wait(newId());
  t.same(states.splice(0), ['accepted'], 'the next one does not wait');
  leaving.abort();
  await settle();
  t.same(states.splice(0), ['accepted']);
  t.equal(clock.sleepers(), 199);
  await wait(first);
  t.equal(clock.sleepers(), 200);
  await wait(first);
  t.same(states, ['accepted']);
});

t.test('an app whose waits have ended may have 20 again', async (t) => {
  const { clock, wait, states } = rig();
  const app = newId();
  for (let round = 1; round <= 2; round++) {
    for (let count = 0; count < 20; count++) await wait(app);
    t.equal(clock.sleepers(), 20);
    await wait(app);
    t.equal(states.splice(0).length, 1, 'one too many');
    await clock.advance(60_000);
    t.equal(states.splice(0).length, 20);
  }
});
