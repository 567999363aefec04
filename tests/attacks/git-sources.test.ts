import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { clone } from '../../infra/images/builder/clone.ts';
import { readSettings } from '../../infra/images/builder/settings.ts';
import { installArguments } from '../../infra/install-here.ts';
import { buildJob } from '../../infra/manifests/build.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import type { Build } from '../../runtime/contracts/resources/build.ts';
import { checkGitSource } from '../../runtime/domain/git-source.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { resolveGitHost } from '../../runtime/git/address.ts';
import { GitError } from '../../runtime/git/failure.ts';
import { findGitSource, projectGitSource } from '../../runtime/records/git-sources.ts';
import { createPollingProcessor } from '../../workers/polling/process.ts';
import { fakeKube } from '../support/fake-kube.ts';
import { platformConfigObject, settings } from '../support/objects.ts';
import { testDatabase } from '../support/postgres.ts';
import { attemptOf } from '../workers/notifications/notification-world.ts';
import { namespace, testApp } from '../workers/rollouts/rollout-world.ts';

/*
 * A user who sets a git source chooses where the workers connect to, with each poll, and the first step of a build, which a
 * webhook starts without a poll.
 */

/** A service of the machine that counts connections. */
async function loopbackService(t: Test) {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return { port: (server.address() as AddressInfo).port, connections: () => connections };
}

/** Spellings that lead to 127.0.0.1. */
const loopback = [
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '017700000001',
  '0177.0.0.1',
  '0.0.0.0',
  '0',
  'localhost',
  'LOCALHOST',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
];

/** And of networks that only the machine reaches. */
const hosts = [
  ...loopback,
  '127.64.0.9',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::]',
  '[64:ff9b::7f00:1]',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.0.1',
  '169.254.169.254',
  '168.63.129.16',
  '100.64.0.1',
  '[fe80::1]',
  '[fd00::1]',
];

const urlsOf = (host: string, port: number) => [
  `http://${host}:${port}/shop/api.git`,
  `https://${host}:${port}/shop/api.git`,
  `ssh://git@${host}:${port}/shop/api.git`,
  `git@${host}:shop/api.git`,
];

t.test('every spelling of a private address is refused for its address, and not by accident', async (t) => {
  const fault = async (url: string): Promise<unknown> => {
    try {
      checkGitSource({ url, branch: 'main' });
      return await resolveGitHost(url, []);
    } catch (error) {
      return error instanceof GitError ? error.problem : error instanceof Problem ? error.code : error;
    }
  };
  for (const url of hosts.flatMap((host) => urlsOf(host, 3000))) {
    t.match(await fault(url), /^(address|invalid_value)$/, url);
  }
});

/** Polls an app's source once, as svc-workers do. @returns what the status of the source says */
async function poller(t: Test, gitNetworks: string[]) {
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  const builds = { image: 'r/builder:1', registry: 'r.test/builds', baseImages: {}, gitNetworks };
  kube.seed({ ...platformConfigObject, spec: { ...settings, builds } });
  const app = await testApp(pool, kube, 'api');
  const process = createPollingProcessor({ pool, kube, env: globalThis.process.env });
  return async (url: string) => {
    const git = { url, branch: 'main' };
    // As an edit with kubectl sets it, which no check of the API has seen.
    await kube.mergePatch<App>(
      { apiVersion: 'platform.svc/v1', kind: 'App', namespace, name: 'api' },
      { spec: { git } },
    );
    await projectGitSource(pool, app.id, git);
    await process(attemptOf(app.id));
    return findGitSource(pool, app.id);
  };
}

/** Fetches a source as the first step of a build does. @returns why it failed */
async function fetchSource(t: Test, url: string, networks: string, env = process.env): Promise<string> {
  const workspace = mkdtempSync(join(tmpdir(), 'svc-build-'));
  t.teardown(() => rmSync(workspace, { recursive: true, force: true }));
  const step = readSettings({
    BUILD_WORKSPACE: workspace,
    BUILD_BRANCH: 'main',
    BUILD_IMAGE: 'r/shop-prod/api:1',
    BUILD_TARGET: 'r/shop-prod/api:1',
    BUILD_RESULT: join(workspace, 'result'),
    BUILD_GIT_NETWORKS: networks,
  });
  return clone({ ...step, url }, { credentialsFolder: '/nowhere', env }).then(
    () => 'fetched',
    (error: Error) => error.message,
  );
}

