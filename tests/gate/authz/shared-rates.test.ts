import t from 'tap';
import { generateApiKey } from '../../../runtime/domain/api-key.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { fakeClock } from '../../support/clock.ts';
import { bench, changeOf, keyRow, planRow, request } from './records.ts';

/** Two replicas share a plan with a burst of 40, so that each may take 40 tokens of a key before a report. */
function rig({ replicas = 2, connected = true } = {}) {
  const clock = fakeClock();
  const gate = bench({ clock });
  const secrets = [generateApiKey(), generateApiKey(), generateApiKey()];
  const keys = secrets.map((secret) => keyRow({}, secret));
  gate.load({ plans: [planRow({ requestsPerSecond: 1, burst: 40 })], keys });
  gate.view.provenAt(0);
  const { rates } = gate;
  const woken: boolean[] = [];
  rates.onDue((urgent) => woken.push(urgent));
  if (replicas > 1) rates.counted(replicas);
  if (connected) rates.connected(true);
  const moment = { monotonic: clock.monotonic(), wall: 0 };
  return {
    gate,
    rates,
    keys,
    /** How the takings of requests since the last call woke the exchange. */
    take: (times: number, index = 0): boolean[] => {
      for (let turn = 0; turn < times; turn++) gate.check(request({ apiKey: secrets[index]?.key ?? '' }), moment);
      return woken.splice(0);
    },
    unshared: (index = 0) => gate.view.bucket({ slot: gate.slots.find(keys[index]?.id ?? newId()) }).unshared,
  };
}

t.test('a key is reported from a fourth of its unshared maximum on, and without delay from half of it on', (t) => {
  const { take, rates, keys } = rig();
  t.same(take(9), []);
  t.same(rates.collect(10), []);
  t.same(take(1), [false], 'the tenth of 40');
  t.same(take(9), Array(9).fill(false));
  t.same(take(1), [true], 'the twentieth');
  t.same(rates.collect(10), [{ keyId: keys[0]?.id, tokens: 20 }]);
  t.same(rates.collect(10), [], 'each once');
  t.end();
});

t.test('a report has at most as many keys as wanted, and the others come next', (t) => {
  const { take, rates, keys } = rig();
  for (const index of [0, 1, 2]) take(10 + index, index);
  const all = keys.map(({ id }, index) => ({ keyId: id, tokens: 10 + index }));
  t.same(rates.collect(2), all.slice(0, 2));
  t.same(rates.collect(2), all.slice(2));
  t.end();
});

t.test('what the others know of is not reported again', (t) => {
  const { take, rates, keys, unshared } = rig();
  take(15);
  const taken = rates.collect(10);
  take(1);
  rates.reported(taken);
  t.equal(unshared(), 1);
  t.same(rates.collect(10), [{ keyId: keys[0]?.id, tokens: 1 }], 'it was due before the report');
  rates.reported([{ keyId: keys[0]?.id ?? newId(), tokens: 1 }]);
  take(9);
  rates.reported([{ keyId: keys[0]?.id ?? newId(), tokens: 9 }]);
  t.same(rates.collect(10), [], 'nothing is left of a key');
  t.end();
});

t.test('a key that was deleted meanwhile is not reported', (t) => {
  const { gate, take, rates, keys } = rig();
  take(15);
  const taken = rates.collect(10);
  take(10, 1);
  gate.view.apply(changeOf({ gone: { plans: [], keys: keys.map(({ id }) => id), apps: [] } }));
  rates.reported(taken);
  t.same(rates.collect(10), []);
  for (const { id } of keys) rates.received({ keyId: id, tokens: 5 });
  t.end();
});

t.test('a replica that limits on its own has nothing to report', (t) => {
  for (const alone of [{ replicas: 1 }, { connected: false }]) {
    const { take, rates } = rig(alone);
    t.same(take(30), []);
    t.same(rates.collect(10), []);
    t.equal(rates.replicas(), 1);
  }
  const { take, rates, unshared } = rig();
  take(30);
  rates.connected(false);
  t.same(rates.collect(10), [], 'not any more');
  t.equal(unshared(), 30);
  rates.connected(true);
  t.equal(unshared(), 0, 'tokens that were taken before sharing began are not reported');
  t.same(take(9), []);
  t.equal(unshared(), 9);
  rates.counted(3);
  t.equal(unshared(), 9, 'another replica changes nothing of it');
  t.end();
});
