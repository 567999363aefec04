import { once } from 'node:events';
import pg from 'pg';
import t from 'tap';
import { deploymentEndsChannel } from '../../../functions/webhooks/deployment-completion.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { newId, type Id } from '../../../runtime/domain/ids.ts';
import { endDeployment, startDeployment, succeedDeployment } from '../../../runtime/records/deployments.ts';
import { enableWebhook } from '../../../runtime/records/webhooks.ts';
import { createListener } from '../../../runtime/db/listener.ts';
import { silentLog } from '../../support/log.ts';
import { beforeAccepting } from '../../support/webhooks.ts';
import { hexHmac, hookedApp, payload, type HookedApp, type HookedAppOptions, type Json } from './hooked-app.ts';

const image = 'registry.test/shop/api:v2';
const refusal = { code: 'invalid_webhook_token', message: 'The webhook token or signature is missing or wrong.' };

/** An app with notifications of ended deployments, as in console-api. */
async function heardApp(t: { teardown(end: () => unknown): void }, options: HookedAppOptions = {}) {
  const app = await hookedApp(t, options);
  const listening = new AbortController();
  const listener = createListener({
    url: app.url,
    channel: deploymentEndsChannel,
    clock: systemClock,
    log: silentLog,
    onNotify: (payload) => {
      listening.abort();
      app.parts.deployments.notified(payload);
    },
  });
  const connected = once(listening.signal, 'abort');
  listener.start();
  t.teardown(() => listener.stop());
  await connected;
  return app;
}

/** Starts a waiting request, and returns it once its deployment exists. */
async function waiting(app: HookedApp, seconds = 60) {
  const before = (await app.history()).length;
  const answer = app.send({ 'x-svc-token': app.token }, { image }, `?wait=${seconds}`);
  for (;;) {
    const items = await app.history();
    if (items.length > before) return { answer, id: items[0].id as string };
  }
}

t.test('?wait waits until the deployment ends, and the status code is its result', async (t) => {
  const app = await heardApp(t);
  const { pool } = app;
  const goodDelivery = await waiting(app);
  await startDeployment(pool, goodDelivery.id);
  await succeedDeployment(pool, goodDelivery.id);
  t.match(await goodDelivery.answer, { status: 200, body: { id: goodDelivery.id, revision: 1, status: 'succeeded' } });

  const badDelivery = await waiting(app);
  await endDeployment(pool, badDelivery.id, 'failed', 'The image cannot be pulled.');
  t.match(await badDelivery.answer, {
    status: 424,
    body: { status: 'failed', code: 'deployment_failed', reason: 'The image cannot be pulled.', statusUrl: String },
  });

  const older = await waiting(app);
  const newer = await waiting(app);
  t.match(await older.answer, { status: 409, body: { status: 'superseded', code: 'deployment_superseded' } });
  await endDeployment(pool, newer.id, 'cancelled', 'Cancelled by ann@svc.local.');
  t.match(await newer.answer, { status: 409, body: { code: 'deployment_cancelled', message: /by ann@svc.local/ } });

  const timedOut = await app.send({ 'x-svc-token': app.token }, { image }, '?wait=0.05');
  t.match(timedOut, { status: 202, body: { status: 'accepted', revision: 5 } });
  const stopped = await waiting(app);
  app.parts.deployments.stop();
  t.match(await stopped.answer, { status: 202, body: { status: 'accepted' } }, 'a process that stops ends the wait');
  for (const wrong of ['-1', '301', 'x']) {
    const refused = await app.send({ 'x-svc-token': app.token }, { image }, `?wait=${wrong}`);
    t.match(
      refused,
      { status: 400, body: { message: /the query parameter wait must be a number of seconds from 0 to 300/ } },
      wrong,
    );
  }
});

