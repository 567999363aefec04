import t, { type Test } from 'tap';
import type { Attempt } from '../../../runtime/bus/runner.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import { transaction } from '../../../runtime/db/pool.ts';
import { gitSecretData, gitSecretName } from '../../../runtime/git/credentials.ts';
import { changeOwnedSecret, ownedSecret } from '../../../runtime/workloads/owned-secret.ts';
import { addressOfGit, type GitSource } from '../../../runtime/domain/git-source.ts';
import { hostKeysIn } from '../../../runtime/domain/ssh-keys.ts';
import { cancelDeployment, failDeployment } from '../../../runtime/records/automatic-rollback.ts';
import { acceptDeployment } from '../../../runtime/records/acceptance.ts';
import { startDeployment, succeedDeployment } from '../../../runtime/records/deployments.ts';
import { findGitSource, projectGitSource, renewGitSource } from '../../../runtime/records/git-sources.ts';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { selfSignedCertificate } from '../../../infra/local/apiserver/certificate.ts';
import { createPollingProcessor } from '../../../workers/polling/process.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { gitServer } from '../../support/git-server.ts';
import { noSshServer, sshGitServer } from '../../support/ssh-server.ts';
import { silentLog } from '../../support/log.ts';
import { testDatabase } from '../../support/postgres.ts';
import { namespace, testApp } from '../rollouts/rollout-world.ts';

const ref = { apiVersion: 'platform.svc/v1', kind: 'App', namespace, name: 'api' };
const secret = 'ghp_0123456789abcdefSECRET';

interface WorldOptions {
  token?: string;
  gitNetworks?: string[];
  tls?: { key: string; certificate: string };
  caCertificates?: string;
  /** Of a source that failed; default none, so that it can be polled again at once. */
  restMs?: number;
}

async function world(t: Test, options: WorldOptions = {}) {
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  const { token, gitNetworks = ['127.0.0.0/8'], tls, caCertificates, restMs = 0 } = options;
  const server = await gitServer(t, { ...(token !== undefined && { token }), ...(tls && { tls }) });
  kube.seed({
    apiVersion: 'platform.svc/v1',
    kind: 'PlatformConfig',
    metadata: { name: 'platform' },
    spec: {
      appsDomain: 'apps.test',
      cluster: 'local',
      scheme: 'http',
      entryPoints: ['web'],
      runtimeImages: { node: 'r/node:1' },
      builds: { image: 'r/builder:1', registry: 'r.test/builds', baseImages: {}, gitNetworks },
      ...(caCertificates !== undefined && { caCertificates }),
    },
  });
  const app = await testApp(pool, kube, 'api');
  const use = async (git: GitSource) => {
    await kube.mergePatch<App>(ref, { spec: { git } });
    await projectGitSource(pool, app.id, git);
  };
  const process = createPollingProcessor({ pool, kube, env: globalThis.process.env, restMs, random: () => 0.5 });
  const poll = async () => {
    const attempt: Attempt = {
      recordId: app.id,
      attempt: 1,
      last: false,
      signal: new AbortController().signal,
      log: silentLog,
    };
    return process(attempt);
  };
  const state = () => findGitSource(pool, app.id);
  return { pool, kube, app, server, use, poll, state };
}

t.test('a new commit on the branch is deployed once', async (t) => {
  const { app, server, use, poll, state } = await world(t);
  const first = server.push({ 'a.txt': '1' });
  await use({ url: server.url(), branch: 'main' });
  const outcome = await poll();
  t.match(outcome, { again: Date });
  t.match(await app.history(), [{ trigger: 'git', state: 'accepted', commit: first, image: '' }]);
  t.match(await state(), { commit: first, error: null, failures: 0 });
  await poll();
  t.equal((await app.history()).length, 1, 'nothing is new');
  const second = server.push({ 'a.txt': '2' });
  server.push({ 'a.txt': '3' }, { branch: 'other' });
  await poll();
  t.match(
    await app.history(),
    [{ commit: second }, { commit: first, state: 'superseded' }],
    'other branches do not count',
  );
  await use({ url: server.url(), branch: 'main', path: 'services' });
  await poll();
  t.equal((await app.history()).length, 3, 'a changed source is built whatever ran before');
});

