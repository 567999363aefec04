import t from 'tap';
import { generateApiKey, parseApiKey } from '../../../runtime/domain/api-key.ts';
import { createProbeCheck, createProbeSigner } from '../../../runtime/domain/gate-probe.ts';
import { fakeClock } from '../../support/clock.ts';

const key = 'a key of the installation';

t.test('a signature holds for its workload, about two minutes, and for clocks that differ', async (t) => {
  const clock = fakeClock(new Date('2026-01-01T00:00:59Z'));
  const sign = createProbeSigner(key, clock);
  const check = createProbeCheck(key, clock);
  const sent = sign('a');
  t.ok(check(sent, 'a'));
  t.ok(check(sent, 'a'), 'again');
  t.notOk(check(sent, 'b'));
  await clock.advance(60_000);
  t.ok(check(sent, 'a'));
  await clock.advance(60_000);
  t.notOk(check(sent, 'a'));
  const behind = createProbeCheck(key, fakeClock(new Date('2026-01-01T00:02:00Z')));
  t.ok(behind(sign('a'), 'a'));
});

t.test('a signature is no API key, and API keys are no signatures', (t) => {
  const clock = fakeClock();
  t.equal(parseApiKey(createProbeSigner(key, clock)('a')), undefined);
  t.notOk(createProbeCheck(key, clock)(generateApiKey().key, 'a'));
  t.end();
});

t.test('attack: names without end take no memory without end', (t) => {
  const clock = fakeClock();
  const sign = createProbeSigner(key, clock);
  const check = createProbeCheck(key, clock);
  const window = sign('a').split('.')[1] ?? '';
  for (let index = 0; index < 30_000; index++) check(`svc-probe.${window}.x`, `app-${index}`);
  t.notOk(check(sign('one-more'), 'one-more'), 'it is then logged as any denial');
  t.ok(check(sign('app-7'), 'app-7'));
  t.end();
});
