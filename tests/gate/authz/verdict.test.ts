import t from 'tap';
import { limitField } from '../../../gate/authz/limit-fields.ts';
import { policyField } from '../../../gate/authz/plan.ts';
import type { KeyRow } from '../../../gate/authz/gate-store.ts';
import { createRequestCheck, type GateRequest } from '../../../gate/authz/verdict.ts';
import { encodeHeaderText } from '../../../gate/authz/view.ts';
import { apiKeyDigest, generateApiKey } from '../../../runtime/domain/api-key.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import {
  bench,
  brief,
  changeOf,
  foreignApp,
  app,
  good,
  keyRow,
  otherApp,
  planId,
  planRow,
  position,
  request,
} from './records.ts';

const { key, handle } = good;
const wall = Date.parse('2026-03-01T12:00:00Z');
const at = (monotonic: number, ms = wall) => ({ monotonic, wall: ms });

t.test('decisions', (t) => {
  const expired = { expiresAt: wall };
  const alive = { expiresAt: wall + 1 };
  const unknown = generateApiKey().key;
  const inside = { allowedCidrs: ['203.0.113.0/24', '2001:db8::/32'] };
  const table: [string, Partial<KeyRow>, Partial<GateRequest>, string][] = [
    ['a good key', {}, {}, 'allow'],
    ['no app in the address', {}, { appId: undefined }, 'misconfigured'],
    ['an empty app', {}, { appId: '' }, 'misconfigured'],
    ['an unknown app', {}, { appId: newId() }, 'misconfigured'],
    ['an unknown app and no key', {}, { appId: newId(), apiKey: undefined }, 'misconfigured'],
    ['no key', {}, { apiKey: undefined }, 'deny_key missing'],
    ['an empty key', {}, { apiKey: '' }, 'deny_key missing'],
    ['garbage', {}, { apiKey: 'letmein' }, 'deny_key malformed'],
    ['a bad checksum', {}, { apiKey: key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a') }, 'deny_key malformed'],
    ['two keys', {}, { apiKey: `${key}, ${key}` }, 'deny_key malformed'],
    ['an unknown key', {}, { apiKey: unknown }, 'deny_key unknown'],
    ['a known handle with another secret', { digest: apiKeyDigest(unknown) }, {}, 'deny_key unknown'],
    ['a digest of nothing', { digest: new Uint8Array(32) }, {}, 'deny_key unknown'],
    ['an app of another environment', {}, { appId: foreignApp.id }, 'deny_key other_environment'],
    ['a disabled key', { enabled: false }, {}, 'deny_key disabled'],
    ['a key that expires this very moment', expired, {}, 'deny_key expired'],
    ['a key that expires in a moment', alive, {}, 'allow'],
    ['an app in scope', { scope: [otherApp.id, app.id] }, {}, 'allow'],
    ['an app out of scope', { scope: [otherApp.id] }, {}, 'deny_key out_of_scope'],
    ['a scope whose apps are all gone', { scope: [] }, {}, 'deny_key out_of_scope'],
    ['a client inside of the allow-list', inside, {}, 'allow'],
    ['a client inside of it by IPv6', inside, { forwardedFor: '2001:db8::1' }, 'allow'],
    ['a client outside of it', inside, { forwardedFor: '203.0.114.1' }, 'deny_key address'],
    ['a client that makes up its address', inside, { forwardedFor: '203.0.113.7, 198.51.100.1' }, 'deny_key address'],
    ['a client behind a trusted proxy', inside, { forwardedFor: '203.0.113.7, 10.0.0.9' }, 'allow'],
    ['behind two of them', inside, { forwardedFor: '203.0.113.7, 10.0.0.8,10.0.0.9' }, 'allow'],
    [
      'behind one that another makes up',
      inside,
      { forwardedFor: '203.0.113.7, 10.0.0.8, 8.8.8.8' },
      'deny_key address',
    ],
    ['a client without an address', inside, { forwardedFor: undefined }, 'deny_key address'],
    ['a client whose address is none', inside, { forwardedFor: '203.0.113.999' }, 'deny_key address'],
    ['the address last: a disabled key', { ...inside, enabled: false }, { forwardedFor: '' }, 'deny_key disabled'],
    ['the secret first', { ...inside, digest: apiKeyDigest(unknown) }, { forwardedFor: '' }, 'deny_key unknown'],
    ['OPTIONS', {}, { apiKey: undefined, method: 'OPTIONS' }, 'deny_key missing'],
    ['OPTIONS with a good key', {}, { method: 'OPTIONS' }, 'allow'],
    ['a preflight', {}, { apiKey: undefined, method: 'OPTIONS', preflightMethod: 'PUT' }, 'preflight'],
    [
      'an empty preflight method',
      {},
      { apiKey: undefined, method: 'OPTIONS', preflightMethod: '' },
      'deny_key missing',
    ],
    ['a GET that looks like a preflight', {}, { apiKey: undefined, preflightMethod: 'PUT' }, 'deny_key missing'],
    ['two methods', {}, { apiKey: undefined, method: 'OPTIONS, GET', preflightMethod: 'PUT' }, 'deny_key missing'],
    ['a preflight for an unknown app', {}, { appId: 'x', method: 'OPTIONS', preflightMethod: 'PUT' }, 'misconfigured'],
    ['a revoked key, whose handle no longer exists', { handle: 'zzzzzzzz' }, {}, 'deny_key unknown'],
  ];
  for (const [name, row, change, expected] of table) {
    const gate = bench({ trustedProxies: ['10.0.0.0/8'] });
    gate.load({ keys: [keyRow(row)] });
    gate.view.provenAt(0);
    t.equal(brief(gate.check(request(change), at(1))), expected, name);
  }
  t.end();
});

t.test('a verdict has a handle only when the key was well-formed', (t) => {
  const gate = bench();
  gate.load({ keys: [] });
  gate.view.provenAt(0);
  const denied = (apiKey: string) => {
    const verdict = gate.check(request({ apiKey }), at(1));
    return verdict.decision === 'deny_key' ? verdict.handle : 'allowed';
  };
  t.equal(denied(key), handle);
  t.equal(denied(`svc_${handle}_${'0'.repeat(46)}`), undefined);
  t.end();
});

t.test('a well-formed key costs the same work whatever the reason of its refusal', (t) => {
  const elsewhere = { allowedCidrs: ['198.51.100.0/24'] };
  const table: [string, Partial<KeyRow>, string][] = [
    ['unknown', { handle: 'zzzzzzzz' }, 'unknown'],
    ['another secret', { digest: new Uint8Array(32) }, 'unknown'],
    ['another secret of a key with an allow-list', { ...elsewhere, digest: new Uint8Array(32) }, 'unknown'],
    ['another app', { scope: [otherApp.id] }, 'out_of_scope'],
    ['another environment', { environmentId: newId() }, 'other_environment'],
    ['disabled', { enabled: false }, 'disabled'],
    ['expired', { expiresAt: 0 }, 'expired'],
    ['expired, with an allow-list', { ...elsewhere, expiresAt: 0 }, 'expired'],
    ['another address', elsewhere, 'address'],
  ];
  for (const [name, row, fault] of table) {
    const rows = bench();
    rows.load({ keys: [keyRow(row)] });
    rows.view.provenAt(0);
    const done: string[] = [];
    const check = createRequestCheck({
      ...rows,
      view: {
        ...rows.view,
        matches(keyEntry, digest) {
          done.push('digest');
          return rows.view.matches(keyEntry, digest);
        },
      },
      trustedProxies() {
        done.push('hop');
        return false;
      },
    });
    const verdict = check(request({ forwardedFor: '198.51.100.9, 203.0.113.7' }), at(1));
    t.equal(brief(verdict), `deny_key ${fault}`, name);
    t.same(done, ['digest', 'hop'], name);
  }
  t.end();
});

t.test('a view that is too old allows nothing', (t) => {
  const gate = bench();
  const preflight = request({ method: 'OPTIONS', preflightMethod: 'GET' });
  const decision = (monotonic: number, gateRequest = request()) => gate.check(gateRequest, at(monotonic)).decision;
  t.equal(decision(0), 'unavailable', 'never loaded');
  gate.load({ plans: [planRow({ requestsPerSecond: 100, burst: 100 })] });
  t.equal(decision(0), 'unavailable', 'loaded, but not proven');
  t.equal(gate.view.ageMs(0), undefined);
  gate.view.provenAt(1_000);
  t.equal(gate.view.ageMs(91_000), 90_000);
  t.equal(decision(1_000), 'allow');
  t.equal(decision(90_999), 'allow');
  t.equal(decision(91_000), 'unavailable', 'at the limit');
  t.equal(decision(91_000, preflight), 'unavailable', 'a preflight too');
  t.equal(decision(91_000, request({ appId: undefined })), 'unavailable');
  gate.view.provenAt(91_500);
  t.equal(decision(91_600), 'allow', 'it resumes');
  t.end();
});

t.test('the rate is checked last: a denied key takes no token', (t) => {
  const gate = bench();
  gate.load();
  gate.view.provenAt(0);
  for (let round = 0; round < 10; round++) {
    t.equal(gate.check(request({ appId: foreignApp.id }), at(5)).decision, 'deny_key');
  }
  t.equal(gate.check(request(), at(5)).decision, 'allow');
  t.equal(
    gate.check(request({ appId: otherApp.id }), at(5)).decision,
    'allow',
    'the bucket belongs to the key, not to the app',
  );
  t.match(gate.check(request(), at(5)), { decision: 'deny_rate', retryAfterSeconds: 1, key: { handle } });
  t.equal(gate.check(request(), at(1_005)).decision, 'allow', 'a token was refilled');
  t.end();
});

t.test('the quota is judged before the rate, and only allowed requests count against either', (t) => {
  const gate = bench();
  const row = keyRow();
  gate.load({ plans: [planRow({ burst: 3, quotaLimit: 5, quotaPeriod: 'day' })], keys: [row] }, wall);
  gate.view.provenAt(0);
  const check = (monotonic: number, ms = wall) => gate.check(request(), at(monotonic, ms));
  t.same(
    [check(0), check(0), check(0), check(0)].map((verdict) => verdict.decision),
    ['allow', 'allow', 'allow', 'deny_rate'],
  );
  t.same(
    [check(2_000), check(2_000)].map((verdict) => verdict.decision),
    ['allow', 'allow'],
    'a denial does not use the quota',
  );
  t.match(check(2_000), { decision: 'deny_quota', retryAfterSeconds: 43_200 }, 'with the bucket empty too');
  for (let round = 0; round < 5; round++) t.equal(check(5_000).decision, 'deny_quota');
  const tomorrow = Date.parse('2026-03-02T00:00:00Z');
  t.equal(check(5_000, tomorrow - 1).decision, 'deny_quota');
  t.match(check(5_000, tomorrow - 1), { retryAfterSeconds: 1 });
  t.equal(check(5_000, tomorrow).decision, 'allow', 'a new day');
  t.same(
    [check(5_000, tomorrow), check(5_000, tomorrow), check(5_000, tomorrow)].map((verdict) => verdict.decision),
    ['allow', 'allow', 'deny_rate'],
    'denials by the quota took no token',
  );
  t.end();
});

t.test('a quota includes the counts of other replicas', (t) => {
  const row = keyRow();
  const plans = [planRow({ burst: 10, quotaLimit: 5, quotaPeriod: 'month' })];
  const gate = bench();
  gate.load({ plans, keys: [row], others: [{ keyId: row.id, allowed: 4 }] }, wall);
  gate.view.provenAt(0);
  const decision = (ms = wall) => gate.check(request(), at(0, ms)).decision;
  t.same([decision(), decision()], ['allow', 'deny_quota']);
  const calendar = gate.usage.calendar(wall);
  const others = gate.usage.readOthers();
  others.others([{ keyId: row.id, allowed: 3 }]);
  others.commit(calendar, false);
  t.same([decision(), decision()], ['allow', 'deny_quota'], 'a correction');
  gate.view.apply(changeOf({ plans: [planRow({ burst: 10, quotaLimit: 100, quotaPeriod: 'day' })] }));
  t.equal(decision(), 'allow', 'a larger quota');
  gate.view.apply(changeOf({ plans: [planRow({ burst: 10 })] }));
  t.equal(decision(), 'allow', 'no quota');
  gate.view.apply(changeOf({ plans }));
  t.equal(decision(), 'deny_quota');
  t.equal(decision(Date.parse('2026-04-01T00:00:00Z')), 'allow', 'counts of March do not apply to April');
  t.end();
});

t.test("RateLimit fields report what remains of a key's limits", (t) => {
  const gate = bench();
  gate.load({ plans: [planRow({ requestsPerSecond: 2, burst: 5, quotaLimit: 3, quotaPeriod: 'week' })] }, wall);
  gate.view.provenAt(0);
  const fields = (monotonic: number) => {
    const verdict = gate.check(request(), at(monotonic));
    return 'limits' in verdict ? [verdict.decision, limitField(verdict.limits)] : [];
  };
  t.same(fields(0), ['allow', '"rate";r=4;t=1, "quota";r=2;t=43200']);
  t.same(fields(0), ['allow', '"rate";r=3;t=1, "quota";r=1;t=43200']);
  t.same(fields(0), ['allow', '"rate";r=2;t=2, "quota";r=0;t=43200']);
  t.same(fields(0), ['deny_quota', '"rate";r=2;t=2, "quota";r=0;t=43200'], 'nothing was taken');
  const plan = gate.view.plan(planId);
  if (!plan) throw new Error('no plan');
  t.equal(policyField(plan, gate.usage.calendar(wall)), '"rate";q=5;w=3, "quota";q=3;w=604800');
  gate.view.apply(
    changeOf({ plans: [planRow({ requestsPerSecond: 100, burst: 1, quotaLimit: 9, quotaPeriod: 'month' })] }),
  );
  t.equal(policyField(plan, gate.usage.calendar(wall)), '"rate";q=1;w=1, "quota";q=9;w=2678400', 'March');
  const april = Date.parse('2026-04-02T00:00:00Z');
  t.equal(policyField(plan, gate.usage.calendar(april)), '"rate";q=1;w=1, "quota";q=9;w=2592000', 'April');

  const both = bench();
  both.load({ plans: [planRow({ requestsPerSecond: 2, burst: 1, quotaLimit: 9, quotaPeriod: 'day' })] }, wall);
  both.view.provenAt(0);
  const limits = () => {
    const verdict = both.check(request(), at(0));
    return 'limits' in verdict ? [verdict.decision, limitField(verdict.limits)] : [];
  };
  t.same(limits(), ['allow', '"rate";r=0;t=1, "quota";r=8;t=43200']);
  t.same(limits(), ['deny_rate', '"rate";r=0;t=1, "quota";r=8;t=43200'], 'a denial by the rate uses no quota');

  const slow = bench();
  slow.load({ plans: [planRow({ requestsPerSecond: 0.1, burst: 1 })] });
  slow.view.provenAt(0);
  const slowly = (monotonic: number) => {
    const verdict = slow.check(request(), at(monotonic));
    return 'limits' in verdict ? limitField(verdict.limits) : '';
  };
  t.same([slowly(0), slowly(1), slowly(9_500)], ['"rate";r=0;t=10', '"rate";r=0;t=10', '"rate";r=0;t=1']);
  t.end();
});

t.test('a changed plan applies to the next request of all of its keys', (t) => {
  const second = generateApiKey();
  const gate = bench();
  gate.load({ keys: [keyRow(), keyRow({}, second)] });
  gate.view.provenAt(0);
  const decision = (monotonic: number, apiKey: string) => gate.check(request({ apiKey }), at(monotonic)).decision;
  t.same([decision(0, key), decision(0, key), decision(0, key)], ['allow', 'allow', 'deny_rate']);
  gate.view.apply(changeOf({ plans: [planRow({ burst: 3 })] }));
  t.same([decision(0, key), decision(0, key)], ['allow', 'deny_rate'], 'one more, without waiting');
  const ofSecond = () => decision(0, second.key);
  t.same([ofSecond(), ofSecond(), ofSecond()], ['allow', 'allow', 'allow']);
  gate.view.apply(changeOf({ plans: [planRow({ requestsPerSecond: 1000, burst: 1 })] }));
  t.equal(decision(0, key), 'deny_rate', 'a smaller burst');
  t.equal(decision(10, key), 'allow', 'a faster refill');
  t.end();
});

t.test('a changed or reloaded key keeps its bucket and its usage', (t) => {
  const row = keyRow();
  const plans = [planRow({ quotaLimit: 3, quotaPeriod: 'day' })];
  const gate = bench();
  gate.load({ plans, keys: [row] }, wall);
  gate.view.provenAt(0);
  const decision = (monotonic = 0) => gate.check(request(), at(monotonic)).decision;
  t.same([decision(), decision()], ['allow', 'allow']);
  gate.load({ plans, keys: [row] }, wall);
  t.equal(decision(), 'deny_rate');
  gate.view.apply(changeOf({ keys: [row] }));
  t.equal(decision(), 'deny_rate');
  t.same([decision(2_000), decision(2_000)], ['allow', 'deny_quota']);
  t.end();
});

t.test('a view that is being loaded changes nothing until it is complete', (t) => {
  const gate = bench();
  gate.load();
  gate.view.provenAt(0);
  const loading = gate.view.beginLoad();
  loading.plans([planRow({ burst: 100 })]);
  loading.apps([app]);
  loading.keys([]);
  t.equal(gate.check(request(), at(1)).decision, 'allow');
  t.throws(() => loading.keys([keyRow({ planId: newId() })]), /plan .* is missing/);
  t.throws(() => loading.keys([keyRow({ digest: new Uint8Array(31) })]), /32 bytes, got 31/);
  t.equal(gate.check(request(), at(1)).decision, 'allow');
  t.same(gate.view.size(), { keys: 1, plans: 1, apps: 3 });

  const row = keyRow();
  gate.load({ keys: [row] });
  const whole = gate.view.beginLoad();
  whole.plans([planRow()]);
  whole.apps([app]);
  whole.keys([row]);
  t.same(
    [1, 1].map(() => gate.check(request(), at(1)).decision),
    ['allow', 'allow'],
  );
  whole.commit(position());
  t.equal(gate.check(request(), at(1)).decision, 'deny_rate', 'tokens taken during the load are gone');
  t.end();
});

t.test('a changed key and a later one do not get each other’s digests', (t) => {
  const gate = bench();
  const keys = Array.from({ length: 200 }, () => generateApiKey());
  const rows = keys.map((each) => keyRow({}, each));
  gate.load({ plans: [planRow({ burst: 1000 })], keys: rows });
  gate.view.provenAt(0);
  const gone = rows.filter((_, index) => index % 3 === 0);
  gate.view.apply(changeOf({ gone: { plans: [], apps: [], keys: gone.map(({ id }) => id) } }));
  gate.view.apply(changeOf({ keys: rows.filter((_, index) => index % 3 === 1) }));
  const late = generateApiKey();
  gate.view.apply(changeOf({ keys: [keyRow({}, late)] }));
  for (const [index, each] of keys.entries()) {
    const { decision } = gate.check(request({ apiKey: each.key }), at(1));
    t.equal(decision, index % 3 === 0 ? 'deny_key' : 'allow');
  }
  t.equal(gate.check(request({ apiKey: late.key }), at(1)).decision, 'allow');
  t.end();
});

t.test('a key without a display name has no header value for it', (t) => {
  const gate = bench();
  const headerOf = (name: string | null) => {
    gate.load({ keys: [keyRow({ name })] });
    return gate.view.key(handle)?.nameHeader;
  };
  t.same([headerOf('Acme'), headerOf(''), headerOf(null)], ['Acme', undefined, undefined]);
  t.end();
});

t.test('a display name becomes one safe header value', (t) => {
  const table: [string, string][] = [
    ['Acme Inc', 'Acme Inc'],
    ['50% off', '50%25 off'],
    ['Zürich', 'Z%C3%BCrich'],
    ['日本 🔑', '%E6%97%A5%E6%9C%AC %F0%9F%94%91'],
    ['a\r\nX-Admin: 1', 'a%0D%0AX-Admin: 1'],
    [' padded ', '%20padded%20'],
  ];
  for (const [name, value] of table) {
    t.equal(encodeHeaderText(name), value);
    t.equal(decodeURIComponent(value), name);
  }
  t.equal(encodeHeaderText('\ud800'), '%EF%BF%BD', 'half a surrogate pair cannot be encoded');
  t.end();
});
