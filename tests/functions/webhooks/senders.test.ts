import { createHmac } from 'node:crypto';
import t from 'tap';
import { projectGitSource } from '../../../runtime/records/git-sources.ts';
import { githubExamples, hexHmac, hookedApp, payload, type Json } from './hooked-app.ts';

const asGithub = (token: string, event: string, text: string, delivery = 'd1') => ({
  'x-github-event': event,
  'x-github-delivery': delivery,
  'x-hub-signature-256': `sha256=${hexHmac(token, text)}`,
});

const standard = (secret: string, text: string, { id = 'msg_1', at = new Date(), prefix = 'v1,' } = {}) => {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const mac = createHmac('sha256', key).update(`${id}.${timestamp}.${text}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `${prefix}${mac}` };
};

const commit = '6113728f27ae82c7b1a177c8d03f9e96e0adf246';

t.test('every published GitHub event is answered, and only pushes to the branch deploy', async (t) => {
  const { token, send, history, deliveries } = await hookedApp(t, {
    gitBranch: 'master',
    rate: { perSecond: 2, burst: 500 },
  });
  let count = 0;
  for (const event of ['push', 'ping', 'package', 'create', 'delete', 'issues', 'workflow_run', 'release']) {
    for (const example of githubExamples(event)) {
      const text = JSON.stringify(example);
      const { status, body } = await send(asGithub(token, event, text, `d${count++}`), text);
      const deploys = event === 'push' && example.ref === 'refs/heads/master';
      const images = event === 'package' && example.package.package_version.container_metadata;
      const expected = deploys ? '202 accepted' : images ? '409 undefined' : '200 ignored';
      t.equal(`${status} ${body.status}`, expected, `${event} ${example.action ?? example.ref ?? ''}`);
    }
  }
  t.ok(count > 40);
  const [newest, ...others] = await history();
  t.match(newest, {
    trigger: 'webhook',
    commit,
    commitMessage: 'Initial commit',
    commitAuthor: 'Codertocat',
    branch: 'master',
  });
  t.notHas(newest, 'image');
  t.equal(others.length, 1);
  const [ping] = (await deliveries()).filter(({ event }: Json) => event === 'ping');
  t.match(ping, { sender: 'github', verdict: 'ignored', status: 200, reason: 'Ping: the webhook is set up.' });
  const deletedTagDeliveries = (await deliveries()).filter(
    ({ reason }: Json) => reason === 'The tag "simple-tag" was deleted.',
  );
  t.equal(deletedTagDeliveries.length, 4);
});

t.test('GitHub: a form with the payload, its default content type', async (t) => {
  const { token, send, history } = await hookedApp(t, { gitBranch: 'master' });
  const example = githubExamples('push').find(({ ref }) => ref === 'refs/heads/master');
  const text = new URLSearchParams({ payload: JSON.stringify(example) }).toString();
  const headers = { ...asGithub(token, 'push', text), 'content-type': 'application/x-www-form-urlencoded' };
  t.equal((await send(headers, text)).status, 202);
  t.match(await history(), [{ commit }]);
});

t.test('the container registry of GitHub: repository and tag must match, a bare colon is no tag', async (t) => {
  const { token, send, history } = await hookedApp(t, {
    deployed: true,
    image: 'ghcr.io/codertocat/hello-world:v1',
    webhook: { tags: 'v*' },
  });
  const example = githubExamples('package').find((each) => each.package.package_version.container_metadata);
  const asPackage = async (
    change: (version: Json) => void,
    event: 'package' | 'registry_package' = 'package',
    n = 0,
  ) => {
    const { package: packaged, ...rest } = structuredClone(example);
    change(packaged.package_version);
    const text = JSON.stringify({ ...rest, [event]: packaged });
    const { status, body } = await send(asGithub(token, event, text, `${event}${n}`), text);
    return `${status} ${body.reason ?? ''}`;
  };
  const digest = `sha256:${'a'.repeat(64)}`;
  const tagged = (tag: string) => (version: Json) => {
    version.package_url = `ghcr.io/Codertocat/hello-world:${tag}`;
    version.container_metadata.tag = { name: tag, digest };
  };
  t.equal(await asPackage(() => undefined), '200 The image was pushed without a tag.');
  t.equal(await asPackage(tagged('latest')), `200 The tag "latest" does not match the webhook's tag filter "v*".`);
  const other = (version: Json) => (version.package_url = 'ghcr.io/Codertocat/other:v2');
  t.match(await asPackage(other), /^200 The image "ghcr.io\/Codertocat\/other" is not the image of the app/);
  t.same(await history(), []);
  t.equal(await asPackage(tagged('v2'), 'package', 1), '202 ');
  t.equal(await asPackage(tagged('v3'), 'registry_package', 2), '202 ');
  const bare = (version: Json) => {
    tagged('v4')(version);
    delete version.container_metadata.tag;
  };
  t.equal(await asPackage(bare, 'registry_package', 3), '202 ', 'GitHub’s schema has the tag as optional');
  t.match(await history(), [
    { image: 'ghcr.io/codertocat/hello-world:v4', status: 'accepted' },
    { image: 'ghcr.io/codertocat/hello-world:v3', status: 'superseded' },
    { image: 'ghcr.io/codertocat/hello-world:v2', status: 'superseded' },
  ]);
});

