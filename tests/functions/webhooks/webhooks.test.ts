import { createHash, createHmac, randomBytes } from 'node:crypto';
import t from 'tap';
import { createAppRoutes } from '../../../functions/apps/handler.ts';
import { createHistoryRoutes } from '../../../functions/history/handler.ts';
import { createWebhookRoutes } from '../../../functions/webhooks/handler.ts';
import { createTokenStore, webhookSecretName } from '../../../functions/webhooks/token-store.ts';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import { systemClock, type Clock } from '../../../runtime/domain/clock.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';
import { enableWebhook } from '../../../runtime/records/webhooks.ts';
import { markWorkloadDeleted, projectWorkload } from '../../../runtime/records/workloads.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { recordingLog, silentLog } from '../../support/log.ts';
import { environmentId, seedShop } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';
import { beforeAccepting, webhookParts } from '../../support/webhooks.ts';

const apps = '/api/v1/projects/shop/apps';
const baseUrl = 'http://console.test';
const image = 'registry.test/shop/api:v1';
const refusal = { code: 'invalid_webhook_token', message: 'The webhook token or signature is missing or wrong.' };

/** Two apps, `api` and `web`, both observed by their controller. */
async function service(t: { teardown(end: () => unknown): void }, clock?: Clock) {
  const kube = fakeKube();
  seedShop(kube);
  const { pool } = await testDatabase(t);
  const keyRing = { current: 'k1', keys: new Map([['k1', randomBytes(32)]]) };
  const tokens = createTokenStore({ kube, keyRing, log: silentLog });
  const parts = webhookParts({ kube, pool, tokens, ...(clock && { clock }) });
  const recording = recordingLog();
  /** The log's entries with this message. */
  const logged = (message: string) => recording.entries.filter(({ msg }) => msg === message);
  const api = await testApi(t, {
    log: recording.log,
    routes: [
      ...createAppRoutes({ kube, pool, clock: fakeClock(), baseUrl }),
      ...createWebhookRoutes(parts),
      ...createHistoryRoutes({ kube, pool, verifyToken: parts.verify, baseUrl }),
    ],
  });
  const create = async (name: string) =>
    (await api.call('POST', apps, { body: { name, image: `registry.test/shop/${name}:v1` } })).body.id as string;
  const project = (id: string, name: string) =>
    projectWorkload(pool, {
      id,
      kind: 'App',
      environmentId,
      project: 'shop',
      environment: 'prod',
      namespace: 'shop-prod',
      name,
      gated: false,
    });
  const [apiId, webId] = [await create('api'), await create('web')];
  await project(apiId, 'api');
  await project(webId, 'web');
  const enable = (app = 'api') => api.call('PUT', `${apps}/${app}/webhook`);
  const deploy = (headers: Record<string, string>, body: unknown = { image }, at = 'shop-prod/api') =>
    api.call('POST', `/api/v1/webhook/${at}`, { body, headers: { authorization: '', ...headers } });
  const count = async () => (await pool.query('SELECT 1 FROM deployments')).rowCount;
  return { kube, pool, api, apiId, create, project, enable, deploy, count, logged };
}

t.test('200: enabling shows URL and token; the token is stored encrypted, and deleted with the app', async (t) => {
  const { kube, api, apiId, enable } = await service(t);
  t.same((await api.call('GET', `${apps}/api/webhook`)).body, { enabled: false });
  const { status, body } = await enable();
  t.equal(status, 200);
  const { token, signingSecret, updatedAt, ...others } = body;
  t.same(others, { enabled: true, url: `${baseUrl}/api/v1/webhook/shop-prod/api`, version: 1, hasSecretUrl: false });
  t.match(
    { token, signingSecret, updatedAt },
    { token: /^svcwh_[a-z0-9]{40}$/, signingSecret: /^whsec_/, updatedAt: String },
  );
  t.same((await api.call('GET', `${apps}/api/webhook`)).body, body);
  const [secret] = kube.all<KubeObject & { data?: Record<string, string> }>(kinds.Secret);
  t.match(secret?.metadata, {
    name: 'app-api-webhook',
    namespace: 'shop-prod',
    labels: { 'app.kubernetes.io/managed-by': 'kipper', 'platform.svc/id': apiId },
    ownerReferences: [{ kind: 'App', name: 'api', controller: true }],
  });
  const stored = Buffer.from(secret?.data?.['v1'] ?? '', 'base64').toString();
  t.match(stored, /^v1\.k1\./);
  t.notMatch(stored, body.token);
});

