import type { Pool } from 'pg';
import t from 'tap';
import { createRecordWait } from '../../../functions/webhooks/record-wait.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { fakeClock } from '../../support/clock.ts';

/** A wait that has begun on a stopped clock, for an app that is recorded at a time in ms. */
function rig(recordedAt: number, signal = new AbortController().signal) {
  const clock = fakeClock();
  const state = { reads: 0, ended: false };
  const query = () => {
    state.reads++;
    return Promise.resolve({ rowCount: clock.monotonic() >= recordedAt ? 1 : 0 });
  };
  const untilRecorded = createRecordWait({ pool: { query } as unknown as Pool, clock });
  void untilRecorded(newId(), signal).then(() => (state.ended = true));
  return { clock, state };
}

t.test('an app that is recorded is not waited for', async (t) => {
  const { clock, state } = rig(0);
  await clock.advance(0);
  t.same(state, { reads: 1, ended: true });
});

t.test('a new app is looked for every 100 ms until it is recorded', async (t) => {
  const { clock, state } = rig(250);
  await clock.advance(299);
  t.same(state, { reads: 3, ended: false });
  await clock.advance(1);
  t.same(state, { reads: 4, ended: true });
});

t.test('the wait ends after 5 s, and when the client disconnects', async (t) => {
  const { clock, state } = rig(Infinity);
  await clock.advance(4_999);
  t.same(state, { reads: 50, ended: false });
  await clock.advance(1);
  t.same(state, { reads: 51, ended: true });

  const leaving = new AbortController();
  const left = rig(Infinity, leaving.signal);
  await left.clock.advance(150);
  leaving.abort();
  await left.clock.advance(0);
  t.equal(left.state.ended, true);
  t.equal(left.clock.sleepers(), 0);
});
