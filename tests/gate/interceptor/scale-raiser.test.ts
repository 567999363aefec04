import t from 'tap';
import { createScaleRaiser } from '../../../gate/interceptor/scale-raiser.ts';
import { fakeClock } from '../../support/clock.ts';
import { silentLog } from '../../support/log.ts';
import { testScale } from './world.ts';

const target = { namespace: 'shop-prod', name: 'hello' };

t.test('the scale is checked less often the longer requests wait, and not after they are answered', async (t) => {
  const clock = fakeClock();
  const scale = testScale(1);
  const checks: number[] = [];
  const getScale = (namespace: string, name: string) => {
    checks.push(clock.monotonic());
    return scale.getScale(namespace, name);
  };
  const answered = new AbortController();
  createScaleRaiser({ kube: { ...scale, getScale }, clock, log: silentLog })(target, answered.signal);
  await clock.advance(16_000);
  t.same(checks, [0, 500, 1_500, 3_500, 7_500, 11_500, 15_500]);
  answered.abort();
  await clock.advance(16_000);
  t.equal(checks.length, 7);
});

t.test('a function that goes to zero while requests wait is raised with the next check', async (t) => {
  const clock = fakeClock();
  const scale = testScale(1);
  const answered = new AbortController();
  const progress = createScaleRaiser({ kube: scale, clock, log: silentLog })(target, answered.signal);
  await clock.advance(100);
  t.equal(progress.raisedAt, undefined);
  scale.replicas = 0;
  await clock.advance(400);
  t.equal(progress.raisedAt, 500);
  t.same(scale.writes, [1]);
  answered.abort();
});
