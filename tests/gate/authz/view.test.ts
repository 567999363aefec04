import t from 'tap';
import { apiKeyDigest, generateApiKey } from '../../../runtime/domain/api-key.ts';
import type { KeyRow } from '../../../gate/authz/gate-store.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { app, bench, changeOf, environmentId, keyRow, planRow } from './records.ts';

/** A view with three keys, whose slots are 1 to 3. */
function rig() {
  const gate = bench();
  const secrets = [generateApiKey(), generateApiKey(), generateApiKey()];
  const keys = secrets.map((secret) => keyRow({}, secret));
  const load = (rows: typeof keys) => gate.load({ plans: [planRow()], keys: rows });
  load(keys);
  const keyAt = (index: number) => {
    const key = gate.view.key(keys[index]?.handle ?? '');
    if (!key) throw new Error('the key is loaded');
    return key;
  };
  const bucket = (index: number) => ({ ...gate.view.bucket(keyAt(index)) });
  const all = () => keys.map((_, index) => bucket(index));
  keys.forEach((_, index) => gate.view.keepBucket(keyAt(index), { taken: 10 + index, at: 20, unshared: 5 + index }));
  return { view: gate.view, keys, secrets, load, all, keyAt };
}

t.test('each key has a bucket of its own, and all forget at once what the others do not know of', (t) => {
  const { view, all } = rig();
  t.same(
    all(),
    [0, 1, 2].map((index) => ({ taken: 10 + index, at: 20, unshared: 5 + index })),
  );
  view.forgetUnshared();
  t.same(
    all(),
    [0, 1, 2].map((index) => ({ taken: 10 + index, at: 20, unshared: 0 })),
  );
  t.end();
});

t.test('a load keeps the buckets of the keys in it, and no other', (t) => {
  const full = { taken: 0, at: 0, unshared: 0 };
  for (const stays of [0, 1, 2]) {
    const { keys, load, all } = rig();
    const before = all();
    load(keys.filter((_, index) => index === stays));
    load(keys);
    t.same(
      all(),
      before.map((bucket, index) => (index === stays ? bucket : full)),
    );
  }
  t.end();
});

t.test('without a key, no digest matches: neither one of zeros nor that of another key', (t) => {
  const { view, secrets, keyAt } = rig();
  t.equal(view.matches(undefined, new Uint8Array(32)), false);
  for (const [index, { key }] of secrets.entries()) {
    t.equal(view.matches(undefined, apiKeyDigest(key)), false);
    t.equal(view.matches(keyAt(index), apiKeyDigest(key)), true);
    t.equal(view.matches(keyAt((index + 1) % 3), apiKeyDigest(key)), false);
  }
  t.end();
});

t.test('keys without a property of their own share their terms, which follow their plan', (t) => {
  const gate = bench();
  const [plan, otherPlan] = [planRow(), planRow({ id: newId() })];
  const rows = {
    usual: {},
    equal: {},
    disabled: { enabled: false },
    scoped: { scope: [app.id] },
    local: { allowedCidrs: ['192.0.2.0/24'] },
    expiring: { expiresAt: 1 },
    other: { planId: otherPlan.id },
    foreign: { environmentId: newId() },
  };
  const keys = Object.values(rows).map((change) => keyRow(change, generateApiKey()));
  const terms = () => keys.map(({ handle }) => gate.view.key(handle)?.terms);
  gate.load({ plans: [plan, otherPlan], keys });
  const [usual, equal, ...others] = terms();
  t.equal(usual, equal);
  t.equal(new Set([usual, ...others]).size, keys.length - 1);
  t.match(usual, { environmentId, enabled: true, scope: undefined, addresses: undefined, expiresAt: Infinity });
  t.match(others, [
    { enabled: false },
    { scope: new Set([app.id]) },
    { addresses: Function },
    { expiresAt: 1 },
    { plan: gate.view.plan(otherPlan.id) },
    { environmentId: rows.foreign.environmentId },
  ]);
  gate.view.apply(changeOf({ plans: [{ ...plan, burst: 77 }], keys: [{ ...keys[1], enabled: false } as KeyRow] }));
  const [first, second, disabled] = terms();
  t.equal(first, usual);
  t.equal(first?.plan.burst, 77);
  t.equal(second, disabled);
  t.end();
});
