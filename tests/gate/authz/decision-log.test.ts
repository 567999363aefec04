import t, { type Test } from 'tap';
import { createDecisionLog } from '../../../gate/authz/decision-log.ts';
import type { KeyFault, Verdict } from '../../../gate/authz/verdict.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { fakeClock } from '../../support/clock.ts';

const app = { environmentId: newId(), namespace: 'shop-prod', name: 'api' };
const request = { headers: { 'x-forwarded-for': '203.0.113.7' }, socket: { remoteAddress: '10.0.0.1' } };
const deny = (fault: KeyFault = 'unknown'): Verdict => ({ decision: 'deny_key', app, fault, handle: 'abcd1234' });

interface Entry {
  level: string;
  msg: string;
  reason?: string;
  fault?: string;
  count?: number;
  client_ip?: string;
  forwarded_for?: string;
}

function rig(t: Test) {
  const clock = fakeClock();
  const entries: Entry[] = [];
  const output = { full: false };
  const log = createDecisionLog(
    'svc-authz',
    {
      write(line) {
        if (output.full) return false;
        entries.push(JSON.parse(line) as Entry);
        return true;
      },
    },
    clock,
  );
  t.teardown(() => log.close());
  return {
    clock,
    log,
    output,
    /** Returns the entries since the last call. */
    written: () => entries.splice(0),
    many: (count: number, verdict: Verdict) => {
      for (let index = 0; index < count; index++) log.record(verdict, request);
    },
  };
}

t.test(
  'up to a thousand denials a second are logged one by one, and the others summarized by reason each second',
  async (t) => {
    const { clock, log, written, many } = rig(t);
    many(5_000, deny());
    many(70, deny('expired'));
    many(30, { decision: 'unavailable' });
    t.equal(clock.sleepers(), 1);
    const own = written();
    t.equal(own.length, 1_000);
    t.ok(own.every(({ msg, client_ip: ip, count }) => msg === 'authorize deny' && ip === '203.0.113.7' && !count));

    await clock.advance(1_000);
    const sums = written().map(({ msg, reason, fault, count }) => ({ msg, reason, fault, count }));
    const msg = 'authorize deny';
    t.same(sums, [
      { msg, reason: 'deny_key', fault: 'unknown', count: 4_000 },
      { msg, reason: 'deny_key', fault: 'expired', count: 70 },
      { msg, reason: 'unavailable', fault: undefined, count: 30 },
    ]);

    many(1, deny());
    t.equal(written().length, 1, 'a second later there is room again');
    await clock.advance(5_000);
    t.same(written(), [], 'without more denials there is no summary');
    t.equal(clock.sleepers(), 0);

    many(1_500, deny());
    t.equal(written().length, 1_000, 'unused room does not accumulate');
    await clock.advance(1_000);
    t.match(written(), [{ reason: 'deny_key', fault: 'unknown', count: 500 }], 'the next summary');
    many(1_200, deny());
    t.equal(written().length, 1_000);
    log.close();
    t.match(written(), [{ reason: 'deny_key', fault: 'unknown', count: 200 }], 'closing writes the summary at once');
  },
);

t.test('allows do not use up the denials’ room, and are never summarised', async (t) => {
  const { clock, written, many, output } = rig(t);
  const allow = { decision: 'allow', app, key: { handle: 'abcd1234' } } as Verdict;
  many(1, allow);
  t.equal(written().length, 1, 'the first');
  many(199_999, allow);
  const allows = written();
  t.equal(allows.length, 1_999, 'one in a hundred');
  t.ok(allows.every(({ msg, reason }) => msg === 'authorize allow' && !reason));
  many(1_000, { decision: 'preflight', app });
  many(1_001, deny('disabled'));
  t.equal(written().length, 1_000);
  output.full = true;
  many(1, { decision: 'misconfigured' });
  output.full = false;
  await clock.advance(1_000);
  t.match(
    written().map(({ reason, count }) => [reason, count]),
    [
      ['deny_key', 1],
      ['misconfigured', 1],
    ],
  );
});

t.test('addresses that a client makes up are cut', (t) => {
  const { log, written } = rig(t);
  const fields = (forwardedFor: string) => {
    log.record(deny(), { ...request, headers: { 'x-forwarded-for': forwardedFor } });
    const [entry] = written();
    return [entry?.client_ip, entry?.forwarded_for];
  };
  t.same(fields(' 198.51.100.1 , 10.0.0.1'), ['198.51.100.1', ' 198.51.100.1 , 10.0.0.1'], 'the leftmost hop');
  t.same(fields(', 10.0.0.1'), ['', ', 10.0.0.1'], 'an empty one');
  t.same(fields('x'.repeat(300)), ['x'.repeat(64), 'x'.repeat(256)]);
  // 301 characters of 601 bytes.
  t.same(fields(`x${'é'.repeat(300)}`), [`x${'é'.repeat(63)}`, `x${'é'.repeat(127)}`], 'between two characters');
  t.same(fields(`xx${'é'.repeat(300)}`), [`xx${'é'.repeat(62)}`, `xx${'é'.repeat(127)}`]);
  t.end();
});

t.test('entries that the output does not accept are summarised once it does', async (t) => {
  const { clock, written, many, output } = rig(t);
  output.full = true;
  many(10, deny());
  await clock.advance(3_000);
  t.same(written(), []);
  many(5, deny());
  output.full = false;
  await clock.advance(1_000);
  t.match(written(), [{ level: 'warn', reason: 'deny_key', fault: 'unknown', count: 15 }]);
  t.equal(clock.sleepers(), 0);
});