t.test('202: a token deploys; the answer names id, revision and status URL', async (t) => {
  const { pool, api, apiId, enable, deploy } = await service(t);
  const { token } = (await enable()).body;
  const answer = await deploy({ 'x-svc-token': token }, { image, commit: 'c0ffee', repository: { name: 'shop' } });
  t.equal(answer.status, 202);
  t.match(answer.body, { revision: 1, status: 'accepted' });
  t.equal(answer.headers.get('location'), answer.body.statusUrl);
  t.equal(answer.body.statusUrl, `${baseUrl}/api/v1/projects/shop/deployments/${answer.body.id}`);
  const { rows } = await pool.query('SELECT * FROM deployments');
  t.match(rows, [{ workload_id: apiId, trigger: 'webhook', image, commit: 'c0ffee', actor: null, state: 'accepted' }]);
  t.match((await pool.query('SELECT * FROM work')).rows, [{ kind: 'rollouts', record_id: answer.body.id }]);
  const status = await api.call('GET', new URL(answer.body.statusUrl).pathname, {
    headers: { authorization: '', 'x-svc-token': token },
  });
  t.equal(status.status, 200);
  t.match(status.body, { app: 'api', revision: 1, status: 'accepted', current: false, commit: 'c0ffee' });
});

t.test('a commit message that is cut inside a character is recorded', async (t) => {
  const { pool, enable, deploy } = await service(t);
  const { token } = (await enable()).body;
  const [long, half] = [`${'x'.repeat(999)}\u{1f600}`, 'cut by its sender \ud83d'];
  for (const message of [long, half]) {
    const id = createHash('sha1').update(message).digest('hex');
    const push = { ref: 'refs/heads/main', after: id, commits: [{ id, message }] };
    const answer = await deploy({ 'x-gitlab-token': token, 'x-gitlab-event': 'Push Hook' }, push);
    t.equal(answer.status, 200, 'there is nothing to build');
  }
  const { rows } = await pool.query('SELECT commit_message AS message FROM deployments ORDER BY accepted_at');
  t.same(rows, [{ message: `${'x'.repeat(999)}\ufffd` }, { message: 'cut by its sender \ufffd' }]);
});

t.test('202: a signature over the exact bytes deploys as well', async (t) => {
  const { enable, deploy } = await service(t);
  const { token } = (await enable()).body;
  const bytes = `{ "image": "${image}" }`;
  const sign = (key: string, over = bytes) => `sha256=${createHmac('sha256', key).update(over).digest('hex')}`;
  t.equal((await deploy({ 'x-hub-signature-256': sign(token) }, bytes)).status, 202);
  const wrong = [
    sign(token, `{"image":"${image}"}`),
    sign('other'),
    sign(''),
    sign(token).slice(0, -2),
    sign(token).replace('sha256=', 'sha1='),
    'sha256=',
    '',
  ];
  for (const signature of wrong) {
    const answer = await deploy({ 'x-hub-signature-256': signature }, bytes);
    t.equal(answer.status, 401, signature);
    t.same(answer.body, refusal);
  }
  const both = await deploy({ 'x-svc-token': 'wrong', 'x-hub-signature-256': sign(token) }, bytes);
  t.equal(both.status, 401, 'a valid signature does not excuse a wrong token');
});

