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

t.test('a signature ends with the window after its own, and none of a later window holds', async (t) => {
  const start = Date.parse('2026-01-01T00:00:00.000Z');
  const at = (ms: number) => fakeClock(new Date(start + ms));
  const sent = createProbeSigner(key, at(0))('a');
  t.ok(createProbeCheck(key, at(119_999))(sent, 'a'));
  t.notOk(createProbeCheck(key, at(120_000))(sent, 'a'));
  t.ok(createProbeCheck(key, at(-1))(sent, 'a'), 'the clock of a checker may be late');
  t.notOk(createProbeCheck(key, at(-60_001))(sent, 'a'));
});

t.test('a changed or incomplete signature does not hold', async (t) => {
  const clock = fakeClock();
  const check = createProbeCheck(key, clock);
  const sent = createProbeSigner(key, clock)('a');
  const [prefix = '', window = '', mac = ''] = sent.split('.');
  for (const text of [
    `svc_probe.${window}.${mac}`,
    `x${sent}`,
    `${sent}x`,
    sent.slice(0, -1),
    `${prefix}.${window}`,
    `${prefix}.${window}.`,
    `${prefix}.${mac}`,
    `${prefix}..${mac}`,
    `${prefix}.${window}.0.${mac}`,
    `${prefix}.${window}.${mac.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))}`,
    createProbeSigner('another key', clock)('a'),
  ]) {
    t.equal(check(text, 'a'), false, text);
  }
  t.equal(check(sent, 'a'), true);
});

t.test('a signature is no API key, and API keys are no signatures', (t) => {
  const clock = fakeClock();
  t.equal(parseApiKey(createProbeSigner(key, clock)('a')), undefined);
  t.notOk(createProbeCheck(key, clock)(generateApiKey().key, 'a'));
  t.end();
});

t.test('attack: names without end take no memory without end', async (t) => {
  const clock = fakeClock();
  const sign = createProbeSigner(key, clock);
  const check = createProbeCheck(key, clock);
  const window = sign('a').split('.')[1] ?? '';
  for (let index = 0; index < 30_000; index++) check(`svc-probe.${window}.${'x'.repeat(43)}`, `app-${index}`);
  t.notOk(check(sign('one-more'), 'one-more'), 'it is then logged as any denial');
  t.ok(check(sign('app-7'), 'app-7'));
  await clock.advance(60_000);
  t.ok(check(sign('one-more'), 'one-more'), 'a minute later the names are forgotten');
});