t.test('Gitea and Forgejo: the signature in bare hex, by their own headers', async (t) => {
  for (const [sender, also] of [
    ['gitea', []],
    ['forgejo', ['gitea']],
  ] as const) {
    const { token, send, history, deliveries } = await hookedApp(t, { gitBranch: 'develop' });
    const text = payload('gitea-push');
    const headers = (key: string) => ({
      ...Object.fromEntries(
        [sender, ...also, 'gogs', 'github'].flatMap((name) => [
          [`x-${name}-event`, 'push'],
          [`x-${name}-delivery`, 'f6266f16'],
        ]),
      ),
      [`x-${sender}-signature`]: hexHmac(key, text),
      'x-hub-signature-256': 'sha256=0',
    });
    t.equal((await send(headers('wrong'), text)).status, 401, sender);
    t.equal((await send(headers(token), `${text} `)).status, 401);
    const first = await send(headers(token), text);
    t.equal(first.status, 202);
    t.equal((await send(headers(token), text)).body.id, first.body.id, 'a redelivery');
    t.match(await history(), [
      { commit: 'bffeb74224043ba2feb48d137756c8a9331c449a', commitMessage: 'Webhooks Yay!', commitAuthor: 'Gitea' },
    ]);
    t.match(await deliveries(), [
      { sender, event: 'push', deliveryId: 'f6266f16', verdict: 'duplicate', deploymentId: first.body.id },
      { sender, verdict: 'accepted', status: 202 },
    ]);
  }
});

