import { createHmac, randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import t from 'tap';
import { senderOf } from '../../../functions/webhooks/senders/all.ts';
import { header, isHexHmac, isStandardSignature, signingSecret } from '../../../functions/webhooks/signatures.ts';
import { createTokenStore } from '../../../functions/webhooks/token-store.ts';
import { createVerifySecretUrl, createVerifyWebhook } from '../../../functions/webhooks/verify.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { workloadLabels } from '../../../runtime/domain/labels.ts';
import { seal } from '../../../runtime/domain/sealed.ts';
import { signWebhook } from '../../../runtime/domain/standard-webhooks.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';
import type { Secret } from '../../../runtime/workloads/owned-secret.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { recordingLog, silentLog } from '../../support/log.ts';

const token = 'svcwh_token';
const body = Buffer.from('{}');
const now = new Date('2026-01-01T00:00:00Z');
const seconds = now.getTime() / 1_000;
const hex = createHmac('sha256', token).update(body).digest('hex');

/** Headers of Standard Webhooks; `at` is relative to now, in seconds. */
function standard(at = 0, key = token) {
  const timestamp = seconds + at;
  const signature = signWebhook(signingSecret(key), { id: 'm1', timestamp, body });
  return { 'webhook-id': 'm1', 'webhook-timestamp': String(timestamp), 'webhook-signature': signature };
}

t.test('a header counts when it occurs once and is not empty', async (t) => {
  const headers = { one: 'a', empty: '', several: ['a', 'b'] };
  t.same(
    ['one', 'empty', 'several', 'none'].map((name) => header(headers, name)),
    ['a', undefined, undefined, undefined],
  );
});

t.test('a Standard Webhooks signature is at most 5 minutes old or early, and one of several', async (t) => {
  const valid = standard();
  const signature = valid['webhook-signature'];
  const list = (length: number) => `${signature} ${'x'.repeat(length - signature.length - 1)}`;
  const accepted = (headers: Record<string, string>, at = now) => isStandardSignature(headers, token, body, at);
  for (const headers of [valid, standard(300), standard(-300), { ...valid, 'webhook-signature': list(4_096) }]) {
    t.equal(accepted(headers), true);
  }
  t.equal(accepted(valid, new Date(now.getTime() + 300_000)), true);
  t.equal(accepted(valid, new Date(now.getTime() + 300_001)), false);
  for (const headers of [
    {},
    standard(301),
    standard(-301),
    standard(0, 'other'),
    { ...valid, 'webhook-id': '' },
    { ...valid, 'webhook-timestamp': '' },
    { ...valid, 'webhook-timestamp': `${seconds}.0` },
    { ...valid, 'webhook-signature': '' },
    { ...valid, 'webhook-signature': list(4_097) },
    { ...valid, 'webhook-signature': signature.replace('v1,', 'v2,') },
  ]) {
    t.equal(accepted(headers), false, JSON.stringify(headers).slice(0, 200));
  }
});

t.test('each sender is recognised by its headers and proves the token in its way', async (t) => {
  const github = { 'x-hub-signature-256': `sha256=${hex}` };
  const svc = 'svc';
  for (const [name, headers, proof, id] of [
    [
      'forgejo',
      { 'x-forgejo-event': 'push', 'x-gitea-event': 'push' },
      { 'x-forgejo-signature': hex },
      'x-forgejo-delivery',
    ],
    ['gitea', { 'x-gitea-event': 'push', 'x-github-event': 'push' }, { 'x-gitea-signature': hex }, 'x-gitea-delivery'],
    ['gitlab', { 'x-gitlab-event': 'Push Hook' }, { 'x-gitlab-token': token }, 'idempotency-key'],
    ['gitlab', { 'x-gitlab-event': 'Push Hook' }, standard(), 'webhook-id'],
    ['gitlab', { 'x-gitlab-event': 'Push Hook' }, { 'x-gitlab-token': token }, 'x-gitlab-event-uuid'],
    ['bitbucket', { 'x-event-key': 'repo:push' }, { 'x-hub-signature': `sha256=${hex}` }, 'x-request-uuid'],
    ['bitbucket', { 'x-event-key': 'repo:push' }, { 'x-hub-signature': `sha256=${hex}` }, 'x-request-id'],
    ['github', { 'x-github-event': 'push' }, github, 'x-github-delivery'],
    ['harbor', {}, { authorization: token }, undefined],
    [svc, { authorization: 'Basic x' }, github, 'x-github-delivery'],
    [svc, { authorization: 'Basic x' }, standard(), 'webhook-id'],
    [svc, { authorization: 'Basic x', 'x-svc-token': 'x' }, {}, undefined],
    [svc, {}, github, 'x-github-delivery'],
    [svc, {}, standard(), 'webhook-id'],
    [svc, {}, {}, undefined],
  ] as const) {
    const all = { ...headers, ...proof };
    const sender = senderOf(all);
    const proves = (sent: Record<string, string>, key = token) =>
      sender.proves(key, { headers: sent, rawBody: body, now });
    t.equal(sender.name, name, JSON.stringify(all));
    const isProof = Object.keys(proof).length > 0;
    t.equal(proves(all), isProof);
    t.equal(proves(all, 'other'), false);
    t.equal(proves({}), false);
    if (id !== undefined) t.equal(sender.deliveryId({ [id]: 'd1' }, {}), 'd1', id);
    t.equal(sender.deliveryId({}, {}), undefined);
    const [event] = Object.values(headers);
    if (name !== svc && event !== undefined) t.equal(sender.event(all, {}), event);
  }
  const gitlabSender = senderOf({ 'x-gitlab-event': 'Push Hook' });
  t.equal(gitlabSender.covers({ 'x-gitlab-token': token }), 'request', 'who knows the token can write any request');
  t.equal(gitlabSender.covers({ ...standard() }), 'webhook-id');
  t.equal(isHexHmac(hex, token, body), true);
  t.equal(isHexHmac(undefined, token, body), false);
});

const keyRing = { current: 'k1', keys: new Map([['k1', randomBytes(32)]]) };
const at = { namespace: 'shop-prod', app: 'api' };
const sealed = (id: string, text: string) =>
  Buffer.from(seal(keyRing, { id, purpose: 'webhook-token' }, text)).toString('base64');

/** A token store over a Secret with this data. */
function storeOf(data: Record<string, string>, log = silentLog) {
  const kube = fakeKube();
  const metadata = { name: 'app-api-webhook', namespace: 'shop-prod' };
  kube.seed({ ...kinds.Secret, metadata, data } as Parameters<typeof kube.seed>[0]);
  return { kube, store: createTokenStore({ kube, keyRing, log }) };
}

t.test('tokens are read in the order of versions; those of another app or key are not', async (t) => {
  const recording = recordingLog();
  const { store } = storeOf(
    { v1: sealed('a', 'one'), v2: sealed('a', 'two'), v3: sealed('b', 'other') },
    recording.log,
  );
  t.same(await store.read(at, { workloadId: 'a', versions: [2, 1, 4] }), ['two', 'one', undefined]);
  t.equal(recording.text(), '', 'a version that does not exist is no error');
  t.same(await store.read(at, { workloadId: undefined, versions: [1, 2] }), [undefined, undefined]);
  t.equal(recording.text(), '');
  t.same(await store.read(at, { workloadId: 'a', versions: [3] }), [undefined]);
  t.match(recording.text(), 'cannot decrypt a webhook token');
  t.same([store.cached('a', 1), store.cached('a', 3), store.cached('b', 1)], ['one', undefined, undefined]);
});

t.test('at most 10,000 tokens are cached; the oldest are dropped', async (t) => {
  const versions = Array.from({ length: 10_001 }, (_, index) => index + 1);
  const { store } = storeOf(Object.fromEntries(versions.map((version) => [`v${version}`, sealed('a', `t${version}`)])));
  await store.read(at, { workloadId: 'a', versions: versions.slice(0, -1) });
  t.equal(store.cached('a', 1), 't1');
  await store.read(at, { workloadId: 'a', versions: versions.slice(-1) });
  t.same(
    [1, 2, 10_001].map((version) => store.cached('a', version)),
    [undefined, 't2', 't10001'],
  );
});

t.test('a token is written under the next version, also of a version that never became valid', async (t) => {
  const kube = fakeKube();
  const app = await kube.create<App>({
    apiVersion: 'platform.svc/v1',
    kind: 'App',
    metadata: { name: at.app, namespace: at.namespace, labels: workloadLabels({ kind: 'App', name: 'api', id: 'a' }) },
    spec: { image: 'r.test/api:1', port: 8080, replicas: 1 },
  });
  const store = createTokenStore({ kube, keyRing, log: silentLog });
  const stored = async () =>
    Object.keys((await kube.get<Secret>(kinds.Secret, 'app-api-webhook', 'shop-prod'))?.data ?? {});
  t.equal(await store.write(app, 'one', 0), 1);
  t.equal(await store.write(app, 'two', 1), 2);
  t.same(await stored(), ['v1', 'v2'], 'the current one may have a grace period');
  t.equal(await store.write(app, 'three', 1), 3, 'the second never became valid');
  t.same(await stored(), ['v1', 'v2', 'v3']);
  t.equal(await store.write(app, 'ten', 9), 10, 'the Secret was deleted, or is of an older copy');
  t.same(await stored(), ['v10']);
  t.same(await store.read(at, { workloadId: 'a', versions: [10, 3] }), ['ten', undefined]);
});

t.test('a Secret that is missing or may not be read has no tokens; other failures are errors', async (t) => {
  const { kube, store } = storeOf({ v1: sealed('a', 'one') });
  const read = () => store.read(at, { workloadId: 'a', versions: [1] });
  for (const [status, expected] of [
    [403, [undefined]],
    [404, [undefined]],
    [405, undefined],
    [503, undefined],
  ] as const) {
    kube.intercept = () => {
      throw new KubeError(status, 'Failure', 'no');
    };
    if (expected) t.same(await read(), expected, `${status}`);
    else await t.rejects(read(), new KubeError(status, 'Failure', 'no'));
  }
});

t.test('a value that is not a host name is never looked up', async (t) => {
  const failing = () => Promise.reject(new Error('looked up'));
  const pool = { query: failing } as unknown as Pool;
  const verify = createVerifyWebhook({ pool, tokens: { read: failing, cached: () => undefined }, clock: fakeClock() });
  const verifySecretUrl = createVerifySecretUrl({ pool });
  const looked = async (namespace: string, app: string) => {
    const requests = [
      verify({ namespace, app, headers: {}, rawBody: body }),
      verifySecretUrl({ namespace, app, secret: 'x' }),
    ];
    const ends = await Promise.allSettled(requests);
    return ends.map((end) => (end.status === 'rejected' ? (end.reason as Error).message : 'verified'));
  };
  const refusal = 'The webhook token or signature is missing or wrong.';
  for (const [namespace, app, expected] of [
    ['shop-prod', 'api', 'looked up'],
    ['9', 'a'.repeat(63), 'looked up'],
    ['shop-prod', '../x', refusal],
    ['SHOP/..', 'api', refusal],
    ['', 'api', refusal],
    ['shop-prod', '-a', refusal],
    ['shop-prod', 'a'.repeat(64), refusal],
  ] as const) {
    t.same(await looked(namespace, app), [expected, expected], `${namespace}/${app}`);
  }
});
