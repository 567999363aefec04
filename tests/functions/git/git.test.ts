import t, { type Test } from 'tap';
import { createAppRoutes } from '../../../functions/apps/handler.ts';
import { createGitRoutes } from '../../../functions/git/handler.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { transaction } from '../../../runtime/db/pool.ts';
import { fingerprintOf } from '../../../runtime/domain/ssh-keys.ts';
import { gitSecretName } from '../../../runtime/git/credentials.ts';
import type { Secret } from '../../../runtime/workloads/owned-secret.ts';
import { acceptDeployment } from '../../../runtime/records/acceptance.ts';
import { endDeployment, startBuild } from '../../../runtime/records/deployments.ts';
import { saveBuildLog } from '../../../runtime/records/build-logs.ts';
import {
  findGitSource,
  keepHostKeys,
  projectGitSource,
  recordPollFailure,
} from '../../../runtime/records/git-sources.ts';
import { findReceiver } from '../../../runtime/records/webhooks.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { recordingLog } from '../../support/log.ts';
import { environmentId, seedShop } from '../../support/objects.ts';
import { sshKey } from '../../support/ssh-server.ts';
import { testDatabase } from '../../support/postgres.ts';

const apps = '/api/v1/projects/shop/apps';
const path = `${apps}/api/git`;
const builds = '/api/v1/projects/shop/builds';
const url = 'https://git.example.com/shop/api.git';
const token = 'ghp_0123456789abcdefSECRET';
const commit = 'a'.repeat(40);

async function rig(t: Test) {
  const kube = fakeKube({ checkNamespaces: true });
  seedShop(kube);
  const { pool } = await testDatabase(t);
  const baseUrl = 'http://console.test';
  const recording = recordingLog();
  const { log } = recording;
  const logged = () => recording.text();
  const routes = [
    ...createAppRoutes({ kube, pool, clock: fakeClock(), baseUrl }),
    ...createGitRoutes({ kube, pool, baseUrl }),
  ];
  const api = await testApi(t, { routes, log });
  const app = () => kube.all<App>(kinds.App)[0];
  const secret = () => kube.all<Secret>(kinds.Secret)[0];
  /** Does what the App's controller does. */
  const project = async () => {
    const { id } = (await api.call('GET', `${apps}/api`)).body as { id: string };
    const at = { project: 'shop', environment: 'prod', namespace: 'shop-prod', name: 'api' };
    await projectWorkload(pool, { id, environmentId, ...at, gated: false, kind: 'App' });
    await projectGitSource(pool, id, app()?.spec.git);
    return id;
  };
  const create = (body: object) => api.call('POST', apps, { body: { name: 'api', ...body } });
  const set = (body: object) => api.call('PUT', path, { body });
  return { kube, pool, api, app, secret, project, create, set, logged };
}

t.test('a source is set, shown without its credentials, and removed with them', async (t) => {
  const { api, app, secret, project, create, set, logged } = await rig(t);
  await create({ image: 'r.test/api:1' });
  t.match(await api.call('GET', path), { status: 200, body: { configured: false } });
  const body = { url, branch: 'refs/heads/release/2', path: 'services/api', credentials: { token, username: 'ci' } };
  const answer = await set(body);
  const source = { url, branch: 'release/2', path: 'services/api' };
  t.match(answer, { status: 200, body: { configured: true, ...source, credentials: 'token' } });
  t.match(app()?.spec.git, source);
  t.match(secret(), {
    metadata: { name: gitSecretName('api'), ownerReferences: [{ kind: 'App', name: 'api' }] },
    data: {
      token: Buffer.from(token).toString('base64'),
      username: Buffer.from('ci').toString('base64'),
      server: Buffer.from('https://git.example.com:443').toString('base64'),
    },
  });
  await project();
  t.match((await api.call('GET', path)).body, { ...source, credentials: 'token' });
  t.notOk(logged().includes(token));
  t.notOk(answer.text.includes(token));
  t.equal((await api.call('DELETE', path)).status, 204);
  t.equal(app()?.spec.git, undefined);
  t.same(secret()?.data, {});
  t.match((await api.call('GET', path)).body, { configured: false });
  const update = await api.call('PATCH', `${apps}/api`, { body: { image: 'r.test/api:2' } });
  t.equal(update.status, 202, 'the app can be deployed by image again');
});