t.test('GitLab: the token, or a Standard Webhooks signature, which has priority', async (t) => {
  const { token, enabled, send, history } = await hookedApp(t, { gitBranch: 'master' });
  t.match(enabled.signingSecret, /^whsec_[A-Za-z0-9+/]{43}=$/, '32 bytes, as GitLab wants them');
  const text = payload('gitlab-push');
  const event = { 'x-gitlab-event': 'Push Hook' };
  const signed = (options = {}) => ({ ...event, ...standard(enabled.signingSecret, text, options) });
  const statuses = async (...all: Record<string, string>[]) =>
    Promise.all(all.map(async (headers) => (await send(headers, text)).status));
  const old = new Date(Date.now() - 301_000);
  const futureTime = new Date(Date.now() + 302_000);
  t.same(
    await statuses(
      event,
      { ...event, 'x-gitlab-token': 'wrong' },
      { ...event, 'x-gitlab-token': `${token}x` },
      signed({ at: old }),
      signed({ at: futureTime }),
      signed({ prefix: 'v2,' }),
      { ...signed(), 'webhook-id': 'another' },
      { ...signed(), 'webhook-timestamp': String(Math.floor(Date.now() / 1000) - 1) },
      { ...signed(), 'webhook-timestamp': 'now' },
      { ...event, ...standard(`whsec_${Buffer.from(token).toString('base64')}`, text) },
      { ...event, 'x-gitlab-token': token, 'webhook-signature': 'v1,AAAA' },
    ),
    Array.from({ length: 11 }, () => 401),
  );
  t.equal((await send({ ...event, 'x-gitlab-token': token, 'idempotency-key': 'k1' }, text)).status, 202);
  const several = signed();
  several['webhook-signature'] = `v1a,xyz v1,AAAA ${several['webhook-signature']}`;
  t.equal((await send(several, text)).status, 202);
  t.equal((await history()).length, 2);
  t.match((await history())[0], {
    commit: 'da1560886d4f094c3e6c9ef40349f7d38b5d27d7',
    commitMessage: 'fixed readme',
    branch: 'master',
    commitAuthor: 'GitLab dev user',
  });
  const repeated = await send(signed(), text);
  t.equal(repeated.body.id, (await history())[0].id, 'webhook-id names the delivery');
  const tag = payload('gitlab-tag-push');
  const tagged = await send({ 'x-gitlab-event': 'Tag Push Hook', 'x-gitlab-token': token }, tag);
  t.match(tagged.body, { status: 'ignored', reason: 'The tag "v1.0.0" was pushed; only branches deploy.' });
});

t.test('Bitbucket Cloud and Data Center', async (t) => {
  const { token, send, history, call } = await hookedApp(t, { gitBranch: 'name-of-branch' });
  const signed = (text: string, key: string, id: string) => ({
    'x-event-key': key,
    'x-request-uuid': id,
    'x-hub-signature': `sha256=${hexHmac(token, text)}`,
  });
  const text = payload('bitbucket-push');
  t.equal((await send({ ...signed(text, 'repo:push', 'r1'), 'x-hub-signature': 'sha256=0' }, text)).status, 401);
  t.equal((await send(signed(text, 'repo:push', 'r1'), text)).status, 202);
  t.match((await history())[0], {
    commit: '709d658dc5b6d6afcd46049c2f332ee3f515a67d',
    commitMessage: 'new commit message\n',
    commitAuthor: 'Emma Paris',
  });
  const closed = payload('bitbucket-push', ({ push }) => (push.changes[0].new = null));
  t.match((await send(signed(closed, 'repo:push', 'r2'), closed)).body, {
    reason: 'The branch "name-of-branch" was deleted.',
  });
  const several = payload('bitbucket-push', ({ push }) => {
    const [change] = push.changes;
    push.changes = [
      { ...change, new: { ...change.new, name: 'other' } },
      { ...change, new: { ...change.new, type: 'tag' } },
      change,
    ];
  });
  t.equal((await send(signed(several, 'repo:push', 'r3'), several)).status, 202, 'the branch is one of several refs');
  const server = payload('bitbucket-server-push');
  t.match((await send(signed(server, 'repo:refs_changed', 'r4'), server)).body, { status: 'ignored' });
  await call('PATCH', '', { branch: 'master' });
  t.equal((await send(signed(server, 'repo:refs_changed', 'r5'), server)).status, 202);
  t.match((await history())[0], { commit: '178864a7d521b6f5e720b386b2c2b0ef8563e0dc', branch: 'master' });
  const ping = '{"test": true}';
  t.match((await send(signed(ping, 'diagnostics:ping', 'r6'), ping)).body, { reason: /^Ping/ });
});