t.test('401: every failed authentication has the same answer, whatever else is wrong', async (t) => {
  const { pool, api, enable, deploy, count, logged } = await service(t);
  const { token } = (await enable()).body;
  const other = (await enable('web')).body.token;
  await deploy({ 'x-svc-token': other }, {}, 'shop-prod/web');
  await pool.query('DELETE FROM webhook_deliveries');
  await api.call('DELETE', `${apps}/web/webhook`);
  const answers = [
    await deploy({}),
    await deploy({ 'x-svc-token': '' }),
    await deploy({ 'x-svc-token': 'svcwh_wrong' }),
    await deploy({ 'x-svc-token': other }),
    await deploy({ 'x-svc-token': token }, { image }, 'shop-prod/web'),
    await deploy({ 'x-svc-token': other }, { image }, 'shop-prod/web'),
    await deploy({ 'x-svc-token': token }, { image }, 'shop-prod/none'),
    await deploy({ 'x-svc-token': token }, { image }, 'none-prod/api'),
    await deploy({ 'x-svc-token': token }, { image }, 'SHOP%2f..%2fx/api'),
    await deploy({ 'x-svc-token': 'wrong' }, 'no json'),
    await deploy({ 'x-svc-token': 'wrong', 'content-type': 'text/plain' }, 'x'),
    await deploy({ 'x-svc-token': 'wrong' }, {}),
    await deploy({ 'x-svc-token': other }, 'no json', 'shop-prod/web'),
  ];
  for (const [index, { status, text }] of answers.entries()) {
    t.equal(status, 401, `case ${index}`);
    t.equal(text, JSON.stringify(refusal), `case ${index}`);
  }
  t.equal(await count(), 0);
  const entries = logged('webhook request not authenticated');
  t.equal(entries.length, answers.length);
  t.match(entries[0], { namespace: 'shop-prod', app: 'api', sender: 'svc' });
  t.equal(entries.filter((entry) => !('app' in entry)).length, 1, 'what is no name may be a secret');
  for (const table of ['work', 'webhook_deliveries']) {
    t.equal((await pool.query(`SELECT 1 FROM ${table}`)).rowCount, 0, table);
  }
});

t.test('400, 413, 415 and 422: only an authenticated sender sees what is wrong with the body', async (t) => {
  const { enable, deploy, count } = await service(t);
  const { token } = (await enable()).body;
  const refused = async (body: unknown, headers: Record<string, string> = {}) => {
    const answer = await deploy({ 'x-svc-token': token, ...headers }, body);
    return `${answer.status} ${answer.body.code}`;
  };
  t.equal(await refused('{'), '400 invalid_json');
  t.equal(await refused(`${'['.repeat(10_000)}${']'.repeat(10_000)}`), '400 invalid_json', 'deeply nested');
  t.equal(await refused({}), '400 invalid_request');
  t.equal(await refused({ commit: 'c0ffee' }), '400 invalid_request');
  t.equal(await refused([]), '400 invalid_request');
  t.equal(await refused({ image: 7 }), '400 invalid_request');
  t.equal(await refused({ image, commit: 'c'.repeat(201) }), '400 invalid_request');
  t.equal(await refused({ image: 'registry.test/shop/api' }), '422 invalid_value');
  t.equal(await refused({ image: 'x;curl evil:1' }), '422 invalid_value');
  t.equal(await refused('image=x', { 'content-type': 'text/plain' }), '415 unsupported_media_type');
  t.equal(await refused({ image, more: 'x'.repeat(1024 * 1024) }), '413 body_too_large');
  t.equal(await count(), 0);
});

t.test('a redelivery returns the first deployment and creates none', async (t) => {
  const { enable, deploy, count } = await service(t);
  const { token } = (await enable()).body;
  for (const name of ['idempotency-key', 'x-github-delivery']) {
    const headers = { 'x-svc-token': token, [name]: `delivery-${name}` };
    const answers = await Promise.all(Array.from({ length: 5 }, () => deploy(headers)));
    t.same([...new Set(answers.map(({ status }) => status))], [202]);
    t.equal(new Set(answers.map(({ body }) => body.id)).size, 1);
  }
  t.equal(await count(), 2);
  const long = { 'x-svc-token': token, 'idempotency-key': 'k'.repeat(2000) };
  t.equal((await deploy(long)).body.id, (await deploy(long)).body.id);
});

t.test('regenerating creates a new token; the old one stops working', async (t) => {
  const { kube, enable, deploy, logged } = await service(t);
  const first = (await enable()).body;
  const second = (await enable()).body;
  t.not(second.token, first.token);
  t.equal(second.version, 2);
  t.equal((await deploy({ 'x-svc-token': first.token })).status, 401);
  t.equal((await deploy({ 'x-svc-token': second.token })).status, 202);
  await enable();
  const [secret] = kube.all<KubeObject & { data: Record<string, string> }>(kinds.Secret);
  t.same(Object.keys(secret?.data ?? {}), ['v2', 'v3'], 'old versions are dropped');
  const enabled = logged('audit').filter(({ action }) => action === 'webhook.enable');
  t.same(
    enabled.map(({ regenerated }) => regenerated),
    [false, true, true],
  );
});

