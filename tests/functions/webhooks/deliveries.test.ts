import { once } from 'node:events';
import pg from 'pg';
import t from 'tap';
import { createDeploymentWaiter, deploymentEndsChannel } from '../../../functions/webhooks/deployment-completion.ts';
import { maskBody } from '../../../functions/webhooks/mask.ts';
import { createRateLimit } from '../../../functions/webhooks/rate-limit.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { endDeployment, startDeployment, succeedDeployment } from '../../../runtime/records/deployments.ts';
import { enableWebhook } from '../../../runtime/records/webhooks.ts';
import { createListener } from '../../../runtime/db/listener.ts';
import { fakeClock } from '../../support/clock.ts';
import { silentLog } from '../../support/log.ts';
import { beforeAccepting } from '../../support/webhooks.ts';
import { hexHmac, hookedApp, payload, type HookedApp, type HookedAppOptions, type Json } from './hooked-app.ts';

const image = 'registry.test/shop/api:v2';
const refusal = { code: 'invalid_webhook_token', message: 'The webhook token or signature is missing or wrong.' };

/** An app with notifications of ended deployments, as in console-api. */
async function heardApp(t: { teardown(end: () => unknown): void }, options: HookedAppOptions = {}) {
  const app = await hookedApp(t, options);
  const heard = new AbortController();
  const listener = createListener({
    url: app.url,
    channel: deploymentEndsChannel,
    clock: systemClock,
    log: silentLog,
    onNotify: (payload) => {
      heard.abort();
      app.parts.deployments.notified(payload);
    },
  });
  const connected = once(heard.signal, 'abort');
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
  const good = await waiting(app);
  await startDeployment(pool, good.id);
  await succeedDeployment(pool, good.id);
  t.match(await good.answer, { status: 200, body: { id: good.id, revision: 1, status: 'succeeded' } });

  const bad = await waiting(app);
  await endDeployment(pool, bad.id, 'failed', 'The image cannot be pulled.');
  t.match(await bad.answer, {
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
      { status: 400, body: { message: /query\.wait: must be a number of seconds from 0 to 300/ } },
      wrong,
    );
  }
});

