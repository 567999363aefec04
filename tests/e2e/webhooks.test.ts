import { createHmac } from 'node:crypto';
import t from 'tap';
import { eventually, runningPlatform, testProject, type Answer } from '../support/platform.ts';

const platform = await runningPlatform();
const hello = (version: string) => `localhost:5000/svc/hello:${version}`;

interface Entry {
  revision: number;
  image: string;
  commit?: string;
  trigger: string;
  status: string;
  current: boolean;
}

t.test('a webhook rolls out, is recorded, and can be rolled back', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  await platform.ok(['app', 'create', 'api', '--image', hello('v1'), ...flags]);
  const app = await platform.json<{ url: string }>(['app', 'show', 'api', ...flags]);
  const webhook = await platform.json<{ url: string; token: string }>(['app', 'webhook', 'enable', 'api', ...flags]);
  t.equal(webhook.url, `${platform.info.api}/api/v1/webhook/${namespace}/api`);
  t.match(webhook.token, /^svcwh_/);

  const post = (headers: Record<string, string>, body: unknown, url = webhook.url): Promise<Answer> =>
    platform.request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  /** Until the ingress sends requests to the pods of this version. */
  const serves = (version: string) =>
    eventually(
      () => platform.request(app.url),
      (answer) => answer.status === 200 && answer.json()['version'] === version,
    );
  /** The images of the pods that are not terminating. */
  const images = async () => {
    const { stdout } = await platform.kubectl('-n', namespace, 'get', 'pods', '-l', 'app=api', '-o', 'json');
    const { items } = JSON.parse(stdout) as {
      items: { metadata: { deletionTimestamp?: string }; spec: { containers: { image: string }[] } }[];
    };
    return items
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .flatMap(({ spec }) => spec.containers.map(({ image }) => image));
  };
  const history = () => platform.json<Entry[]>(['app', 'history', 'api', ...flags]);
  const untilEnded = (statusUrl: string) =>
    eventually(
      () => platform.request(statusUrl, { headers: { 'X-Svc-Token': webhook.token } }),
      (answer) => !['accepted', 'rolling_out'].includes(String(answer.json()['status'])),
    );

  await t.test('refused requests get the same answer and record nothing', async (t) => {
    const before = await history();
    const deploy = { image: hello('v2') };
    const answers = await Promise.all([
      post({}, deploy),
      post({ 'X-Svc-Token': 'svcwh_wrong' }, deploy),
      post({ 'X-Svc-Token': webhook.token }, deploy, webhook.url.replace(/api$/, 'nothing')),
      post({ 'X-Hub-Signature-256': 'sha256=00' }, deploy),
    ]);
    t.same(new Set(answers.map((answer) => answer.status)), new Set([401]));
    t.equal(new Set(answers.map((answer) => answer.body)).size, 1);
    t.equal((await post({ 'X-Svc-Token': webhook.token }, '{"image":')).status, 400);
    t.equal((await post({ 'X-Svc-Token': webhook.token }, {})).status, 400);
    t.equal((await post({ 'X-Svc-Token': webhook.token }, { image: 'no tag' })).status, 422);
    t.same(await history(), before);
  });

  await t.test('202 with id and status URL; succeeded only once the new pods serve', async (t) => {
    const accepted = await post({ 'X-Svc-Token': webhook.token }, { image: hello('v2'), commit: 'abc1234' });
    t.equal(accepted.status, 202);
    const body = accepted.json();
    t.match(body, { id: /^[0-9a-f-]{36}$/, revision: 2 });
    const ended = await untilEnded(String(body['statusUrl']));
    t.equal(ended.json()['status'], 'succeeded');
    t.same(await images(), [hello('v2')]);
    await serves('v2');
    t.match(await history(), [
      { revision: 2, image: hello('v2'), commit: 'abc1234', trigger: 'webhook', status: 'succeeded', current: true },
      { revision: 1, image: hello('v1'), trigger: 'manual', status: 'succeeded', current: false },
    ]);
    const table = await platform.ok(['app', 'history', 'api', ...flags]);
    t.match(table, /REVISION\s+.*IMAGE\s+.*COMMIT\s+.*TRIGGER\s+.*WHEN/i);
  });

  await t.test('the status URL requires a session or the token of its app', async (t) => {
    const accepted = await post({ 'X-Svc-Token': webhook.token, 'Idempotency-Key': 'k1' }, { image: hello('v2') });
    const url = String(accepted.json()['statusUrl']);
    t.equal((await platform.request(url)).status, 401);
    t.equal((await platform.request(url, { headers: { 'X-Svc-Token': 'svcwh_wrong' } })).status, 401);
    const repeated = await post({ 'X-Svc-Token': webhook.token, 'Idempotency-Key': 'k1' }, { image: hello('v2') });
    t.equal(repeated.json()['id'], accepted.json()['id'], 'a redelivery is the same deployment');
    await untilEnded(url);
  });

  await t.test('rollback deploys the last earlier succeeded revision, as a new one', async (t) => {
    await platform.ok(['app', 'rollback', 'api', '--revision', '1', ...flags]);
    await serves('v1');
    const [newest] = await history();
    t.match(newest, { revision: 4, image: hello('v1'), trigger: 'rollback', status: 'succeeded', current: true });
    await platform.ok(['app', 'rollback', 'api', ...flags]);
    await serves('v2');
    const refused = await platform.svc(['app', 'rollback', 'api', '--revision', '99', ...flags]);
    t.equal(refused.code, 1);
  });

  await t.test('a signature over the raw body is accepted like the token', async (t) => {
    const body = JSON.stringify({ image: hello('v1'), commit: 'def5678' });
    const signature = `sha256=${createHmac('sha256', webhook.token).update(body).digest('hex')}`;
    t.equal((await post({ 'X-Hub-Signature-256': signature }, `${body} `)).status, 401, 'altered bytes');
    const accepted = await post({ 'X-Hub-Signature-256': signature }, body);
    t.equal(accepted.status, 202);
    await untilEnded(String(accepted.json()['statusUrl']));
  });

  await t.test('?wait returns the result; headers identify a git host; the log shows both', async (t) => {
    const waited = await post({ 'X-Svc-Token': webhook.token }, { image: hello('v2') }, `${webhook.url}?wait=120`);
    t.equal(waited.status, 200);
    t.match(waited.json(), { status: 'succeeded' });
    const push = JSON.stringify({
      ref: 'refs/heads/main',
      after: '4c0ffee0'.repeat(5),
      head_commit: { id: '4c0ffee0'.repeat(5), message: 'Fix it', author: { name: 'Ann' } },
    });
    const signature = `sha256=${createHmac('sha256', webhook.token).update(push).digest('hex')}`;
    const headers = { 'X-GitHub-Event': 'push', 'X-GitHub-Delivery': 'd1', 'X-Hub-Signature-256': signature };
    const skipped = await post(headers, push);
    t.match(skipped.json(), { status: 'skipped', reason: /runs an image/ });
    t.equal((await post(headers, push)).json()['id'], skipped.json()['id']);
    const log = await platform.json<unknown[]>(['app', 'webhook', 'deliveries', 'api', '--limit', '3', ...flags]);
    t.match(log, [
      { sender: 'github', event: 'push', deliveryId: 'd1', verdict: 'duplicate' },
      { sender: 'github', verdict: 'skipped' },
      { sender: 'svc', verdict: 'accepted' },
    ]);
    const [newest] = await history();
    t.match(newest, { status: 'skipped', commit: '4c0ffee0'.repeat(5) });
    const { secretUrl } = await platform.json<{ secretUrl: string }>([
      'app',
      'webhook',
      'set',
      'api',
      '--secret-url',
      'on',
      '--tags',
      'v*',
      ...flags,
    ]);
    const pushed = { docker_url: 'localhost:5000/svc/hello', updated_tags: ['latest', 'v1'] };
    t.equal((await post({}, pushed, `${secretUrl}x`)).status, 401);
    const accepted = await post({}, pushed, secretUrl);
    t.equal(accepted.status, 202);
    t.equal((await untilEnded(String(accepted.json()['statusUrl']))).json()['image'], hello('v1'));
  });

  await t.test('a regenerated token invalidates the old one; a disabled webhook accepts none', async (t) => {
    const renewed = await platform.json<{ token: string }>(['app', 'webhook', 'enable', 'api', ...flags]);
    t.not(renewed.token, webhook.token);
    t.equal((await post({ 'X-Svc-Token': webhook.token }, { image: hello('v2') })).status, 401);
    const status = await platform.json<{ token: string }>(['app', 'webhook', 'status', 'api', ...flags]);
    t.equal(status.token, renewed.token);
    await platform.ok(['app', 'webhook', 'disable', 'api', ...flags]);
    t.equal((await post({ 'X-Svc-Token': renewed.token }, { image: hello('v2') })).status, 401);
  });
});

t.test('a newer deployment supersedes one that has not ended', async (t) => {
  const { flags } = await testProject(t, platform);
  await platform.ok(['app', 'create', 'api', '--image', hello('v1'), ...flags]);
  for (const version of ['v2', 'v1', 'v2']) {
    await platform.ok(['app', 'update', 'api', '--image', hello(version), '--no-wait', ...flags]);
  }
  const ended = await eventually(
    () => platform.json<Entry[]>(['app', 'history', 'api', ...flags]),
    (items) => items.every((entry) => !['accepted', 'rolling_out'].includes(entry.status)),
  );
  t.same(
    ended.map((entry) => entry.revision),
    [4, 3, 2, 1],
  );
  t.equal(ended[0]?.status, 'succeeded');
  t.equal(ended[0]?.current, true);
  for (const entry of ended.slice(1, 3)) t.match(entry.status, /^(superseded|succeeded)$/);
});
