import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Configuration } from '../../cli/configuration.ts';
import { world } from './world.ts';

const signedOut = { SVC_TOKEN: '', SVC_PROJECT: '' };
/** The login of the current context. */
function savedLogin(file: string): unknown {
  const { current, contexts } = JSON.parse(readFileSync(file, 'utf8')) as Configuration;
  return contexts[current ?? ''];
}

const session = { token: 'svcs_secret', email: 'admin@svc.local', expiresAt: '2026-12-21T12:00:00Z' };
const project = {
  name: 'shop',
  status: 'ready',
  environments: [{ name: 'prod', namespace: 'shop-prod', ready: true }],
  createdAt: '2026-11-21T11:00:00Z',
};

t.test('login sends the password once, stores the token readable by its owner only, and prints neither', async (t) => {
  const { run, seen, api, configuration } = await world(t, { 'POST /api/v1/session': { status: 201, body: session } });
  const login = ['login', '--email', 'admin@svc.local', '--password-stdin'];
  const ran = await run(login, { env: signedOut, stdin: 'pass word\n' });
  t.equal(ran.code, 0, ran.stderr);
  t.equal(ran.stdout, '');
  t.notMatch(ran.stderr, /svcs_secret|pass word/);
  t.same(seen[0]?.body, { email: 'admin@svc.local', password: 'pass word' });
  t.equal(seen[0]?.headers.authorization, undefined);
  t.same(savedLogin(configuration), { api, token: 'svcs_secret', email: 'admin@svc.local' });
  t.equal(statSync(configuration).mode & 0o777, 0o600);
});

t.test('login keeps what proves the device, and sends it to the same platform again', async (t) => {
  const answer = { status: 201, body: { ...session, device: 'device-1' } };
  const cli = await world(t, { 'POST /api/v1/session': answer, 'DELETE /api/v1/session': { status: 204 } });
  const other = await world(t, { 'POST /api/v1/session': { status: 201, body: session } });
  const login = ['login', '--email', 'admin@svc.local', '--password-stdin'];
  const run = (args: string[]) => cli.run(args, { env: signedOut, stdin: 'pass word' });
  await run(login);
  t.equal((await run(['logout'])).code, 0);
  t.match(savedLogin(cli.configuration), { device: 'device-1', token: undefined });
  t.equal((await run(login)).code, 0);
  t.match(cli.seen.at(-1)?.body, { device: 'device-1' });
  t.equal((await run([...login, '--api', other.api])).code, 0);
  t.notHas(other.seen.at(-1)?.body, 'device', 'another platform does not get it');
  t.notHas(savedLogin(cli.configuration), 'device');
});

t.test('a password may be read from a file; both sources at once are refused', async (t) => {
  const { run, seen } = await world(t, { 'POST /api/v1/session': { status: 201, body: session } });
  const file = join(t.testdir({ password: 'from file\r\n' }), 'password');
  const login = ['login', '--email', 'a@b.c', '--password-file'];
  t.equal((await run([...login, file], { env: signedOut })).code, 0);
  t.match(seen[0]?.body, { password: 'from file' });
  t.equal((await run([...login, file, '--password-stdin'], { env: signedOut })).code, 2);
  t.equal((await run([...login, '/nothing'], { env: signedOut })).code, 2);
  const prompted = await run(['login', '--email', 'a@b.c'], { env: signedOut });
  t.equal(prompted.code, 2);
  t.match(prompted.stderr, /--password-stdin or --password-file/);
  t.equal(seen.length, 1);
});

t.test('a prompt asks for e-mail and password; the password is not shown', async (t) => {
  const { run, seen } = await world(t, { 'POST /api/v1/session': { status: 201, body: session } });
  const ran = await run(['login'], { env: signedOut, typed: ['a@b.c\r', 'hidden one\r'] });
  t.equal(ran.code, 0, ran.stderr);
  t.same(seen[0]?.body, { email: 'a@b.c', password: 'hidden one' });
  t.match(ran.stderr, /Email address at .*a@b\.c.*Password: \n/s);
  t.notMatch(ran.stderr, 'hidden');
  for (const key of ['\u0003', '\u0004']) {
    const interrupted = await run(['login', '--email', 'a@b.c'], { env: signedOut, typed: [key] });
    t.match(interrupted, { code: 130, stderr: /Interrupted/ });
  }
  t.equal(seen.length, 1);
});

t.test('wrong credentials end with 1 and store nothing', async (t) => {
  const { run, configuration } = await world(t, {
    'POST /api/v1/session': { status: 401, body: { code: 'invalid_credentials', message: 'Wrong.' } },
  });
  const ran = await run(['login', '--email', 'a@b.c', '--password-stdin'], { env: signedOut, stdin: 'x' });
  t.same(ran, { code: 1, stdout: '', stderr: 'error: Wrong. (invalid_credentials)\n' });
  t.notOk(existsSync(configuration));
});

