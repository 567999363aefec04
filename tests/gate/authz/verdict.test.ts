import t from 'tap';
import { decide, type GateRequest, type Verdict } from '../../../gate/authz/verdict.ts';
import { createBucket, takeToken } from '../../../gate/authz/rate-limit.ts';
import type { KeyRow, Snapshot } from '../../../gate/authz/store.ts';
import { createGateView, encodeHeaderText } from '../../../gate/authz/view.ts';
import { apiKeyDigest, generateApiKey } from '../../../runtime/domain/api-key.ts';
import { newId } from '../../../runtime/domain/ids.ts';

const wall = Date.parse('2026-03-01T12:00:00Z');
const environmentId = newId();
const planId = newId();
const app = { id: newId(), environmentId, namespace: 'shop-prod', name: 'api' };
const otherApp = { id: newId(), environmentId, namespace: 'shop-prod', name: 'other' };
const foreignApp = { id: newId(), environmentId: newId(), namespace: 'shop-test', name: 'api' };
const { key, handle } = generateApiKey();

function keyRow(change: Partial<KeyRow> = {}): KeyRow {
  return {
    ...{ id: newId(), environmentId, handle, digest: apiKeyDigest(key), name: 'Acme', planId },
    ...{ scope: null, enabled: true, expiresAt: null },
    ...change,
  };
}

function snapshot(change: Partial<Snapshot> = {}): Snapshot {
  return {
    position: { feedId: newId(), version: 1, token: newId() },
    plans: [{ id: planId, requestsPerSecond: 1, burst: 2 }],
    keys: [keyRow()],
    apps: [app, otherApp, foreignApp],
    ...change,
  };
}

function freshView(change?: Partial<Snapshot>) {
  const view = createGateView();
  view.load(snapshot(change));
  view.provenAt(0);
  return view;
}

const request = (change: Partial<GateRequest> = {}): GateRequest => ({
  ...{ appId: app.id, apiKey: key, method: 'GET', preflightMethod: undefined },
  ...change,
});

/** The parts of a verdict that tables compare. */
const brief = (verdict: Verdict) => ('fault' in verdict ? `${verdict.decision} ${verdict.fault}` : verdict.decision);

t.test('decisions', (t) => {
  const expired = { expiresAt: new Date(wall) };
  const alive = { expiresAt: new Date(wall + 1) };
  const unknown = generateApiKey().key;
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
    ['an app of another environment', {}, { appId: foreignApp.id }, 'deny_key other_environment'],
    ['a disabled key', { enabled: false }, {}, 'deny_key disabled'],
    ['a key that expires this very moment', expired, {}, 'deny_key expired'],
    ['a key that expires in a moment', alive, {}, 'allow'],
    ['an app in scope', { scope: [otherApp.id, app.id] }, {}, 'allow'],
    ['an app out of scope', { scope: [otherApp.id] }, {}, 'deny_key out_of_scope'],
    ['a scope whose apps are all gone', { scope: [] }, {}, 'deny_key out_of_scope'],
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
    ['a revoked key, whose handle nobody has', { handle: 'zzzzzzzz' }, {}, 'deny_key unknown'],
  ];
  for (const [name, row, change, expected] of table) {
    const verdict = decide(freshView({ keys: [keyRow(row)] }), request(change), { monotonic: 1, wall });
    t.equal(brief(verdict), expected, name);
  }
  t.end();
});

/** What the denial of a key tells of its handle. */
function denied(apiKey: string): string | undefined {
  const verdict = decide(freshView({ keys: [] }), request({ apiKey }), { monotonic: 1, wall });
  return verdict.decision === 'deny_key' ? verdict.handle : 'allowed';
}

t.test('a handle is told only when the key was well-formed', (t) => {
  t.equal(denied(key), handle);
  t.equal(denied(`svc_${handle}_${'0'.repeat(46)}`), undefined);
  t.end();
});

t.test('nothing is allowed from a view that is not fresh', (t) => {
  const view = createGateView();
  const preflight = request({ method: 'OPTIONS', preflightMethod: 'GET' });
  const at = (monotonic: number, asked = request()) => decide(view, asked, { monotonic, wall }).decision;
  t.equal(at(0), 'unavailable', 'never loaded');
  view.load(snapshot({ plans: [{ id: planId, requestsPerSecond: 100, burst: 100 }] }));
  t.equal(at(0), 'unavailable', 'loaded, but not proven');
  view.provenAt(1_000);
  t.equal(at(1_000), 'allow');
  t.equal(at(90_999), 'allow');
  t.equal(at(91_000), 'unavailable', 'at the ceiling');
  t.equal(at(91_000, preflight), 'unavailable', 'a preflight too');
  t.equal(at(91_000, request({ appId: undefined })), 'unavailable');
  view.provenAt(91_500);
  t.equal(at(91_600), 'allow', 'it resumes');
  t.end();
});