t.test('a request waits only if it asks to', async (t) => {
  const { parts, pool, token, send, call } = await hookedApp(t);
  const image = 'svendowideit/testhook:1';
  const waits: number[] = [];
  Object.assign(parts.deployments, { wait: (_id: string, { ms }: { ms: number }) => void waits.push(ms) });
  const headers = { 'x-svc-token': token, 'idempotency-key': 'd1' };
  const { body } = await send(headers, { image });
  await endDeployment(pool, body.id, 'failed', 'No.');
  t.match(await send(headers, { image }), { status: 202, body: { id: body.id } }, 'a redelivery');
  t.equal((await send(headers, { image }, '?wait=0')).status, 202);
  const { secretUrl } = (await call('PATCH', '', { secretUrl: true })).body;
  t.equal((await send({}, payload('docker-hub-push'), `/${secretUrl.split('/').at(-1)}`)).status, 202);
  t.same(waits, []);
  t.equal((await send(headers, { image }, '?wait=0.5')).status, 424, 'the result is known');
  t.same(waits, [500]);
});

t.test('beyond the rate: 429 with Retry-After, for this app and authenticated senders only', async (t) => {
  const app = await hookedApp(t, { rate: { perSecond: 0.1, burst: 3 } });
  const { send, token, deliveries, parts, workloadId } = app;
  for (let tries = 0; tries < 5; tries++) t.equal((await send({ 'x-svc-token': 'wrong' }, { image })).status, 401);
  for (let tries = 0; tries < 3; tries++) t.equal((await send({ 'x-svc-token': token }, { image })).status, 202);
  const limited = await send({ 'x-svc-token': token }, { image });
  t.equal(limited.status, 429);
  t.match(limited.body, { code: 'too_many_requests' });
  const wait = Number(limited.headers.get('retry-after'));
  t.ok(wait > 0 && wait <= 10, `${wait}`);
  t.same(
    (await send({ 'x-svc-token': 'wrong' }, { image })).body,
    refusal,
    'an unauthenticated sender does not see it',
  );
  t.equal((await deliveries()).length, 3);
  t.equal(parts.limit.take(newId()), 0, 'another app');
  t.ok(parts.limit.take(workloadId) > 0);
  await send({ 'x-svc-token': token }, '{');
  const metrics = await parts.registry.metrics();
  t.match(metrics, 'webhook_requests_total{sender="svc",verdict="accepted"} 3');
  t.match(metrics, 'webhook_requests_total{sender="svc",verdict="limited"} 2');
  t.match(metrics, 'webhook_requests_total{sender="svc",verdict="unauthenticated"} 6');
});

t.test('a replaced token works until its grace ends; the time of acceptance counts', async (t) => {
  const { pool, call, send, token, history, workloadId } = await hookedApp(t);
  const second = (await call('PUT', '', { graceSeconds: 3_600 })).body;
  t.ok(Math.abs(Date.parse(second.graceUntil) - Date.now() - 3_600_000) < 60_000);
  const deploy = async (sentToken: string) => (await send({ 'x-svc-token': sentToken }, { image })).status;
  t.same([await deploy(token), await deploy(second.token)], [202, 202]);
  const text = JSON.stringify({ image });
  t.equal(
    (await send({ 'x-hub-signature-256': `sha256=${hexHmac(token, text)}` }, text)).status,
    202,
    'signatures too',
  );
  const end = () => pool.query(`UPDATE webhooks SET previous_until = clock_timestamp()`);
  const count = (await history()).length;
  beforeAccepting(pool, end);
  t.same((await send({ 'x-svc-token': token }, { image })).body, refusal);
  t.equal((await history()).length, count);
  t.same([await deploy(token), await deploy(second.token)], [401, 202]);
  t.notHas((await call('GET')).body, 'graceUntil');
  const third = (await call('PUT', '', { graceSeconds: 60 })).body.token;
  const fourth = (await call('PUT', '', { graceSeconds: 60 })).body.token;
  t.same(
    [await deploy(second.token), await deploy(third), await deploy(fourth)],
    [401, 202, 202],
    'one older token at most',
  );
  const fifth = (await call('PUT', '', {})).body.token;
  t.same([await deploy(fourth), await deploy(fifth)], [401, 202], 'at once without a grace');
  await call('DELETE');
  await call('PUT', '', { graceSeconds: 60 });
  t.equal(await deploy(fifth), 401, 'a disabled token has no grace');
  t.equal(await enableWebhook(pool, workloadId, 1), false);
  t.equal((await call('PUT', '', { graceSeconds: 2_592_001 })).status, 400);
});