t.test('only the current token works after several concurrent regenerations', async (t) => {
  const { api, enable, deploy } = await service(t);
  await enable();
  const answers = await Promise.all(Array.from({ length: 4 }, () => enable()));
  const { body } = await api.call('GET', `${apps}/api/webhook`);
  t.ok(answers.some((answer) => answer.body.token === body.token));
  for (const answer of answers.filter(({ status }) => status === 200)) {
    const expected = answer.body.token === body.token ? 202 : 401;
    t.equal((await deploy({ 'x-svc-token': answer.body.token })).status, expected);
  }
});

t.test('409: a token that another request has replaced is not shown', async (t) => {
  const { kube, pool, apiId, enable } = await service(t);
  await enable();
  kube.intercept = async ({ verb, kind }) => {
    if (kind === 'Secret' && verb === 'replace') await enableWebhook(pool, apiId, 7);
  };
  t.match(await enable(), { status: 409, body: { code: 'conflict', message: /svc app webhook status/ } });
});

t.test('409: a request that replaces a certain version keeps the token of another one', async (t) => {
  const { kube, api, enable, deploy } = await service(t);
  const replace = (replaces: number) => api.call('PUT', `${apps}/api/webhook`, { body: { replaces } });
  const refused = { status: 409, body: { code: 'conflict', message: /svc app webhook status/ } };
  t.match(await replace(1), refused, 'it was never enabled');
  t.match(await replace(0), { status: 200, body: { version: 1 } });
  t.match(await replace(0), refused, 'someone else enabled it');
  t.match(await replace(1), { status: 200, body: { version: 2 } });
  await api.call('DELETE', `${apps}/api/webhook`);
  t.match(await replace(1), refused);
  t.match(await replace(2), { status: 200, body: { version: 3 } });
  t.equal((await enable()).body.version, 4);
  const secrets = JSON.stringify(kube.all(kinds.Secret));
  t.match(await replace(3), refused);
  t.equal(JSON.stringify(kube.all(kinds.Secret)), secrets, 'a refusal writes nothing');
  // Another request replaces it while this one writes its token.
  let other: Awaited<ReturnType<typeof replace>> | undefined;
  kube.intercept = async ({ verb, kind }) => {
    if (kind !== 'Secret' || verb !== 'replace') return;
    kube.intercept = undefined;
    other = await replace(4);
  };
  t.match(await replace(4), refused);
  t.equal(other?.status, 200);
  t.equal((await deploy({ 'x-svc-token': other?.body.token })).status, 202, 'the token of the other request is valid');
});

t.test('204: a disabled webhook accepts nothing, and its token stays dead when it is enabled again', async (t) => {
  const { api, enable, deploy } = await service(t);
  const { token } = (await enable()).body;
  t.equal((await api.call('DELETE', `${apps}/api/webhook`)).status, 204);
  t.equal((await api.call('DELETE', `${apps}/api/webhook`)).status, 204);
  const webhook = (await api.call('GET', `${apps}/api/webhook`)).body;
  t.match(webhook, { enabled: false, version: 1 });
  t.notHas(webhook, 'token');
  t.equal((await deploy({ 'x-svc-token': token })).status, 401);
  const secondEnable = (await enable()).body;
  t.equal((await deploy({ 'x-svc-token': token })).status, 401);
  t.equal((await deploy({ 'x-svc-token': secondEnable.token })).status, 202);
});

t.test('a webhook disabled between authentication and acceptance accepts nothing', async (t) => {
  const { pool, enable, deploy, count } = await service(t);
  const { token } = (await enable()).body;
  beforeAccepting(pool, () => pool.query('UPDATE webhooks SET enabled = false'));
  const answer = await deploy({ 'x-svc-token': token });
  t.equal(answer.status, 401);
  t.same(answer.body, refusal);
  t.equal(await count(), 0);
  t.equal((await pool.query('SELECT FROM webhook_deliveries')).rowCount, 0, 'nor does the log show who was refused');
});

