import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import t from 'tap';
import type { Configuration } from '../../cli/configuration.ts';
import { world, type World } from './world.ts';

/** No variable names a platform, a token or a project. */
const bare = { SVC_API: '', SVC_TOKEN: '', SVC_PROJECT: '' };
const session = (token: string) => ({
  status: 201,
  body: { token, email: `${token}@svc.local`, expiresAt: '2026-12-21T12:00:00Z' },
});
const apps = { 'GET /api/v1/projects/shop/apps': { body: { items: [] } } };

function saved({ configuration }: World): Configuration {
  return JSON.parse(readFileSync(configuration, 'utf8')) as Configuration;
}

function save({ configuration }: World, content: object): void {
  mkdirSync(dirname(configuration), { recursive: true });
  writeFileSync(configuration, JSON.stringify(content));
}

t.test('two logins are kept apart, and each token goes to its own platform', async (t) => {
  const one = await world(t, { 'POST /api/v1/session': session('one'), ...apps });
  const two = await world(t, { 'POST /api/v1/session': session('two'), ...apps });
  const run = (args: string[], env = {}) => one.run(args, { env: { ...bare, ...env }, stdin: 'x' });
  const login = ['login', '--email', 'a@b.c', '--password-stdin'];
  t.equal((await run([...login, '--api', one.api, '--context', 'dev'])).code, 0);
  t.match(await run([...login, '--api', two.api]), { code: 0, stderr: /context apps\.localhost\)/ });
  t.match(saved(one), {
    current: 'apps.localhost',
    contexts: { dev: { token: 'one' }, 'apps.localhost': { token: 'two' } },
  });

  const list = ['app', 'list', '--project', 'shop'];
  const tokens = () => [one, two].map(({ seen }) => seen.at(-1)?.headers.authorization);
  await run(list);
  t.same(tokens(), [undefined, 'Bearer two'], 'the last login is the current one');
  await run([...list, '--context', 'dev']);
  t.same(tokens(), ['Bearer one', 'Bearer two']);
  await run(['context', 'use', 'dev']);
  const [before, other] = [one.seen.length, two.seen.length];
  await run(list);
  t.equal(one.seen.length, before + 1);
  await run(list, { SVC_CONTEXT: 'apps.localhost' });
  t.equal(two.seen.length, other + 1);
  await run([...list, '--api', two.api]);
  t.equal(two.seen.at(-1)?.headers.authorization, 'Bearer two', 'the login for that address');
  await run([...list, '--context', 'dev'], { SVC_API: two.api, SVC_TOKEN: 'other' });
  t.equal(one.seen.at(-1)?.headers.authorization, 'Bearer one', 'the option is stronger than the variables');
  const [seenByOne, seenByTwo] = [one.seen.length, two.seen.length];
  t.match(
    await run([...list, '--context', 'dev', '--api', two.api]),
    { code: 4 },
    'its token is for its platform only',
  );
  t.same([one.seen.length, two.seen.length], [seenByOne, seenByTwo]);
});

t.test('each context remembers its project', async (t) => {
  const cli = await world(t, {
    'GET /api/v1/projects/shop': {
      body: { name: 'shop', status: 'ready', environments: [], createdAt: '2026-11-21T11:00:00Z' },
    },
    ...apps,
  });
  save(cli, {
    current: 'a',
    contexts: { a: { api: cli.api, token: 'a' }, b: { api: `${cli.api}/b`, token: 'b', project: 'blog' } },
  });
  t.equal((await cli.run(['project', 'use', 'shop'], { env: bare })).code, 0);
  t.match(saved(cli).contexts, { a: { project: 'shop' }, b: { project: 'blog' } });
  await cli.run(['app', 'list'], { env: bare });
  t.equal(cli.seen.at(-1)?.path, '/api/v1/projects/shop/apps');
  await cli.run(['app', 'list', '--context', 'b'], { env: bare });
  t.equal(cli.seen.at(-1)?.path, '/b/api/v1/projects/blog/apps');
});

t.test('a configuration of version 0.1 becomes one context', async (t) => {
  const cli = await world(t, apps);
  save(cli, { api: cli.api, token: 'old', email: 'a@b.c', project: 'shop', environment: 'prod' });
  t.equal((await cli.run(['app', 'list'], { env: bare })).code, 0);
  t.match(cli.seen[0], { query: { environment: 'prod' }, headers: { authorization: 'Bearer old' } });
  t.match(
    (await cli.run(['context', 'list'], { env: bare })).stdout,
    /^apps\.localhost \* +http.* a@b\.c +shop +prod$/m,
  );
  t.equal((await cli.run(['context', 'rename', 'apps.localhost', 'home'], { env: bare })).code, 0);
  t.match(saved(cli), { current: 'home', contexts: { home: { token: 'old', project: 'shop' } } });
  t.notHas(saved(cli), 'token');
});

t.test('contexts are listed, shown, renamed and deleted, without their tokens', async (t) => {
  const cli = await world(t);
  const contexts = { a: { api: cli.api, token: 'secret', email: 'a@b.c' }, b: { api: 'https://b.example.com' } };
  save(cli, { current: 'a', contexts });
  const run = (...args: string[]) => cli.run(['context', ...args], { env: bare });
  t.same(JSON.parse((await run('ls', '-ojson')).stdout), [
    { name: 'a', current: true, api: cli.api, email: 'a@b.c', signedIn: true },
    { name: 'b', current: false, api: 'https://b.example.com', signedIn: false },
  ]);
  t.match((await run('show')).stdout, /^Context: +a\nCurrent: +yes\n/);
  t.match((await run('show', 'b')).stdout, /^Context: +b\nCurrent: +no\n/);
  t.match(await run('use', 'third'), { code: 2, stderr: /There is no context "third"[^]*the contexts are a, b/ });
  t.match(await run('rename', 'a', 'b'), { code: 2, stderr: /a context "b" already/ });
  t.match(await run('rename', 'a', 'x y'), { code: 2, stderr: /not a context name/ });
  t.match(await run('delete', 'b', 'c', '--yes'), { code: 2 });
  t.match(await run('delete', 'b'), { code: 2, stderr: /--yes/ });
  t.same(Object.keys(saved(cli).contexts), ['a', 'b'], 'nothing is deleted so far');
  t.match(await run('rm', 'a', '--yes'), { code: 0, stderr: 'context a is deleted\n' });
  t.same(saved(cli), { contexts: { b: { api: 'https://b.example.com' } } });
  t.match(await run('show'), { code: 2, stderr: /no current context/ }, 'also the choice is gone');
  t.same(cli.seen, []);
});

t.test('an unknown context is refused before anything is sent', async (t) => {
  const cli = await world(t, apps);
  for (const [args, env] of [
    [['--context', 'nope'], {}],
    [[], { SVC_CONTEXT: 'nope', SVC_API: '' }],
  ] as const) {
    const ran = await cli.run(['app', 'list', ...args], { env });
    t.match(ran, { code: 2, stderr: /no context "nope"[^]*svc login --context nope --api <address>/ });
  }
  t.same(cli.seen, []);
});

t.test('without any context, the hint says how to get one', async (t) => {
  const { run } = await world(t);
  for (const words of [
    ['context', 'use', 'prod'],
    ['app', 'list', '--project', 'shop', '--context', 'prod'],
  ]) {
    t.match(await run(words), { code: 2, stderr: /There is no context "prod"[^]*hint: none is saved; .*svc login/ });
  }
});