t.test('409: an image while a git source is configured changes nothing; a commit rebuilds', async (t) => {
  const { pool, token, send, history, deliveries } = await hookedApp(t, { gitBranch: 'main' });
  const headers = { 'x-svc-token': token };
  for (const body of [{ image }, { image, commit: '4f1c2aa' }]) {
    const refused = await send(headers, body);
    t.equal(refused.status, 409);
    t.match(refused.body, { code: 'git_source_configured', message: /svc app git remove api/ });
  }
  t.same(await history(), []);
  t.match(await deliveries(), [{ verdict: 'refused', status: 409, code: 'git_source_configured' }, {}]);
  t.equal((await send(headers, {})).status, 400);
  for (const commit of ['main', 'HEAD', '$(id)', '--help', '4f1c', 'g'.repeat(40), `4f1c2aa\n`]) {
    t.equal((await send(headers, { commit })).status, 422, commit);
  }
  const about = { commitMessage: 'Fix\u0000 it', commitAuthor: 'Ann', branch: 'main' };
  t.equal((await send(headers, { commit: '4F1C2AA', ...about })).status, 202);
  t.match(await history(), [{ commit: '4f1c2aa', commitMessage: 'Fix it', commitAuthor: 'Ann', branch: 'main' }]);
  t.match((await pool.query(`SELECT kind FROM work WHERE kind <> 'polling'`)).rows, [{ kind: 'builds' }]);
});

t.test('the log has every authenticated request, with secrets masked, and no other', async (t) => {
  const { pool, token, send, call, deliveries, parts } = await hookedApp(t, { gitBranch: 'develop' });
  await send({ 'x-svc-token': 'wrong' }, { image });
  t.same(await deliveries(), []);
  await send({ 'x-svc-token': token }, '{');
  await send({ 'x-svc-token': token }, `${'['.repeat(65)}${']'.repeat(65)}`);
  await send({ 'x-svc-token': token }, { commit: '4f1c2aa', more: { password: 'hunter2', list: [token, 'plain'] } });
  const text = payload('gitea-push', (example) => (example.secret = 'hunter2'));
  const headers = { 'x-gitea-event': 'push', 'x-gitea-delivery': 'g1', 'x-gitea-signature': hexHmac(token, text) };
  await send(headers, text);
  const items = await deliveries();
  t.match(items, [
    { sender: 'gitea', event: 'push', deliveryId: 'g1', verdict: 'accepted', status: 202, revision: 2 },
    { sender: 'svc', verdict: 'accepted', revision: 1 },
    { sender: 'svc', verdict: 'refused', status: 400, code: 'invalid_json', reason: /64 nested levels/ },
    { sender: 'svc', verdict: 'refused', status: 400, code: 'invalid_json' },
  ]);
  t.match(await parts.registry.metrics(), 'webhook_requests_total{sender="svc",verdict="refused"} 2');
  const one = (await call('GET', `/deliveries/${items[1].id}`)).body;
  t.same(JSON.parse(one.body), { commit: '4f1c2aa', more: { password: '[masked]', list: ['[masked]', 'plain'] } });
  await send(
    { 'x-svc-token': token, 'content-type': 'application/x-www-form-urlencoded' },
    JSON.stringify({ image, password: 'hunter2' }),
  );
  const [untyped] = await deliveries();
  t.match(untyped, { verdict: 'refused', status: 415 });
  t.same(JSON.parse((await call('GET', `/deliveries/${untyped.id}`)).body.body), { image, password: '[masked]' });
  const records = JSON.stringify((await pool.query('SELECT * FROM webhook_deliveries')).rows);
  for (const secret of ['hunter2', token]) t.notMatch(records, secret);
  const page = (await call('GET', '/deliveries?limit=4')).body;
  t.equal(page.items.length, 4);
  t.match((await call('GET', `/deliveries?limit=4&cursor=${page.nextCursor}`)).body.items, [{ id: items[3].id }]);
  for (const id of [newId(), 'x']) t.equal((await call('GET', `/deliveries/${id}`)).status, 404);
});