t.test(
  '200: the webhook of an app that was just created is enabled and tested as soon as the app is recorded',
  async (t) => {
    const polled = Promise.withResolvers<void>();
    const recorded = Promise.withResolvers<void>();
    const sleep = () => (polled.resolve(), recorded.promise);
    const { create, project, enable, api } = await service(t, { ...systemClock, sleep });
    const id = await create('new');
    const enabling = enable('new');
    await polled.promise;
    await project(id, 'new');
    recorded.resolve();
    t.match(await enabling, { status: 200, body: { enabled: true } });
    const test = await api.call('POST', `${apps}/new/webhook/test`, { body: { image: 'registry.test/shop/new:v2' } });
    t.match(test, { status: 200, body: { status: 202, reason: /would deploy registry.test\/shop\/new:v2/ } });
  },
);

t.test('409: an app that its controller has not observed, and a foreign Secret', async (t) => {
  let now = 0;
  const hurried: Clock = { ...systemClock, monotonic: () => now, sleep: (ms) => Promise.resolve(void (now += ms)) };
  const { kube, create, enable } = await service(t, hurried);
  await create('new');
  t.match((await enable('new')).body, { code: 'not_ready' });
  t.equal(now, 5_000, 'after a while');
  t.equal((await enable('none')).status, 404);
  kube.seed({ apiVersion: 'v1', kind: 'Secret', metadata: { name: webhookSecretName('web'), namespace: 'shop-prod' } });
  t.match((await enable('web')).body, { code: 'already_exists' });
});

t.test('deleting an app deletes its webhook', async (t) => {
  const { pool, apiId, enable, deploy } = await service(t);
  const { token } = (await enable()).body;
  await markWorkloadDeleted(pool, apiId);
  t.equal((await deploy({ 'x-svc-token': token })).status, 401);
});

t.test('a later app of the same name inherits neither token nor deployments', async (t) => {
  const { kube, pool, api, apiId, enable, deploy } = await service(t);
  const { token } = (await enable()).body;
  const { id } = (await deploy({ 'x-svc-token': token })).body;
  await markWorkloadDeleted(pool, apiId);
  const ref = { apiVersion: 'platform.svc/v1', kind: 'App', namespace: 'shop-prod', name: 'api' };
  await kube.delete(ref);
  await kube.mergePatch(ref, { metadata: { finalizers: null } });
  await kube.delete({ apiVersion: 'platform.svc/v1', kind: 'HostName', name: 'api--shop-prod.apps.test' });
  const created = await api.call('POST', apps, { body: { name: 'api', image } });
  t.equal(created.status, 201);
  await projectWorkload(pool, {
    id: created.body.id,
    kind: 'App',
    environmentId,
    project: 'shop',
    environment: 'prod',
    namespace: 'shop-prod',
    name: 'api',
    gated: false,
  });
  t.equal((await deploy({ 'x-svc-token': token })).status, 401);
  const fresh = (await enable()).body.token;
  const old = await api.call('GET', `/api/v1/projects/shop/deployments/${id}`, {
    headers: { authorization: '', 'x-svc-token': fresh },
  });
  t.same(old.body, refusal);
});

t.test('503: while the cluster is unreachable, a sender may retry; a token that was used works', async (t) => {
  const { kube, enable, deploy, logged } = await service(t);
  const { token } = (await enable()).body;
  const used = (await enable('web')).body.token;
  t.equal((await deploy({ 'x-svc-token': used }, { image }, 'shop-prod/web')).status, 202);
  kube.intercept = () => {
    throw new KubeError(503, 'ServiceUnavailable', 'no leader');
  };
  t.equal((await deploy({ 'x-svc-token': token })).status, 503);
  t.equal((await deploy({ 'x-svc-token': token }, { image }, 'shop-prod/none')).status, 503, 'for any app');
  t.equal((await deploy({ 'x-svc-token': used }, { image }, 'shop-prod/web')).status, 202);
  t.equal((await deploy({ 'x-svc-token': 'wrong' }, { image }, 'shop-prod/web')).status, 503);
  t.same(logged('webhook request not authenticated'), [], 'an outage is no failed authentication');
});
