import { join } from 'node:path';
import t from 'tap';
import { accepted, app, deployment, id, sequence, world } from './world.ts';

const apps = '/api/v1/projects/shop/apps';
const path = `${apps}/api/git`;
const url = 'https://git.example.com/shop/api.git';
const source = { configured: true, url, branch: 'main', credentials: 'token' };
const token = 'ghp_0123456789abcdefSECRET';

t.test('app git set sends the given fields; a token is read from a file, stdin or a prompt', async (t) => {
  let polls = 0;
  const { run, seen } = await world(t, {
    [`PUT ${path}`]: { body: source },
    [`GET ${path}`]: () => ({ body: { ...source, polledAt: new Date(polls++).toISOString() } }),
  });
  const folder = t.testdir({ token: `${token}\n`, key: 'a key\n', empty: ' \n', hosts: 'git.test ssh-ed25519 AAAA\n' });
  const set = ['app', 'git', 'set', 'api', '--url', url];
  const sent = async (flags: string[], options: object = {}) => {
    const ran = await run([...set, ...flags], options);
    t.equal(ran.code, 0, ran.stderr);
    t.notOk(`${ran.stdout}${ran.stderr}`.includes(token), 'no secret is printed');
    return seen.findLast(({ method }) => method === 'PUT')?.body;
  };
  t.same(await sent([]), { url });
  const places = ['--branch', 'release/2', '--path', 'services/api', '--dockerfile', 'Dockerfile.prod'];
  t.same(await sent(places), { url, branch: 'release/2', path: 'services/api', dockerfile: 'Dockerfile.prod' });
  const credentials = { token, username: 'ci' };
  t.same(await sent(['--token-file', join(folder, 'token'), '--username', 'ci']), { url, credentials });
  t.same(await sent(['--token-file', '-'], { stdin: token }), { url, credentials: { token } });
  t.same(await sent(['--deploy-key-file', join(folder, 'key')]), { url, credentials: { deployKey: 'a key\n' } });
  t.same(await sent(['--no-credentials']), { url, credentials: null });
  t.same(await sent(['--known-hosts', join(folder, 'hosts')]), { url, knownHosts: 'git.test ssh-ed25519 AAAA\n' });
  t.same(await sent(['--new-host-key']), { url, knownHosts: null });
  const before = seen.length;
  const wrong = [
    ['--token-file', join(folder, 'token'), '--ask-token'],
    ['--token-file', join(folder, 'token'), '--no-credentials'],
    ['--username', 'ci'],
    ['--token-file', join(folder, 'missing')],
    ['--deploy-key-file', join(folder, 'empty')],
    ['--token', token],
    ['--known-hosts', join(folder, 'missing')],
    ['--known-hosts', join(folder, 'hosts'), '--new-host-key'],
  ];
  for (const flags of wrong) t.equal((await run([...set, ...flags])).code, 2, flags.join(' '));
  t.equal((await run(['app', 'git', 'set', 'api'])).code, 2);
  t.equal(seen.length, before, 'nothing was sent');
  const plain = ['app', 'git', 'set', 'api', '--url', 'http://git.test/a.git', '--token-file', join(folder, 'token')];
  t.match((await run(plain)).stderr, /http:\/\/ sends the token unencrypted/);
  t.match((await run([...set, '-e', 'prod'])).stderr, /: svc app history api --project shop --environment prod\n$/);
});

t.test('app git set waits until the repository was read, and fails when it cannot be', async (t) => {
  const now = { ...source, polledAt: '2026-01-01T01:00:00Z', commit: '0123456' };
  const { run, routes, seen } = await world(t, {
    [`PUT ${path}`]: { body: source },
    [`GET ${path}`]: sequence({ body: source }, { body: source }, { body: now }),
  });
  const set = ['app', 'git', 'set', 'api', '--url', url];
  const read = await run(set);
  t.match(read, { code: 0, stdout: /Last commit: +0123456/ });
  t.match(read.stderr, /^reading the repository\nbuilding the newest commit/);

  const refusal = { ...now, error: 'The branch "nope" does not exist.', problem: 'repository' };
  routes[`GET ${path}`] = { body: refusal };
  t.match(await run([...set, '--branch', 'nope']), {
    code: 1,
    stderr: /cannot be built: The branch "nope" does not exist\..*git_source.*svc app git set api --url <url>/s,
  });

  // Sooner than the time-out: a repository that cannot be reached now rarely can be a moment later.
  const unreachable = { ...now, commit: undefined, error: 'no route', problem: 'unreachable' };
  routes[`GET ${path}`] = sequence({ body: source }, { body: unreachable });
  t.match(await run(set), {
    code: 1,
    stderr: /^reading the repository\nerror: .*unreachable: no route \(git_source\)\nhint: .*svc app git status api/,
  });

  const before = seen.length;
  t.equal((await run([...set, '--no-wait'])).code, 0);
  t.equal(seen.length, before + 1);
});