t.test("Harbor: the token in Authorization, both formats, and only the app's repository", async (t) => {
  const image = 'harbor.example.com/library/debian:v1.0';
  const { token, send, history, deliveries } = await hookedApp(t, { deployed: true, image, webhook: { tags: 'v*' } });
  const text = payload('harbor-push');
  t.equal((await send({ authorization: 'wrong' }, text)).status, 401);
  t.equal((await send({ authorization: token }, text)).status, 202);
  const type = { 'content-type': 'application/cloudevents+json' };
  const event = payload('harbor-cloudevent');
  const first = await send({ authorization: token, ...type }, event);
  t.equal((await send({ authorization: token, ...type }, event)).body.id, first.body.id, 'the event has an id');
  t.match(await history(), [{ image: 'harbor.example.com/library/debian:v1.2' }, {}]);
  const pull = payload('harbor-push', (example) => (example.type = 'PULL_ARTIFACT'));
  t.match((await send({ authorization: token }, pull)).body, { reason: 'The event "PULL_ARTIFACT" deploys nothing.' });
  const untagged = payload('harbor-push', ({ event_data: data }) => {
    data.resources[0].tag = undefined;
    data.resources[0].resource_url = `harbor.example.com/library/debian@sha256:${'a'.repeat(64)}`;
  });
  t.match((await send({ authorization: token }, untagged)).body, { reason: 'The image was pushed without a tag.' });
  t.match((await deliveries())[2], { sender: 'harbor', event: 'harbor.artifact.pushed', verdict: 'duplicate' });
});

t.test('Docker Hub and Quay: a secret URL, off by default, and removed when turned off', async (t) => {
  const { token, call, send, history, baseUrl, pool } = await hookedApp(t, {
    deployed: true,
    image: 'svendowideit/testhook:1',
  });
  const text = payload('docker-hub-push');
  t.equal((await send({}, text, `/${token}`)).status, 401, 'the token is no secret of a URL');
  const webhook = (await call('PATCH', '', { secretUrl: true })).body;
  const [, secret = ''] = webhook.secretUrl.split(`${baseUrl}/api/v1/webhook/shop-prod/api/`);
  t.match(secret, /^svcwh_[a-z0-9]{40}$/);
  t.notHas((await call('GET')).body, 'secretUrl');
  t.match((await call('GET')).body, { hasSecretUrl: true, token });
  t.equal((await send({}, text, `/${secret}x`)).status, 401);
  t.equal((await send({}, text)).status, 401, 'without the secret');
  t.equal((await send({}, text, `/${secret}`)).status, 202);
  t.match(await history(), [{ image: 'svendowideit/testhook:latest' }]);
  const quay = await send({}, payload('quay-push'), `/${secret}`);
  t.match(quay.body, { status: 'ignored', reason: /"quay.io\/dgangaia\/test" is not the image of the app/ });
  t.equal((await send({}, { image: 'svendowideit/testhook:2' }, `/${secret}`)).status, 400, 'only those two');
  const renewed = (await call('PATCH', '', { secretUrl: true })).body.secretUrl.split('/').at(-1);
  t.equal((await send({}, text, `/${secret}`)).status, 401, 'the previous one is invalid');
  t.equal((await send({}, text, `/${renewed}`)).status, 202);
  await call('PATCH', '', { secretUrl: false });
  t.equal((await send({}, text, `/${renewed}`)).status, 401);
  const last = (await call('PATCH', '', { secretUrl: true })).body.secretUrl.split('/').at(-1);
  await pool.query('UPDATE webhooks SET enabled = false');
  t.equal((await send({}, text, `/${last}`)).status, 401);
  await pool.query('UPDATE webhooks SET enabled = true');
  t.equal((await send({}, text, `/${last}`)).status, 202);
  await call('DELETE');
  t.equal((await send({}, text, `/${last}`)).status, 401);
  await call('PUT', '', {});
  t.equal((await send({}, text, `/${last}`)).status, 401, 'a disabled webhook’s URL stays invalid');
});

t.test('an event that deploys nothing needs a valid proof too, and is not recorded without one', async (t) => {
  const { token, call, send, deliveries, pool } = await hookedApp(t, { deployed: true });
  const secret = (await call('PATCH', '', { secretUrl: true })).body.secretUrl.split('/').at(-1);
  const otherImage = payload('quay-push');
  const ping = { 'x-github-event': 'ping' };
  const statuses = async (sentToken: string, sentSecret: string) => [
    (await send({ ...ping, 'x-svc-token': sentToken }, {})).status,
    (await send({}, otherImage, `/${sentSecret}`)).status,
  ];
  t.same(await statuses(`${token}x`, `${secret}x`), [401, 401]);
  t.same(await deliveries(), []);
  t.same(await statuses(token, secret), [200, 200]);
  await pool.query('UPDATE webhooks SET enabled = false');
  t.same(await statuses(token, secret), [401, 401]);
  t.match(await deliveries(), [{ verdict: 'ignored' }, { verdict: 'ignored' }]);
  t.equal((await deliveries()).length, 2);
});