t.test('a webhook’s commit is not built again, and a commit that it overtook is checked again', async (t) => {
  const { app, pool, server, use, poll, state } = await world(t);
  server.push({ 'a.txt': '1' });
  await use({ url: server.url(), branch: 'main' });
  await poll();
  const pushed = server.push({ 'a.txt': '2' });
  const webhook = (commit: string) =>
    transaction(pool, (client) => acceptDeployment(client, { workloadId: app.id, trigger: 'webhook', commit }));
  await webhook(pushed.slice(0, 12));
  await poll();
  t.equal((await app.history()).length, 2);
  t.match(await state(), { commit: pushed });
  const polledCommit = server.push({ 'a.txt': '3' });
  const newer = 'f'.repeat(40);
  server.answer = (request) => {
    server.answer = undefined;
    void webhook(newer).then(() => request.resume());
    return false;
  };
  await pool.query(`UPDATE deployments SET accepted_at = accepted_at - interval '1 minute'`);
  await poll();
  const history = await app.history();
  t.match(history[0], { trigger: 'webhook', commit: newer }, `${polledCommit} is older than the webhook’s commit`);
});

t.test('the result of a poll that began before the source was set again is not recorded', async (t) => {
  const { app, pool, server, use, poll, state } = await world(t, { token: secret });
  server.push({ 'a.txt': '1' });
  await use({ url: server.url(), branch: 'main' });
  server.answer = (request) => {
    server.answer = undefined;
    void renewGitSource(pool, app.id).then(() => request.resume());
    return false;
  };
  await poll();
  t.match(await state(), { polledAt: null, error: null, failures: 0 }, 'the server refused it without a token');
  const { rows } = await pool.query(`SELECT due_at <= now() AS due FROM work WHERE kind = 'polling'`);
  t.same(rows, [{ due: true }]);
  await poll();
  t.match(await state(), { error: /token/, failures: 1 });
});

t.test('a webhook’s commit that did not stay is not built by the poll', async (t) => {
  const { app, pool, server, use, poll } = await world(t);
  const goodCommit = server.push({ 'a.txt': '1' });
  await use({ url: server.url(), branch: 'main' });
  await poll();
  const [first] = await app.history();
  await startDeployment(pool, first?.id ?? '');
  await succeedDeployment(pool, first?.id ?? '');
  const request = { workloadId: app.id, trigger: 'webhook' } as const;
  const polled = async () => {
    const before = await app.history();
    await poll();
    t.equal((await app.history()).length, before.length);
  };

  await acceptDeployment(pool, {
    skipped: true,
    ...request,
    commit: server.push({ 'a.txt': '2' }),
    reason: '[skip ci]',
  });
  await polled();
  const cancelled = await acceptDeployment(pool, { ...request, commit: server.push({ 'a.txt': '3' }) });
  await cancelDeployment(pool, cancelled.id, 'ada@svc.test');
  await polled();
  const failedDeployment = await acceptDeployment(pool, { ...request, commit: server.push({ 'a.txt': '4' }) });
  await failDeployment(pool, failedDeployment.id, 'no', { applied: true, autoRollback: true });
  t.match(await app.history(), [{ trigger: 'rollback', commit: goodCommit }, { state: 'failed' }]);
  await polled();

  server.reset(goodCommit);
  await poll();
  t.match((await app.history())[0], { trigger: 'git', commit: goodCommit }, 'a branch that was reset is built');
});