const hostKeys = [{ type: 'ssh-rsa', fingerprint: 'SHA256:abc', given: false }];

t.test('app git status, sync, build and remove', async (t) => {
  const { run, seen } = await world(t, {
    [`GET ${path}`]: {
      body: { ...source, commit: '0123456', error: 'no route', deployKey: 'ssh-ed25519 AAAA', hostKeys },
    },
    [`POST ${path}/sync`]: { status: 204 },
    [`POST ${path}/builds`]: { status: 202, body: accepted },
    [`DELETE ${path}`]: { status: 204 },
  });
  t.match((await run(['app', 'git', 'status', 'api'])).stdout, /Last commit: +0123456\n.*Error: +no route/s);
  const { stdout } = await run(['app', 'git', 'status', 'api']);
  t.match(stdout, /Public key: +ssh-ed25519 AAAA\nHost keys: +ssh-rsa SHA256:abc \(first seen\)/);
  t.match(await run(['app', 'git', 'sync', 'api']), { code: 0, stderr: /svc app git status api --project shop\n/ });
  t.match(await run(['app', 'git', 'build', 'api', '--commit', '3f2a9c1', '-o', 'name']), { stdout: `${id}\n` });
  t.same(seen.at(-1)?.body, { commit: '3f2a9c1' });
  t.match(await run(['app', 'git', 'remove', 'api', '-e', 'prod']), {
    code: 0,
    stderr: /update api --image <image> --project shop -/,
  });
  t.match(seen.at(-1), { method: 'DELETE', query: { environment: 'prod' } });
});

t.test('app create --git waits for the first build, and ends when the repository cannot be read', async (t) => {
  const unbuilt = { ...app, image: '', status: 'pending', readyReplicas: 0 };
  const { run, seen } = await world(t, {
    [`POST ${apps}`]: { status: 201, body: unbuilt },
    [`GET ${apps}/api`]: sequence({ body: unbuilt }, { body: unbuilt }, { body: app }),
    [`GET ${path}`]: { body: source },
    [`GET ${apps}/api/history`]: sequence(
      { body: { items: [] } },
      { body: { items: [{ ...deployment, status: 'building' }] } },
      { body: { items: [deployment] } },
    ),
  });
  const ran = await run(['app', 'create', 'api', '--git', url, '--branch', 'release', '--port', '80']);
  t.equal(ran.code, 0, ran.stderr);
  t.equal(ran.stderr, 'api: reading the repository\napi: building\n');
  t.same(seen[0]?.body, { name: 'api', git: { url, branch: 'release' }, port: 80 });

  const withError = { ...source, error: 'The git server refused the token.', problem: 'credentials' };
  const other = await world(t, {
    [`POST ${apps}`]: { status: 201, body: unbuilt },
    [`GET ${apps}/api`]: { body: unbuilt },
    [`GET ${path}`]: sequence({ body: source }, { body: withError }),
    [`GET ${apps}/api/history`]: { body: { items: [] } },
  });
  const failed = await other.run(['app', 'create', 'api', '--git', url, '--wait', '--timeout', '1h']);
  t.match(failed, { code: 1, stderr: /refused the token.*git_source.*svc app git set api --url https/s }, 'at once');
  const elsewhere = { ...source, error: 'The git server sends elsewhere.', problem: 'repository' };
  other.routes[`GET ${path}`] = { body: elsewhere };
  const redirected = await other.run(['app', 'create', 'api', '--git', url, '--wait']);
  t.match(
    redirected,
    { code: 1, stderr: /sends elsewhere.*svc app git set api --url <url>/s },
    'the same line is not repeated',
  );

  const unresolved = { ...source, error: 'The host git.example.com cannot be resolved.', problem: 'unreachable' };
  other.routes[`GET ${path}`] = sequence({ body: source }, { body: unresolved });
  const unreached = await other.run(['app', 'create', 'api', '--git', url]);
  t.equal(unreached.code, 1, 'not after the time-out');
  t.match(
    unreached.stderr,
    /^api: reading the repository\nerror: .*is created, but.*cannot be resolved\. \(git_source\)\nhint: .*every minute/,
  );

  const create = ['app', 'create', 'api', '--no-wait'];
  for (const flags of [[], ['--git', url, '--image', 'r/api:1'], ['--image', 'r/api:1', '--branch', 'main']]) {
    t.equal((await run([...create, ...flags])).code, 2, flags.join(' '));
  }
});

t.test('app deploy and app update --commit build a commit of an app with a git source', async (t) => {
  const { run, seen } = await world(t, { [`POST ${path}/builds`]: { status: 202, body: accepted } });
  for (const command of ['deploy', 'update']) {
    const ran = await run(['app', command, 'api', '--commit', '3f2a9c1', '--no-wait']);
    t.match(ran, { code: 0, stdout: 'revision 2 of api is accepted\n' }, command);
    t.same(seen.at(-1)?.body, { commit: '3f2a9c1' });
  }
});
