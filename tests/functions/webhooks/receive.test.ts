import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import type { IncomingDelivery } from '../../../functions/webhooks/delivery-handler.ts';
import type { WebhookEvent } from '../../../functions/webhooks/event.ts';
import { createReceiveRoutes, type ReceiveDependencies } from '../../../functions/webhooks/receive.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { Problem } from '../../../runtime/domain/problem.ts';
import { invalidWebhookToken } from '../../../runtime/records/webhooks.ts';
import { testApi } from '../../support/api.ts';
import { recordingLog } from '../../support/log.ts';

const image = 'registry.test/shop/api:v1';
const token = 'the-token-of-the-webhook';
const workloadId = newId();
const deployment = { id: newId(), revision: 7, state: 'accepted' as const };
const accepted = { verdict: 'accepted', delivery: newId(), deployment, superseded: [] };
const docker = { push_data: { tag: 'v1' }, repository: { repo_name: 'a/b' } };

/** The URLs that senders call, with a verification and an acceptance that a test replaces. */
async function rig(t: Test, change: { [Name in keyof ReceiveDependencies]?: unknown } = {}) {
  const deliveries: (IncomingDelivery & { read: WebhookEvent })[] = [];
  const waits: unknown[] = [];
  const receiver = { workloadId, project: 'shop', image: null, gitBranch: null, webhook: { enabled: true } };
  const proof = { version: 1 };
  const registry = new Registry();
  const recording = recordingLog();
  const dependencies = {
    verify: () => Promise.resolve({ receiver, proof, token }),
    verifySecretUrl: () => Promise.resolve({ receiver, proof, token: undefined }),
    limit: { take: () => 0 },
    handleDelivery(incoming: IncomingDelivery, read: () => WebhookEvent) {
      return Promise.resolve().then(() => {
        deliveries.push({ ...incoming, read: read() });
        return accepted;
      });
    },
    deployments: {
      wait(id: string, { workloadId: app, ms }: { workloadId: string; ms: number }) {
        waits.push([id, app, ms]);
        return Promise.resolve(undefined);
      },
    },
    registry,
    baseUrl: 'http://console.test',
    ...change,
  } as unknown as ReceiveDependencies;
  const api = await testApi(t, { routes: createReceiveRoutes(dependencies), log: recording.log });
  return {
    deliveries,
    waits,
    send: (body: unknown, { below = '', headers = {} }: { below?: string; headers?: Record<string, string> } = {}) =>
      api.call('POST', `/api/v1/webhook/shop-prod/api${below}`, { body, headers: { authorization: '', ...headers } }),
    /** The log's entries with this message. */
    logged: (message: string) => recording.entries.filter(({ msg }) => msg === message),
    entries: () => recording.entries,
    /** The count of requests for each sender and verdict. */
    counts: async () => {
      const { values = [] } = (await registry.getSingleMetric('webhook_requests_total')?.get()) ?? {};
      return Object.fromEntries(values.map(({ labels, value }) => [`${labels['sender']} ${labels['verdict']}`, value]));
    },
  };
}

const failing = (failure: Error) => () => Promise.reject(failure);

t.test('202: an accepted delivery is answered at once, counted, and part of the request’s log line', async (t) => {
  const { send, deliveries, waits, counts, entries } = await rig(t);
  const { status, body, headers } = await send({ image });
  const statusUrl = `http://console.test/api/v1/projects/shop/deployments/${deployment.id}`;
  t.same([status, body], [202, { id: deployment.id, revision: 7, status: 'accepted', statusUrl }]);
  t.equal(headers.get('location'), statusUrl);
  t.match(deliveries, [
    {
      namespace: 'shop-prod',
      app: 'api',
      sender: 'svc',
      proof: { version: 1 },
      body: JSON.stringify({ image }),
      bodyBytes: JSON.stringify({ image }).length,
      read: { kind: 'deploy', image },
    },
  ]);
  t.same(waits, []);
  t.same(await counts(), { 'svc accepted': 1 });
  const line = { sender: 'svc', verdict: 'accepted', deploymentId: deployment.id, revision: 7, namespace: 'shop-prod' };
  t.match(
    entries().find(({ verdict }) => verdict !== undefined),
    line,
  );
});

t.test('200: a delivery that is ignored gets the reason', async (t) => {
  const ignored = { verdict: 'ignored', reason: 'Nothing to do.', delivery: newId() };
  const { send, counts, waits, entries } = await rig(t, { handleDelivery: () => Promise.resolve(ignored) });
  for (const below of ['', '?wait=9']) {
    t.match(await send({}, { below }), { status: 200, body: { status: 'ignored', reason: 'Nothing to do.' } });
  }
  t.same(await counts(), { 'svc ignored': 2 });
  t.same(waits, []);
  t.match(
    entries().find(({ verdict }) => verdict !== undefined),
    { reason: 'Nothing to do.' },
  );
});