t.test('webhooks use the new source from its answer on, whatever the controller has observed', async (t) => {
  const { pool, api, project, create, set } = await rig(t);
  await create({ image: 'r.test/api:1' });
  await project();
  const judgedBy = async () => (await findReceiver(pool, 'shop-prod', 'api'))?.gitBranch;
  t.equal(await judgedBy(), null);
  await set({ url, branch: 'release' });
  t.equal(await judgedBy(), 'release');
  t.equal((await api.call('DELETE', path)).status, 204);
  t.equal(await judgedBy(), null);
});

t.test('credentials stay with their server, and are removed on request', async (t) => {
  const { kube, api, secret, create, set } = await rig(t);
  await create({ image: 'r.test/api:1' });
  const credentials = async () => ((await api.call('GET', path)).body as { credentials?: string }).credentials;
  await set({ url, credentials: { token } });
  await set({ url, branch: 'other' });
  t.equal(await credentials(), 'token', 'another branch');
  await set({ url: 'https://git.example.com/shop/other.git' });
  t.equal(await credentials(), 'token', 'another repository there');
  const elsewhere = 'https://elsewhere.example.com/shop/api.git';
  kube.intercept = ({ verb, kind }) => {
    if (verb === 'mergePatch' && kind === 'App') throw new Error('cut off');
  };
  await set({ url: elsewhere, credentials: { token: 'of elsewhere' } });
  kube.intercept = undefined;
  t.equal(await credentials(), 'none', 'those of a source that the app no longer has');
  await set({ url });
  t.equal(await credentials(), 'none', 'still');
  await set({ url: elsewhere });
  t.same(secret()?.data, {}, 'another server');
  const { privateKey, publicKey } = sshKey(t.testdir({}), 'key');
  await set({ url: 'git@git.example.com:shop/api.git', credentials: { deployKey: privateKey } });
  t.equal(await credentials(), 'deploy-key');
  t.equal((await api.call('GET', path)).body.deployKey, publicKey, 'which is for the repository');
  await set({ url: 'git@git.example.com:shop/api.git', credentials: null });
  t.equal(await credentials(), 'none');
});

t.test('the host keys of an ssh server are given, or stored at the first contact, and stay with it', async (t) => {
  const { pool, api, app, project, create, set } = await rig(t);
  await create({ image: 'r.test/api:1' });
  const ssh = 'ssh://git@git.example.com:2222/shop/api.git';
  const { publicKey } = sshKey(t.testdir({}), 'key');
  const [fingerprint, other] = [fingerprintOf(publicKey), `ssh-rsa ${'A'.repeat(372)}`];
  const readHostKeys = async () => ((await api.call('GET', path)).body as { hostKeys?: object[] }).hostKeys;
  const knownHosts = `other.example.com ${other}\n[git.example.com]:2222,[10.0.0.1]:2222 ${publicKey} root@git\n`;
  await set({ url: ssh, knownHosts });
  t.same(app()?.spec.git?.hostKeys, [publicKey]);
  t.same(await readHostKeys(), [{ type: 'ssh-ed25519', fingerprint, given: true }]);
  await set({ url: `${ssh}2`, branch: 'other' });
  t.same(app()?.spec.git?.hostKeys, [publicKey], 'another repository there');
  await set({ url: ssh, knownHosts: null });
  t.equal(await readHostKeys(), undefined);
  const workloadId = await project();
  const source = await findGitSource(pool, workloadId);
  if (!source) throw new Error('the source is not projected');
  await keepHostKeys(pool, source, [publicKey]);
  await keepHostKeys(pool, source, [other]);
  t.match(await readHostKeys(), [{ fingerprint, given: false }], 'the first contact counts');
  await set({ url: `${ssh}2` });
  t.match(await readHostKeys(), [{ fingerprint }]);
  await set({ url: 'git@elsewhere.example.com:shop/api.git' });
  t.equal(await readHostKeys(), undefined, 'another server');
  await set({ url: ssh, knownHosts: null });
  t.equal(await readHostKeys(), undefined, 'what was forgotten');
  await keepHostKeys(pool, source, [publicKey]);
  t.equal(await readHostKeys(), undefined, 'a poll that began earlier does not bring it back');
  for (const [body, message] of [
    [{ url, knownHosts }, /requires an ssh URL/],
    [{ url: ssh, knownHosts: `git.example.com ${publicKey}` }, /ssh-keyscan -p 2222 git.example.com/],
    [{ url: ssh, knownHosts: '' }, /no key of \[git.example.com\]:2222/],
  ] as const) {
    t.match(await set(body), { status: 422, body: { message, details: { field: 'knownHosts' } } });
  }
});