t.test('a missing session ends with 4, here or at the platform', async (t) => {
  const { run, seen, api } = await world(t, {
    'GET /api/v1/session': { status: 401, body: { code: 'unauthenticated', message: 'Log in.' } },
  });
  const withoutToken = await run(['whoami'], { env: signedOut });
  t.equal(withoutToken.code, 4);
  t.match(withoutToken.stderr, `hint: sign in: svc login --api ${api}`);
  t.same(seen, []);
  const rejectedToken = await run(['whoami']);
  t.equal(rejectedToken.code, 4);
  t.match(rejectedToken.stderr, 'error: Log in. (unauthenticated)');
  const nowhere = await run(['whoami'], { env: { ...signedOut, SVC_API: '' } });
  t.equal(nowhere.code, 4);
});

t.test('a stored token is sent only to the address that issued it', async (t) => {
  const one = await world(t, { 'POST /api/v1/session': { status: 201, body: session } });
  await one.run(['login', '--email', 'a@b.c', '--password-stdin'], { env: signedOut, stdin: 'x' });
  const other = await world(t);
  const ran = await one.run(['project', 'list', '--api', other.api], { env: signedOut });
  t.equal(ran.code, 4);
  t.same(other.seen, []);
  const own = await one.run(['project', 'list'], { env: { ...signedOut, SVC_API: '' } });
  t.equal(own.code, 1, 'the stored address is used');
  t.equal(one.seen.at(-1)?.headers.authorization, 'Bearer svcs_secret');
});

t.test('logout ends the session and removes it, also when it had expired', async (t) => {
  for (const reply of [{ status: 204 }, { status: 401, body: { code: 'unauthenticated', message: 'x' } }]) {
    const { run, seen, api, configuration } = await world(t, {
      'POST /api/v1/session': { status: 201, body: session },
      'DELETE /api/v1/session': reply,
    });
    await run(['login', '--email', 'a@b.c', '--password-stdin'], { env: signedOut, stdin: 'x' });
    t.equal((await run(['logout'], { env: signedOut })).code, 0);
    t.equal(seen.at(-1)?.method, 'DELETE');
    t.same(savedLogin(configuration), { api });
    t.match(await run(['logout'], { env: signedOut }), { code: 0, stderr: 'not signed in\n' });
  }
});

t.test('whoami', async (t) => {
  const { run, api } = await world(t, { 'GET /api/v1/session': { body: { email: 'a@b.c', role: 'admin' } } });
  t.same(await run(['whoami']), {
    code: 0,
    stdout: `API:           ${api}\nSigned in as:  a@b.c\nRole:          admin\n`,
    stderr: '',
  });
  t.same(JSON.parse((await run(['whoami', '-o', 'json'])).stdout), { api, email: 'a@b.c', role: 'admin' });
});

t.test('project use stores project and environment; flags and variables have priority', async (t) => {
  const { run, seen, configuration } = await world(t, { 'GET /api/v1/projects/shop': { body: project } });
  const env = { SVC_PROJECT: '' };
  t.equal((await run(['project', 'use', 'shop', '-e', 'prod'], { env })).code, 0);
  t.match(savedLogin(configuration), { project: 'shop', environment: 'prod' });
  const promptsOf = async (args: string[], variables: Record<string, string> = {}) => {
    await run(['app', 'list', ...args], { env: { ...env, ...variables } });
    return [seen.at(-1)?.path.split('/')[4], seen.at(-1)?.query['environment']];
  };
  t.same(await promptsOf([]), ['shop', 'prod']);
  t.same(await promptsOf([], { SVC_ENVIRONMENT: 'staging' }), ['shop', 'staging']);
  t.same(await promptsOf(['--environment', 'dev'], { SVC_ENVIRONMENT: 'staging' }), ['shop', 'dev']);
  t.same(await promptsOf([], { SVC_PROJECT: 'other' }), ['other', undefined], 'the environment belongs to its project');
  t.same(await promptsOf(['--project', 'third'], { SVC_PROJECT: 'other' }), ['third', undefined]);
  const unknown = await run(['project', 'use', 'shop', '-e', 'nope'], { env });
  t.equal(unknown.code, 1);
  t.match(unknown.stderr, /no environment "nope".*\n.*it has prod/);
});

t.test('a configuration that cannot be read is named', async (t) => {
  const { run, configuration } = await world(t, { 'GET /api/v1/projects/shop': { body: project } });
  await run(['project', 'use', 'shop']);
  writeFileSync(configuration, '{');
  const ran = await run(['whoami']);
  t.equal(ran.code, 1);
  t.match(ran.stderr, configuration);
});

t.test('a password over an unencrypted connection to another machine causes a warning', async (t) => {
  const { run } = await world(t);
  const login = ['login', '--email', 'a@b.c', '--password-stdin', '--api'];
  t.match((await run([...login, 'http://192.0.2.1.invalid'], { env: signedOut, stdin: 'x' })).stderr, 'not encrypted');
});

t.test('addresses are accepted in the usual spellings', async (t) => {
  const { run, seen, api } = await world(t);
  for (const typed of [`${api}/`, `${api}/api/v1`, `${api}/api/v1/`]) {
    await run(['project', 'list', '--api', typed]);
    t.equal(seen.at(-1)?.path, '/api/v1/projects');
  }
  for (const typed of ['ftp://x', 'http://user:pw@x', 'http://x?y', ':']) {
    const ran = await run(['project', 'list', '--api', typed]);
    t.equal(ran.code, 2, typed);
  }
});
