import t from 'tap';
import { createReadiness } from '../../../gate/authz/readiness.ts';
import { freshnessCeilingMs, type GateView } from '../../../gate/authz/view.ts';
import { fakeClock } from '../../support/clock.ts';

t.test('a replica is ready with its first view, or without one when no replica can have a fresh one', async (t) => {
  const clock = fakeClock();
  let position: ReturnType<GateView['position']>;
  const view = { position: () => position };
  const ready = createReadiness(view, clock);
  t.notOk(ready());
  await clock.advance(freshnessCeilingMs - 1);
  t.notOk(ready(), 'the others may still have a fresh view');
  await clock.advance(1);
  t.ok(ready(), 'it answers 503, because otherwise the ingress has no replica at all');

  const loaded = createReadiness(view, clock);
  t.notOk(loaded());
  position = { feed: { feedId: 'f', version: 1, token: null }, usage: { version: 0, token: null } };
  t.ok(loaded());
  await clock.advance(10 * freshnessCeilingMs);
  t.ok(loaded(), 'also when the view is stale');
});