t.test('Quay: of several tags the last that matches', async (t) => {
  const { call, send, history } = await hookedApp(t, {
    deployed: true,
    image: 'quay.io/dgangaia/test:1',
    webhook: { tags: 'v*,r-' },
  });
  const secret = (await call('PATCH', '', { secretUrl: true })).body.secretUrl.split('/').at(-1);
  for (const updated of [['latest', 'v1', 'v2', 'other'], { v3: 'abc' }]) {
    const text = payload('quay-push', (example) => (example.updated_tags = updated));
    t.equal((await send({}, text, `/${secret}`)).status, 202);
  }
  t.match(await history(), [{ image: 'quay.io/dgangaia/test:v3' }, { image: 'quay.io/dgangaia/test:v2' }]);
  const build = payload('quay-push', (example) => {
    delete example.updated_tags;
    example.build_id = 'x';
  });
  t.match((await send({}, build, `/${secret}`)).body, { status: 'ignored' });
});

t.test('pushes: the whole branch, marks to skip, apps that run images', async (t) => {
  const { token, send, history, call, pool, workloadId } = await hookedApp(t, { gitBranch: 'feature/a/b' });
  let count = 0;
  const push = async (change: (example: Json) => void) => {
    const example = githubExamples('push').find(({ ref }) => ref === 'refs/heads/master');
    change(example);
    const text = JSON.stringify(example);
    return send(asGithub(token, 'push', text, `p${count++}`), text);
  };
  const to = (ref: string, message?: string) =>
    push((example) => {
      example.ref = ref;
      if (message !== undefined) example.head_commit.message = message;
    });
  t.match((await to('refs/heads/b')).body, {
    status: 'ignored',
    reason: 'The branch "b" was pushed; the webhook deploys the branch "feature/a/b".',
  });
  t.match((await to('refs/heads/feature/a')).body, { status: 'ignored' });
  t.match((await to('refs/heads/')).body, { status: 'ignored' });
  t.match((await to('refs/tags/feature/a/b')).body, { status: 'ignored' });
  const deleted = await push((example) => Object.assign(example, { ref: 'refs/heads/feature/a/b', deleted: true }));
  t.match(deleted.body, { status: 'ignored', reason: 'The branch "feature/a/b" was deleted.' });
  t.same(await history(), []);
  t.match((await to('refs/heads/feature/a/b')).body, { status: 'accepted', revision: 1 });
  for (const mark of ['[skip ci]', '[CI skip]', '[skip svc]', '[svc skip]']) {
    const skipped = await to('refs/heads/feature/a/b', `Fix typo ${mark}\n\nMore.`);
    t.equal(skipped.status, 200);
    t.match(skipped.body, { status: 'skipped', reason: `The commit message contains ${mark.toLowerCase()}.` });
    t.notHas(skipped.body, 'revision');
  }
  t.match((await to('refs/heads/feature/a/b', 'no [skip] (ci)')).body, { revision: 2 });
  t.match((await history())[1], { status: 'skipped', branch: 'feature/a/b', commitMessage: /^Fix typo/, commit });
  const evil = await push((example) =>
    Object.assign(example, { ref: 'refs/heads/feature/a/b', after: '--upload-pack=x' }),
  );
  t.equal(evil.status, 422, 'a commit is a hash');

  await projectGitSource(pool, workloadId, undefined);
  t.match((await to('refs/heads/any')).body, {
    status: 'skipped',
    reason: /^The app runs an image, so a push deploys/,
  });
  await call('PATCH', '', { branch: 'main' });
  t.match((await to('refs/heads/any')).body, { status: 'ignored' });
  t.match((await to('refs/heads/main')).body, { status: 'skipped' });
});