t.test('the rate is judged last: a refused key takes no token', (t) => {
  const view = freshView();
  const moment = { monotonic: 5, wall };
  for (let round = 0; round < 10; round++) {
    t.equal(decide(view, request({ appId: foreignApp.id }), moment).decision, 'deny_key');
  }
  t.equal(decide(view, request(), moment).decision, 'allow');
  t.equal(
    decide(view, request({ appId: otherApp.id }), moment).decision,
    'allow',
    'the bucket is the key’s, not the app’s',
  );
  t.match(decide(view, request(), moment), { decision: 'deny_rate', retryAfterSeconds: 1, key: { handle } });
  t.equal(decide(view, request(), { monotonic: 1_005, wall }).decision, 'allow', 'a token came back');
  t.end();
});

t.test('a changed plan judges the next request of all of its keys', (t) => {
  const second = generateApiKey();
  const rows = [keyRow(), keyRow({ handle: second.handle, digest: apiKeyDigest(second.key) })];
  const view = freshView({ keys: rows });
  const at = (monotonic: number, apiKey: string) => decide(view, request({ apiKey }), { monotonic, wall }).decision;
  t.same([at(0, key), at(0, key), at(0, key)], ['allow', 'allow', 'deny_rate']);
  const position = { feedId: newId(), version: 2, token: newId() };
  const nothing = { position, plans: [], keys: [], apps: [], gone: { plans: [], keys: [], apps: [] } };
  view.apply({ ...nothing, plans: [{ id: planId, requestsPerSecond: 1, burst: 3 }] });
  t.same([at(0, key), at(0, key)], ['allow', 'deny_rate'], 'one more, without waiting');
  t.same([at(0, second.key), at(0, second.key), at(0, second.key)], ['allow', 'allow', 'allow']);
  view.apply({ ...nothing, plans: [{ id: planId, requestsPerSecond: 1000, burst: 1 }] });
  t.equal(at(0, key), 'deny_rate', 'a smaller burst');
  t.equal(at(10, key), 'allow', 'a faster refill');
  t.end();
});

t.test('a changed or reloaded key keeps its bucket', (t) => {
  const view = freshView();
  const row = keyRow();
  view.load(snapshot({ keys: [row] }));
  const at0 = () => decide(view, request(), { monotonic: 0, wall }).decision;
  t.same([at0(), at0()], ['allow', 'allow']);
  view.load(snapshot({ keys: [row] }));
  t.equal(at0(), 'deny_rate');
  const position = { feedId: newId(), version: 2, token: newId() };
  view.apply({ position, plans: [], apps: [], keys: [row], gone: { plans: [], keys: [], apps: [] } });
  t.equal(at0(), 'deny_rate');
  t.end();
});

t.test('a token bucket', (t) => {
  t.test('admits the burst at once, then the rate', (t) => {
    const bucket = createBucket();
    const plan = { requestsPerSecond: 10, burst: 5 };
    let admitted = 0;
    for (let now = 1_000; now < 11_000; now += 1) if (takeToken(bucket, plan, now) === 0) admitted++;
    t.equal(admitted, 5 + 99);
    t.end();
  });
  t.test('fills up to the burst and no further', (t) => {
    const bucket = createBucket();
    const plan = { requestsPerSecond: 1, burst: 2 };
    t.same(
      [0, 0, 0, 3_600_000, 3_600_000, 3_600_000].map((now) => takeToken(bucket, plan, now)),
      [0, 0, 1, 0, 0, 1],
    );
    t.end();
  });
  t.test('tells when there is a token again, in whole seconds', (t) => {
    const bucket = createBucket();
    const slow = { requestsPerSecond: 0.1, burst: 1 };
    t.equal(takeToken(bucket, slow, 0), 0);
    t.equal(takeToken(bucket, slow, 1), 10);
    t.equal(takeToken(bucket, slow, 9_500), 1);
    t.equal(takeToken(bucket, slow, 10_000), 0, 'and then there is');
    t.end();
  });
  t.test('does not refill when time stands still or goes back', (t) => {
    const bucket = createBucket();
    const plan = { requestsPerSecond: 1000, burst: 1 };
    t.equal(takeToken(bucket, plan, 5_000), 0);
    t.equal(takeToken(bucket, plan, 4_000), 1);
    t.end();
  });
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
  t.equal(encodeHeaderText('\ud800'), '%EF%BF%BD', 'half a character cannot be said');
  t.end();
});