t.test('neither a poll nor a build connects to a service of the machine, in any spelling', async (t) => {
  const service = await loopbackService(t);
  const poll = await poller(t, []);
  for (const url of loopback.flatMap((host) => urlsOf(host, service.port).slice(0, 3))) {
    t.match(await poll(url), { problem: 'address', commit: null }, url);
    t.match(await fetchSource(t, url, ''), /private network|not a repository URL|cannot be/i, url);
  }
  t.equal(service.connections(), 0);
});

t.test('what the settings allow is reached, so the test above would see a connection', async (t) => {
  const service = await loopbackService(t);
  const url = `http://127.0.0.1:${service.port}/shop/api.git`;
  const poll = await poller(t, ['127.0.0.1/32']);
  t.match(await poll(url), { problem: 'unreachable' });
  const afterPoll = service.connections();
  t.ok(afterPoll > 0);
  t.notMatch(await fetchSource(t, url, '10.0.0.0/8,127.0.0.1/32'), /private network/);
  t.ok(service.connections() > afterPoll);
});

t.test('polls that a member asks for over and over do not reach a server that fails', async (t) => {
  const service = await loopbackService(t);
  const url = `http://127.0.0.1:${service.port}/shop/api.git`;
  const poll = await poller(t, ['127.0.0.1/32']);
  t.match(await poll(url), { failures: 1 });
  const afterFirst = service.connections();
  for (let more = 0; more < 20; more++) t.match(await poll(url), { failures: 1 });
  t.equal(service.connections(), afterFirst);
});

t.test('a build connects to the addresses that were checked, whatever the name resolves to later', async (t) => {
  const programs = t.testdir({
    git: '#!/bin/sh\nenv | grep ^GIT_CONFIG >>"${0%/*}/environment"\nexit 1\n',
    environment: '',
  });
  chmodSync(join(programs, 'git'), 0o755);
  const env = { ...process.env, PATH: `${programs}:${process.env['PATH']}` };
  await fetchSource(t, 'http://localhost:3000/shop/api.git', '127.0.0.0/8,::1/128', env);
  t.match(readFileSync(join(programs, 'environment'), 'utf8'), /=localhost:3000:(127\.0\.0\.1|\[::1\])/);
});

t.test('a build gets the networks of the settings, and none without them', (t) => {
  const build = {
    apiVersion: 'platform.svc/v1',
    kind: 'Build',
    metadata: { name: 'api-1', namespace: 'svc-builds' },
    spec: { app: 'api', namespace, revision: 1, source: { url: 'http://git.test/a.git', branch: 'main' } },
  } as Build;
  const networksOf = (gitNetworks?: string[]) => {
    const builds = { image: 'r/builder:1', registry: 'r.test/builds', baseImages: { node: '', python: '' } };
    const job = buildJob(build, { ...builds, ...(gitNetworks && { gitNetworks }) });
    const { initContainers = [] } = job.spec.template.spec ?? { containers: [] };
    const step = initContainers.find(({ name }) => name === 'clone');
    return step?.env?.find(({ name }) => name === 'BUILD_GIT_NETWORKS')?.value;
  };
  t.equal(networksOf(['10.1.0.0/16', '127.0.0.1/32']), '10.1.0.0/16,127.0.0.1/32');
  t.equal(networksOf(), undefined);
  t.end();
});

t.test('a platform admin opens exactly the networks that the settings name', async (t) => {
  const networks = ['127.0.0.1/32'];
  await t.resolves(resolveGitHost('http://127.0.0.1:3000/shop/api.git', networks));
  for (const host of ['127.0.0.2', '[::1]', '10.0.0.1']) {
    await t.rejects(
      resolveGitHost(`http://${host}:3000/shop/api.git`, networks),
      { message: /is in a private network that git sources may not use/ },
      host,
    );
  }
});

t.test('svc up and npm start open no network: the services of a machine are not for its tenants', (t) => {
  const options = {
    folder: '/home/dana/.svc',
    kubeconfig: '/home/dana/.svc/kubeconfig',
    pushAddress: 'http://127.0.0.1:5000',
    port: 8080,
    references: {},
    failpoints: false,
  };
  t.notOk(installArguments(options).includes('--git-network'));
  const opened = installArguments({ ...options, gitNetworks: ['127.0.0.1', '10.1.0.0/16'] }).join(' ');
  t.match(opened, '--git-network 127.0.0.1 --git-network 10.1.0.0/16');
  // Tests alone open them.
  for (const file of ['cli/commands/local.ts', 'infra/demo/main.ts', 'infra/testcluster/platform.ts']) {
    t.notMatch(readFileSync(join(import.meta.dirname, '../..', file), 'utf8'), /gitNetworks: ?\[|git-network/, file);
  }
  t.end();
});