t.test('a token is sent only to its server', async (t) => {
  const { app, kube, server, use, poll, state } = await world(t, { token: secret });
  server.push({ 'a.txt': '1' });
  await use({ url: server.url(), branch: 'main' });
  await poll();
  t.match(await state(), { failures: 1, error: /does not exist or is private/, problem: 'credentials', commit: null });
  t.notMatch((await state())?.error, secret);
  const object = (await app.object()) as Stored<App>;
  await kube.create(
    ownedSecret(object, gitSecretName('api'), gitSecretData({ token: secret }, 'https://git.test/a.git')),
  );
  server.requests.length = 0;
  await poll();
  t.match(
    await state(),
    { error: /does not exist or is private/ },
    'a token for the source that the app is about to get',
  );
  t.notMatch(server.requests, [{ authorization: String }]);
  const holds = (data: Record<string, string>) => changeOwnedSecret(kube, object, gitSecretName('api'), () => data);
  await holds({ token: Buffer.from(secret).toString('base64') });
  await poll();
  t.match(await state(), { error: null }, 'a token that an earlier release stored');
  await holds(gitSecretData({ token: secret }, server.url()));
  await poll();
  t.match(await state(), { failures: 0, error: null, problem: null, commit: String });
  t.equal((await app.history()).length, 1);
  const other = await gitServer(t);
  server.answer = (request, response) => {
    response.writeHead(302, { location: other.url() + (request.url ?? '').replace('/shop/api.git', '') }).end();
    return true;
  };
  await poll();
  t.match(await state(), { failures: 1, problem: 'repository', error: /redirects are not followed.*\.git.*--url/ });
  t.same(other.requests, [], 'a redirect is not followed');
});

t.test('a server that cannot be polled is reported, and polled less and less often', async (t) => {
  const { pool, app, server, use, poll, state } = await world(t);
  server.push({ 'a.txt': '1' });
  await use({ url: server.url(), branch: 'nowhere' });
  const wait = async () => {
    const from = Date.now();
    const outcome = await poll();
    return outcome === 'done' ? 0 : Math.round((outcome.again.getTime() - from) / 60_000);
  };
  t.same([await wait(), await wait(), await wait()], [1, 2, 4]);
  t.match(await state(), { failures: 3, error: 'The repository has no branch "nowhere".', problem: 'branch' });
  await pool.query('UPDATE git_sources SET failures = 20');
  t.equal(await wait(), 15);
  t.same(await app.history(), []);
  await projectGitSource(pool, app.id, undefined);
  t.equal(await poll(), 'done', 'a source that was removed');
  t.equal(await state(), undefined);
});

t.test('a source that fails rests before the poll that a user asks for, and longer after each failure', async (t) => {
  const { pool, server, use, poll, state } = await world(t, { restMs: 5_000 });
  server.push({ 'a.txt': '1' });
  await use({ url: server.url(), branch: 'nowhere' });
  const restMs = async () => {
    const outcome = await poll();
    const { polledAt } = (await state()) ?? {};
    return outcome === 'done' ? undefined : outcome.again.getTime() - (polledAt?.getTime() ?? 0);
  };
  await poll();
  server.requests.length = 0;
  const rests: unknown[] = [await restMs()];
  for (const failures of [2, 3, 5, 20]) {
    await pool.query('UPDATE git_sources SET failures = $1', [failures]);
    rests.push(await restMs());
  }
  t.same(rests, [5_000, 10_000, 20_000, 60_000, 60_000]);
  t.same(server.requests, [], 'nothing was asked');
  await pool.query(`UPDATE git_sources SET failures = 1, polled_at = now() - interval '5 seconds'`);
  await poll();
  t.match(await state(), { failures: 2 }, 'then it is polled');
  await use({ url: server.url(), branch: 'main' });
  await poll();
  t.match(await state(), { failures: 0, error: null }, 'a new source is polled at once');
});

t.test('a poll that fails late reports nothing for the new source', async (t) => {
  const { server, use, poll, state } = await world(t);
  const source = { url: server.url(), branch: 'main' };
  for (const next of [
    { ...source, url: `${server.url()}/other` },
    { ...source, branch: 'other' },
  ]) {
    await use(source);
    server.answer = (_request, response) => {
      void use(next).then(() => response.writeHead(500).end());
      return true;
    };
    await poll();
    t.match(await state(), { ...next, error: null, problem: null, failures: 0, polledAt: null });
  }
});