t.test('a wait queries the database once, and again when a notification may have been lost', async (t) => {
  const { pool, send, token } = await hookedApp(t);
  const { body } = await send({ 'x-svc-token': token }, { image });
  const clock = fakeClock();
  let looks = 0;
  const counting = new Proxy(pool, {
    get(target, name, receiver) {
      if (name === 'query') looks++;
      const value: unknown = Reflect.get(target, name, receiver);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  const ends = createDeploymentWaiter({ pool: counting, clock });
  const never = new AbortController().signal;
  const waits = ends.wait(body.id, 60_000, never);
  while (clock.sleepers() === 0) await new Promise(setImmediate);
  t.equal(looks, 1);
  ends.notified(newId());
  await new Promise(setImmediate);
  t.equal(looks, 1, 'another deployment’s end');
  await endDeployment(pool, body.id, 'failed', 'No.');
  ends.notified(undefined);
  t.match(await waits, { state: 'failed' });
  t.equal(looks, 2);
  t.equal(await ends.wait(newId(), 60_000, never), undefined);
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
  const metrics = await parts.registry.metrics();
  t.match(metrics, 'webhook_requests_total{sender="svc",verdict="accepted"} 3');
  t.match(metrics, 'webhook_requests_total{sender="svc",verdict="limited"} 1');
  t.match(metrics, 'webhook_requests_total{sender="svc",verdict="unauthenticated"} 6');
});

t.test('the rate in numbers', async (t) => {
  const clock = fakeClock();
  const limit = createRateLimit({ clock, rate: { perSecond: 2, burst: 4 } });
  const take = (count: number) => Array.from({ length: count }, () => limit.take('a'));
  t.same(take(6), [0, 0, 0, 0, 1, 1]);
  await clock.advance(500);
  t.same(take(2), [0, 1]);
  await clock.advance(60_000);
  t.same(take(5), [0, 0, 0, 0, 1]);
  t.equal(limit.take('b'), 0);
});

t.test('a replaced token works until its grace ends; the time of acceptance counts', async (t) => {
  const { pool, call, send, token, history, workloadId } = await hookedApp(t);
  const second = (await call('PUT', '', { graceSeconds: 3_600 })).body;
  t.ok(Math.abs(Date.parse(second.graceUntil) - Date.now() - 3_600_000) < 60_000);
  const deploy = async (given: string) => (await send({ 'x-svc-token': given }, { image })).status;
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
  const { pool, token, send, call, deliveries } = await hookedApp(t, { gitBranch: 'develop' });
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
  const again = await call('POST', `/deliveries/${first.id}/redeliver`);
  t.equal(again.status, 200);
  t.match(again.body, {
    sender: 'gitea',
    event: 'push',
    verdict: 'accepted',
    redeliveryOf: first.id,
    actor: 'admin@svc.local',
    revision: 1,
  });
  t.not(again.body.deliveryId, first.deliveryId);
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
  const tried = async (body: Json) => {
    const { verdict, status, reason, code } = (await call('POST', '/test', body)).body;
    return `${verdict} ${status} ${code ?? reason}`;
  };
  t.equal(await tried({}), 'ignored 200 Test: the webhook is enabled and accepts requests.');
  t.equal(await tried({ image }), `ignored 202 Test: this would deploy ${image}.`);
  t.equal(await tried({ image: 'no tag' }), 'refused 422 invalid_value');
  t.match(await tried({ branch: 'main' }), /^ignored 200 Test: this would be skipped\. The app runs an image/);
  t.equal(await tried({ commit: '4f1c2aa' }), 'refused 400 invalid_request');
  t.same(await history(), []);
  const [newest] = await deliveries();
  t.match(newest, { sender: 'test', actor: 'admin@svc.local' });
  t.match(await call('POST', `/deliveries/${newest.id}/redeliver`), {
    status: 409,
    body: { code: 'conflict', message: /was a test, so it cannot be repeated/ },
  });
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

t.test('masking: fields by their names, texts by their form', (t) => {
  const mask = (value: unknown, secrets: string[] = []) => maskBody(Buffer.from(''), value, secrets);
  for (const field of [
    'password',
    'client_secret',
    'access_token',
    'privateKey',
    'apiKey',
    'Authorization',
    'accessToken',
  ]) {
    t.equal(mask({ [field]: 'abc' }), `{"${field}":"[masked]"}`, field);
  }
  for (const field of ['tokenizer', 'commit', 'key', 'message', 'keys_url'])
    t.notMatch(mask({ [field]: 'abc' }), 'masked');
  for (const text of [
    `ghp_${'a'.repeat(36)}`,
    `glpat-${'a'.repeat(20)}`,
    'https://ann:hunter2@git.test/x',
    `AKIA${'A'.repeat(16)}`,
    `-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----`,
  ]) {
    const masked = mask({ message: `see ${text} there` });
    t.match(masked, /see .*\[masked\].* there/, text.slice(0, 20));
    t.notMatch(masked, /hunter2|aaaa|AAAA|abc/);
  }
  t.equal(mask('x the-token y', ['the-token']), '"x [masked] y"');
  const long = maskBody(Buffer.from(''), 'x'.repeat(100_000), []);
  t.equal(long.length, 65_536);
  t.end();
});

t.test('masking: a secret field is masked with all its content', (t) => {
  const mask = (value: unknown) => maskBody(Buffer.from(''), value, []);
  for (const value of [{ DB: 'hunter2' }, { pass: ['x'] }, ['hunter2'], 1234, true]) {
    t.equal(mask({ at: [{ secrets: value }] }), '{"at":[{"secrets":"[masked]"}]}', JSON.stringify(value));
  }
  t.equal(
    mask({ credentials: { pass: 'hunter2' }, token: null, secret: '' }),
    '{"credentials":"[masked]","token":null,"secret":""}',
  );
  t.end();
});

t.test('masking: unparsed text is masked by its form, or not stored', (t) => {
  const mask = (body: string) => maskBody(Buffer.from(body), undefined, ['the-token']);
  t.equal(mask('{"image":"r/api:1","password":"hunter2"}'), '{"image":"r/api:1","password":"[masked]"}');
  t.equal(mask('image=r%2Fapi:1&password=hunter2&by=the-token'), 'image=r/api:1&password=[masked]&by=[masked]');
  t.equal(mask('a=%7B%22secret%22:%5B1%5D%7D&b=x%00'), 'a={"secret":"[masked]"}&b=x\uFFFD');
  for (const body of [
    '{"password":"hunter2"',
    '{"a":"b=c","password":"hunter2"',
    'password: hunter2',
    'hunter2',
    'image=r/api:1\npassword=hunter2',
    'image=r/api:1password=hunter2',
    'a=%7B%22password%22:%22hunter2',
    '['.repeat(65) + '"hunter2"' + ']'.repeat(65),
  ]) {
    t.match(mask(body), /^\[not stored: /, body);
  }
  t.end();
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