t.test('a redelivery repeats it with the current settings, as a separate delivery', async (t) => {
  const { token, send, call, history, deliveries } = await hookedApp(t, { gitBranch: 'main' });
  const text = payload('gitea-push');
  const headers = { 'x-gitea-event': 'push', 'x-gitea-delivery': 'g1', 'x-gitea-signature': hexHmac(token, text) };
  t.match((await send(headers, text)).body, { status: 'ignored' });
  const [first] = await deliveries();
  await call('PATCH', '', { branch: 'develop' });
  const redelivery = await call('POST', `/deliveries/${first.id}/redeliver`);
  t.equal(redelivery.status, 200);
  t.match(redelivery.body, {
    sender: 'gitea',
    event: 'push',
    verdict: 'accepted',
    redeliveryOf: first.id,
    actor: 'admin@svc.local',
    revision: 1,
  });
  t.not(redelivery.body.deliveryId, first.deliveryId);
  t.match((await call('POST', `/deliveries/${first.id}/redeliver`)).body, { verdict: 'accepted', revision: 2 });
  t.match(await history(), [
    { actor: 'admin@svc.local', trigger: 'webhook', branch: 'develop' },
    { status: 'superseded' },
  ]);
  await send({ 'x-svc-token': token }, '{');
  const [unread] = await deliveries();
  t.match(await call('POST', `/deliveries/${unread.id}/redeliver`), { status: 409, body: { code: 'conflict' } });
  await call('DELETE');
  t.equal((await call('POST', `/deliveries/${first.id}/redeliver`)).status, 409, 'not while the webhook is disabled');
  t.equal((await call('POST', '/test', {})).status, 409);
});

t.test('a test reports the result without deploying', async (t) => {
  const { call, history, deliveries } = await hookedApp(t);
  const testOutcome = async (body: Json) => {
    const { verdict, status, reason, code } = (await call('POST', '/test', body)).body;
    return `${verdict} ${status} ${code ?? reason}`;
  };
  t.equal(await testOutcome({}), 'ignored 200 Test: the webhook is enabled and accepts requests.');
  t.equal(await testOutcome({ image }), `ignored 202 Test: this would deploy ${image}.`);
  t.equal(await testOutcome({ image: 'no tag' }), 'refused 422 invalid_value');
  t.match(await testOutcome({ branch: 'main' }), /^ignored 200 Test: this would be skipped\. The app runs an image/);
  t.equal(await testOutcome({ commit: '4f1c2aa' }), 'refused 400 invalid_request');
  t.equal(await testOutcome({ image, branch: 'main' }), `ignored 202 Test: this would deploy ${image}.`);
  t.same(await history(), []);
  const [newest] = await deliveries();
  t.match(newest, { sender: 'test', actor: 'admin@svc.local' });
  t.match(await call('POST', `/deliveries/${newest.id}/redeliver`), {
    status: 409,
    body: { code: 'conflict', message: /was a test, so it cannot be repeated/ },
  });
});

t.test('a test of an app with a git source may name a branch, a commit or both', async (t) => {
  const { call } = await hookedApp(t, { gitBranch: 'main' });
  for (const [body, status, reason] of [
    [{ branch: 'main' }, 202, `Test: this would deploy the commit ${'0'.repeat(40)}.`],
    [{ branch: 'main', commit: '4f1c2aa' }, 202, 'Test: this would deploy the commit 4f1c2aa.'],
    [{ commit: '4f1c2aa' }, 202, 'Test: this would deploy the commit 4f1c2aa.'],
    [{ branch: 'x' }, 200, 'The branch "x" was pushed; the webhook deploys the branch "main".'],
  ] as const) {
    t.match((await call('POST', '/test', body)).body, { verdict: 'ignored', status, reason });
  }
});