t.test('422: an unusable deploy key, which the answer does not repeat', async (t) => {
  const { create, set, logged } = await rig(t);
  await create({ image: 'r.test/api:1' });
  const folder = t.testdir({});
  const { privateKey, publicKey } = sshKey(folder, 'key');
  for (const [deployKey, message] of [
    [publicKey, /This is a public key/],
    [sshKey(folder, 'locked', 'a passphrase').privateKey, /protected by a passphrase/],
    [privateKey.slice(0, 100) + privateKey.slice(-36), /damaged/],
    ['a key', /not a private key.*ssh-keygen/],
  ] as const) {
    const answer = await set({ url: 'git@git.example.com:shop/api.git', credentials: { deployKey } });
    t.match(answer, { status: 422, body: { code: 'invalid_value', message } });
    t.notOk(`${answer.text}${logged()}`.includes(deployKey.slice(0, 60)) && deployKey.length > 60);
  }
});

t.test('422, 409 and 404: an invalid source, a missing one, and an image for an app with a source', async (t) => {
  const { api, app, create, set } = await rig(t);
  t.match(await set({ url }), { status: 404, body: { code: 'not_found' } });
  await create({ image: 'r.test/api:1' });
  const wrong = [
    [{ url: 'file:///etc' }, 'url'],
    [{ url: 'https://user:pass@git.example.com/a.git' }, 'url'],
    [{ url: '--upload-pack=touch' }, 'url'],
    [{ url, branch: '-x' }, 'branch'],
    [{ url, path: '../..' }, 'path'],
    [{ url, dockerfile: '.git/config' }, 'dockerfile'],
  ] as const;
  for (const [body, field] of wrong) {
    t.match(
      await set(body),
      { status: 422, body: { code: 'invalid_value', details: { field } } },
      JSON.stringify(body),
    );
  }
  t.equal(app()?.spec.git, undefined, 'nothing was changed');
  for (const [at, body] of [
    ['sync', undefined],
    ['builds', {}],
  ] as const) {
    const answer = await api.call('POST', `${path}/${at}`, { body });
    t.match(answer, { status: 409, body: { code: 'conflict', message: /svc app git set/ } });
  }
  await set({ url });
  t.match(await api.call('POST', `${path}/builds`, { body: { commit: 'main' } }), { status: 422 });
  const image = await api.call('PATCH', `${apps}/api`, { body: { image: 'r.test/api:2' } });
  t.match(image, { status: 409, body: { code: 'git_source_configured', message: /svc app git remove api/ } });
});