t.test('a sender that asks to wait gets the state after that, or the one before if it is unknown', async (t) => {
  const unknown = await rig(t);
  t.match(await unknown.send({ image }, { below: '?wait=0.5' }), { status: 202, body: { status: 'accepted' } });
  t.match(await unknown.send({ image }, { below: '?wait=0' }), { status: 202 });
  t.same(unknown.waits, [[deployment.id, workloadId, 500]]);
  let state = '';
  const receiver = await rig(t, { deployments: { wait: () => Promise.resolve({ ...deployment, state }) } });
  for (const [end, status] of [
    ['succeeded', 200],
    ['failed', 424],
    ['superseded', 409],
    ['cancelled', 409],
    ['rolling_out', 202],
  ] as const) {
    state = end;
    t.match(await receiver.send({ image }, { below: '?wait=1' }), { status, body: { status: end } });
    t.match(await receiver.send({ image }), { status: 202, body: { status: 'accepted' } });
  }
  const failed = { verdict: 'duplicate', delivery: newId(), deployment: { ...deployment, state: 'failed' } };
  const repeated = await rig(t, { handleDelivery: () => Promise.resolve(failed) });
  t.match(await repeated.send({ image }), { status: 202, body: { status: 'failed' } }, 'no failure of this request');
});

t.test('a failed verification is counted and logged; a part of the path that is no name may be a secret', async (t) => {
  const { send, counts, logged, deliveries } = await rig(t, { verify: failing(invalidWebhookToken()) });
  t.match(await send('{'), { status: 401, body: { code: 'invalid_webhook_token' } });
  t.match(await send({}, { headers: { 'x-github-event': 'push' } }), { status: 401 });
  t.same(await counts(), { 'svc unauthenticated': 1, 'github unauthenticated': 1 });
  const message = 'webhook request not authenticated';
  t.match(logged(message), [{ namespace: 'shop-prod', app: 'api', sender: 'svc' }, { sender: 'github' }]);
  t.same(deliveries, []);

  const secret = await rig(t, { verifySecretUrl: failing(invalidWebhookToken()) });
  t.match(await secret.send({}, { below: '/wrong' }), { status: 401 });
  t.same(await secret.counts(), { 'secret-url unauthenticated': 1 });
  t.notMatch(JSON.stringify(secret.logged(message)), 'wrong');

  for (const error of [new Error('down'), new Problem('unavailable', 'Down.')]) {
    const outage = await rig(t, { verify: failing(error) });
    t.ok((await outage.send({ image })).status >= 500);
    t.same(await outage.counts(), {}, 'an outage is no failed authentication');
    t.same(outage.logged(message), []);
  }
});

t.test('429: beyond the rate, nothing is recorded', async (t) => {
  const apps: string[] = [];
  const { send, counts, deliveries, logged } = await rig(t, { limit: { take: (app: string) => (apps.push(app), 12) } });
  const { status, body, headers } = await send({ image });
  t.match([status, body], [429, { code: 'too_many_requests', message: /Try again in 12 seconds/ }]);
  t.equal(headers.get('retry-after'), '12');
  t.equal((await send(docker, { below: '/secret' })).status, 429);
  t.same(apps, [workloadId, workloadId]);
  t.same(deliveries, []);
  t.same(await counts(), { 'svc limited': 1, 'docker-hub limited': 1 });
  t.equal(logged('webhook request rate limited').length, 2);
});

t.test('a refused delivery is counted; a failure of the platform is not', async (t) => {
  const refusing = await rig(t, { handleDelivery: failing(new Problem('conflict', 'No.')) });
  t.match(await refusing.send({ image }), { status: 409 });
  t.same(await refusing.counts(), { 'svc refused': 1 });
  const broken = await rig(t, { handleDelivery: failing(new Error('down')) });
  t.match(await broken.send({ image }), { status: 500 });
  t.same(await broken.counts(), {});
  const invalid = await rig(t);
  t.match(await invalid.send('{'), { status: 400, body: { code: 'invalid_json' } });
  t.same(await invalid.counts(), { 'svc refused': 1 });
});

t.test('attack: the token is masked in everything that is recorded of a delivery', async (t) => {
  const { send, deliveries } = await rig(t);
  const headers = { 'x-svc-token': token, 'x-github-event': 'push', 'x-github-delivery': `d-${token}` };
  const push = { ref: `refs/heads/${token}`, after: 'a'.repeat(40), more: token };
  t.equal((await send(push, { headers })).status, 202);
  t.equal((await send({ image: token }, { headers: { 'x-gitlab-event': token } })).status, 202);
  t.match(deliveries, [
    { event: 'push', deliveryId: 'd-[masked]', identity: 'd-[masked]', read: { refs: [{ branch: '[masked]' }] } },
    { event: '[masked]' },
  ]);
  t.notMatch(JSON.stringify(deliveries), token);
});

t.test('a secret URL takes events of Docker Hub and Quay, and never waits', async (t) => {
  const { send, deliveries, waits, counts } = await rig(t);
  const below = '/secret';
  t.equal((await send(docker, { below: `${below}?wait=5` })).status, 202);
  t.equal((await send({ docker_url: 'quay.io/a/b', updated_tags: ['v1'] }, { below })).status, 202);
  t.match(deliveries, [
    { sender: 'docker-hub', event: 'push', deliveryId: undefined, read: { images: [{ repository: 'docker.io/a/b' }] } },
    { sender: 'quay', event: 'push', read: { images: [{ repository: 'quay.io/a/b' }] } },
  ]);
  t.match(await send({ image }, { below }), {
    status: 400,
    body: { code: 'invalid_request', message: /only events of Docker Hub and Quay/ },
  });
  t.same(waits, []);
  t.same(await counts(), { 'docker-hub accepted': 1, 'quay accepted': 1, 'secret-url refused': 1 });
});