t.test('a delivery shows what applies to it, and nothing else', async (t) => {
  const { token, send, call, deliveries } = await hookedApp(t);
  await send({ 'x-svc-token': token }, { image });
  await send({ 'x-svc-token': token }, '{');
  const text = payload('gitea-push');
  await send({ 'x-gitea-event': 'push', 'x-gitea-delivery': 'g1', 'x-gitea-signature': hexHmac(token, text) }, text);
  const [push] = await deliveries();
  await call('POST', `/deliveries/${push.id}/redeliver`);
  const common = ['id', 'receivedAt', 'sender', 'status', 'verdict'];
  const deployed = ['deploymentId', 'deploymentStatus', 'reason'];
  t.same(
    (await deliveries()).map((delivery: Json) => Object.keys(delivery).sort()),
    [
      [...common, ...deployed, 'actor', 'deliveryId', 'event', 'redeliveryOf'],
      [...common, ...deployed, 'deliveryId', 'event'],
      [...common, 'code', 'reason'],
      [...common, 'deploymentId', 'deploymentStatus', 'revision'],
    ].map((fields) => fields.sort()),
  );
});

t.test('a delivery shows what became of its deployment, and the tag filter holds for CI', async (t) => {
  const app = await hookedApp(t);
  const { body } = await app.send({ 'x-svc-token': app.token }, { image });
  t.match(await app.deliveries(), [{ verdict: 'accepted', deploymentStatus: 'accepted' }]);
  await endDeployment(app.pool, (body as { id: Id }).id, 'failed', 'The image cannot be pulled.');
  t.match(await app.deliveries(), [{ verdict: 'accepted', status: 202, deploymentStatus: 'failed' }]);
  t.equal((await app.call('PATCH', '', { tags: 'release-*' })).status, 200);
  t.match(await app.send({ 'x-svc-token': app.token }, { image }), { status: 200, body: { status: 'ignored' } });
  const [ignored] = await app.deliveries();
  t.match(ignored, { verdict: 'ignored', reason: /The tag "v2" does not match/ });
  t.notHas(ignored, 'deploymentStatus');
});

t.test('an app has only its own deliveries', async (t) => {
  const one = await hookedApp(t);
  await one.send({ 'x-svc-token': one.token }, { image });
  const [delivery] = await one.deliveries();
  await one.api.call('POST', '/api/v1/projects/shop/apps', { body: { name: 'web', image } });
  const below = `/api/v1/projects/shop/apps/web/webhook/deliveries`;
  t.same((await one.api.call('GET', below)).body, { items: [] });
  t.equal((await one.api.call('GET', `${below}/${delivery.id}`)).status, 404);
});

t.test('a delivery and its deployment are recorded together or not at all', async (t) => {
  const { pool, token, send, history, url } = await hookedApp(t);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('ALTER TABLE webhook_deliveries ADD CONSTRAINT none CHECK (false) NOT VALID');
  await client.end();
  t.equal((await send({ 'x-svc-token': token }, { image })).status, 500);
  t.same(await history(), []);
  t.equal((await pool.query('SELECT FROM work')).rowCount, 0);
});

t.test('422: a filter that can never match', async (t) => {
  const { call } = await hookedApp(t);
  for (const branch of ['release/*', 'a b', '/main', 'main/', '-x', 'a..b', 'a@{1}', 'a\n']) {
    t.match(await call('PATCH', '', { branch }), { status: 422, body: { code: 'invalid_value' } }, branch);
  }
  for (const tags of ['v*[', 'v1,,v2', ' ', 'a b', '.x', 'registry/api:v1']) {
    t.match(await call('PUT', '', { tags }), { status: 422, body: { code: 'invalid_value' } }, tags);
  }
  t.match((await call('GET')).body, { version: 1, branch: undefined, tags: undefined }, 'and nothing changes');
  const fine = { branch: 'fix/#12-ä', tags: 'v*, release-*,*' };
  t.match(await call('PATCH', '', fine), { status: 200, body: fine });
});