t.test('a server with a certificate of an own CA is polled when the installation trusts it', async (t) => {
  const tls = selfSignedCertificate('own CA', { names: [], addresses: ['127.0.0.1'] }, new Date());
  for (const caCertificates of [undefined, tls.certificate]) {
    const { server, use, poll, state } = await world(t, {
      tls,
      ...(caCertificates !== undefined && { caCertificates }),
    });
    const commit = server.push({ 'a.txt': '1' });
    await use({ url: server.url(), branch: 'main' });
    await poll();
    t.match(await state(), caCertificates === undefined ? { error: /certificate/i } : { error: null, commit });
  }
});

t.test('private addresses are polled only when the platform’s admin opened them', async (t) => {
  const { server, use, poll, state } = await world(t, { gitNetworks: [] });
  server.push({ 'a.txt': '1' });
  await use({ url: server.url(), branch: 'main' });
  await poll();
  t.match(await state(), { error: /is in a private network that git sources may not use/, problem: 'address' });
  t.same(server.requests, []);
});

t.test(
  'over ssh the deploy key gives access, and the first host key must match from then on',
  { skip: noSshServer },
  async (t) => {
    const { app, kube, use, poll, state } = await world(t);
    const server = await sshGitServer(t);
    const first = server.push({ 'a.txt': '1' });
    const [key, other] = [server.makeKey('deploy'), server.makeKey('other')];
    server.admit(key.publicKey);
    const source = { url: server.url, branch: 'main' };
    await use(source);
    await poll();
    t.match(await state(), { problem: 'credentials', error: /requires an SSH key.*--deploy-key-file/ });
    const { hostKeys } = (await state()) ?? {};
    t.match(hostKeys, [/^ssh-ed25519 /], 'stored although nothing could be read');

    const object = (await app.object()) as Stored<App>;
    const give = (deployKey: string) =>
      changeOwnedSecret(kube, object, gitSecretName('api'), () => gitSecretData({ deployKey }, server.url));
    await give(other.privateKey);
    await poll();
    t.match(await state(), { problem: 'credentials', error: /refused the deploy key.*public key/ });
    await give(key.privateKey);
    await poll();
    t.match(await state(), { error: null, commit: first, hostKeys });

    await server.changeHostKey();
    const second = server.push({ 'a.txt': '2' });
    await poll();
    t.match(await state(), {
      problem: 'host_key',
      error: /host key of the git server changed \(SHA256:.*--known-hosts/,
      hostKeys,
    });
    t.notMatch((await state())?.error, first);
    await use({ ...source, hostKeys: hostKeysIn(server.knownHosts(), addressOfGit(server.url)) });
    await poll();
    t.match(await state(), { error: null, commit: second, hostKeys }, 'a key given by the user has priority');
    t.equal((await app.history()).length, 2);
  },
);

t.test('a server that lists branches without end is stopped at the memory of a poll', async (t) => {
  const { server, use, poll, state } = await world(t);
  const line = (text: string) => `${(text.length + 4).toString(16).padStart(4, '0')}${text}\n`;
  const commit = 'b'.repeat(40);
  server.answer = (_request, response) => {
    response.setHeader('content-type', 'application/x-git-upload-pack-advertisement');
    response.write(`001e# service=git-upload-pack\n0000${line(`${commit} HEAD\0ofs-delta \n`)}`);
    let branches = 0;
    const name = () => `refs/heads/${branches++}${'x'.repeat(300)}`;
    const write = (): void => {
      const lines = Array.from({ length: 2_000 }, () => line(`${commit} ${name()} `)).join('');
      if (!response.destroyed) response.write(lines, () => setImmediate(write));
    };
    write();
    return true;
  };
  await use({ url: server.url(), branch: 'main' });
  await poll();
  t.match(await state(), {
    failures: 1,
    error: /^The git server sent more branches than fit into the memory of a poll/,
  });
});