t.test('an app is created with a git source, without an image', async (t) => {
  const { api, app, secret, create } = await rig(t);
  const answer = await create({ git: { url, credentials: { token } } });
  t.match(answer, { status: 201, body: { image: '', status: 'pending' } });
  t.match(app()?.spec, { image: '', port: 8080, git: { url, branch: 'main' } });
  t.match(secret(), { metadata: { name: gitSecretName('api') } });
  t.match((await api.call('GET', path)).body, { configured: true, credentials: 'token' });
});

t.test('400 and 422: neither image nor source, both, and an invalid source', async (t) => {
  const { app, create } = await rig(t);
  const message = /an image, a git source to build images from, or upload: only one/;
  t.match(await create({}), { status: 400, body: { code: 'invalid_request', message } });
  t.match(await create({ image: 'r.test/api:1', git: { url } }), { status: 400, body: { message } });
  t.match(await create({ git: { url: 'file:///etc' } }), { status: 422, body: { details: { field: 'url' } } });
  t.equal(app(), undefined, 'nothing was created');
});

t.test('polls and builds are reported', async (t) => {
  const { pool, api, create, set, project } = await rig(t);
  await create({ image: 'r.test/api:1' });
  await set({ url });
  const id = await project();
  const failure = { error: 'no route', problem: 'unreachable' } as const;
  const fail = async () => {
    const source = await findGitSource(pool, id);
    if (source) await recordPollFailure(pool, source, failure);
    return source;
  };
  const polled = await fail();
  t.match((await api.call('GET', path)).body, { error: 'no route', problem: 'unreachable', polledAt: String });
  t.equal((await api.call('POST', `${path}/sync`)).status, 204);
  const due = await pool.query(`SELECT due_at <= now() AS due FROM work WHERE kind = 'polling' AND record_id = $1`, [
    id,
  ]);
  t.same(due.rows, [{ due: true }]);
  await set({ url, credentials: { token } });
  const repaired = (await api.call('GET', path)).body;
  t.same([repaired.error, repaired.polledAt], [undefined, undefined], 'a poll with another token is not reported');
  if (polled) await recordPollFailure(pool, polled, failure);
  t.equal((await api.call('GET', path)).body.error, undefined, 'nor one that began with the earlier token');
  await fail();
  await set({ url, branch: 'other' });
  t.equal((await api.call('GET', path)).body.error, undefined, 'a poll of another branch is not reported');

  const first = await api.call('POST', `${path}/builds`, { body: { commit } });
  t.match(first, { status: 202, body: { revision: 1, status: 'accepted' } });
  const second = await api.call('POST', `${path}/builds`, { body: {} });
  await startBuild(pool, second.body.id);
  // The stored log is the only one after the pod was deleted.
  for (const text of ['step 1\n', 'step 1\nstep 2\n', 'step 1\n']) {
    await saveBuildLog(pool, second.body.id, { text, truncated: false });
  }
  await endDeployment(pool, second.body.id, 'failed', 'no');
  await transaction(pool, (client) =>
    acceptDeployment(client, { workloadId: id, trigger: 'manual', image: 'r.test/api:3' }),
  );
  const listed = await api.call('GET', builds);
  t.match(listed.body.items, [
    { deploymentId: second.body.id, revision: 2, status: 'failed', reason: 'no' },
    { deploymentId: first.body.id, revision: 1, status: 'superseded', commit },
  ]);
  t.equal(listed.body.items.length, 2, 'an image is not a build');
  const page = await api.call('GET', `${builds}?limit=1`);
  t.match(page.body, { nextCursor: second.body.id });
  t.match((await api.call('GET', `${builds}?limit=1&cursor=${page.body.nextCursor}`)).body.items, [{ revision: 1 }]);
  const log = await api.call('GET', `${builds}/${second.body.id}/logs?offset=7`);
  t.match(log.body, { log: 'step 2\n', offset: 14, ended: true, truncated: false });
  t.match(await api.call('GET', `/api/v1/projects/blog/builds/${second.body.id}/logs`), { status: 404 });
  t.match(await api.call('GET', `${builds}/nonsense/logs`), { status: 404 });
});
