import t, { type Test } from 'tap';
import { createDecisionLog } from '../../../gate/authz/decision-log.ts';
import type { KeyFault, Verdict } from '../../../gate/authz/verdict.ts';
import { generateApiKey, parseApiKey } from '../../../runtime/domain/api-key.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import type { AddressMatcher } from '../../../runtime/domain/address.ts';
import { fakeClock } from '../../support/clock.ts';

const app = { environmentId: newId(), namespace: 'shop-prod', name: 'api' };
const sentKey = generateApiKey().key;
const request = {
  headers: { 'x-forwarded-for': '203.0.113.7', 'x-api-key': sentKey },
  socket: { remoteAddress: '10.0.0.1' },
};
const deny = (fault: KeyFault = 'unknown'): Verdict => ({ decision: 'deny_key', app, fault, handle: 'abcd1234' });
const allow = { decision: 'allow', app, key: { handle: 'abcd1234' } } as Verdict;

function rig(t: Test) {
  const entries: Record<string, unknown>[] = [];
  const log = createDecisionLog({
    name: 'svc-authz',
    output: { write: (line) => entries.push(JSON.parse(line) as Record<string, unknown>) > 0 },
    clock: fakeClock(),
    onLost: () => undefined,
  });
  t.teardown(() => log.close());
  return {
    log,
    /** Returns the entries since the last call. */
    written: () => entries.splice(0),
    many: (count: number, verdict: Verdict) => {
      for (let index = 0; index < count; index++) log.record(verdict, request);
    },
  };
}

t.test('a denial is logged with client, key, reason and app', (t) => {
  const { written, many } = rig(t);
  many(1, deny('expired'));
  t.match(written(), [
    {
      level: 'info',
      name: 'svc-authz',
      time: '2026-01-01T00:00:00.000Z',
      msg: 'authorize deny',
      client_ip: '203.0.113.7',
      key_prefix: 'abcd1234',
      reason: 'deny_key',
      fault: 'expired',
      app: 'shop-prod/api',
      forwarded_for: '203.0.113.7',
    },
  ]);
  many(1, { decision: 'unavailable' });
  const [entry] = written();
  t.match(entry, { reason: 'unavailable', key_prefix: parseApiKey(sentKey)?.handle, client_ip: '203.0.113.7' });
  t.notMatch(JSON.stringify(entry), sentKey);
  t.end();
});

t.test('one in a hundred allowed requests is logged, and no preflight', (t) => {
  const { written, many } = rig(t);
  many(1, allow);
  const first = written();
  t.equal(first.length, 1, 'the first');
  t.match(first, [{ key_prefix: 'abcd1234', app: 'shop-prod/api' }]);
  many(199_999, allow);
  const allows = written();
  t.equal(allows.length, 1_999);
  t.ok(allows.every(({ msg, reason }) => msg === 'authorize allow' && !reason));
  many(1_000, { decision: 'preflight', app });
  t.same(written(), []);
  t.end();
});

t.test('a flood of one client counts as one sender, whatever it claims; only trusted proxies report others', (t) => {
  const flood = (trustedProxies?: AddressMatcher) => {
    let lost = 0;
    const log = createDecisionLog({
      name: 'svc-authz',
      output: { write: () => true },
      clock: fakeClock(),
      onLost: () => lost++,
      ...(trustedProxies && { trustedProxies }),
    });
    for (let index = 0; index < 5_000; index++) {
      const chain = `203.0.${index >> 8}.${index & 255}, 198.51.100.9`;
      log.record(deny(), { ...request, headers: { 'x-forwarded-for': chain } });
    }
    log.close();
    return lost;
  };
  t.ok(flood() > 1_000, 'no proxy is trusted by default');
  t.equal(
    flood((address) => address === '198.51.100.9'),
    0,
  );
  t.end();
});
