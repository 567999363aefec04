import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { systemClock } from '../../runtime/domain/clock.ts';
import { app, world, type World } from './world.ts';

const run = promisify(execFile);
const launcher = join(import.meta.dirname, '../../cli/svc.js');
const project = '/api/v1/projects/shop';
const routes = {
  [`GET ${project}/apps`]: { body: { items: [app, { ...app, name: 'api-docs' }, { ...app, name: '$(reboot)' }] } },
  [`GET ${project}/functions`]: { body: { items: [{ name: 'apply-discount' }] } },
  [`GET ${project}/services`]: { body: { items: [{ name: 'orders' }] } },
  [`GET ${project}/plans`]: { body: { items: [{ name: 'small' }] } },
  'GET /api/v1/projects': { body: { items: [{ name: 'shop' }, { name: 'blog' }] } },
};

/** The words that are offered; the last one stands at the cursor. */
async function offered({ run: svc }: World, ...words: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await svc(['__complete', ...words], { clock: systemClock });
  if (code !== 0 || stderr !== '') throw new Error(`completion must be silent: ${code} ${stderr}`);
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split('\t')[0] ?? '');
}

t.test('commands, options, choices, fields and files are offered without the platform', async (t) => {
  const cli = await world(t);
  t.same(await offered(cli, 'app', 'ro'), ['rollback']);
  t.ok((await offered(cli, '')).includes('app'));
  t.notOk((await offered(cli, '')).includes('__complete'));
  t.same(await offered(cli, 'app', 'gate', ''), ['enable', 'disable', 'status']);
  t.same(await offered(cli, 'app', 'list', '--env'), ['--environment']);
  t.same(await offered(cli, 'app', 'list', '-o', 'j'), ['json']);
  t.same(await offered(cli, 'app', 'list', '--output=y'), ['--output=yaml']);
  t.same(await offered(cli, 'app', 'ls', '--json', 'name,sta'), ['name,status']);
  t.same(await offered(cli, 'login', '--password-file', ''), [':files']);
  t.same(await offered(cli, 'apply', '--file', ''), [':files']);
  t.same(await offered(cli, 'deploy', ''), [':files']);
  t.same(await offered(cli, 'app', 'env', 'push', 'api', ''), [':files']);
  t.same(await offered(cli, 'app', 'cp', 'backup.sql', ''), [':files']);
  t.same(await offered(cli, 'completion', 'z'), ['zsh']);
  t.same(await offered(cli, 'app', 'frobnicate', ''), []);
  t.same(await offered(cli, 'app', 'deploy', 'api', '""'), [], 'PowerShell writes the empty word so');
  t.same(cli.seen, []);
});

t.test('names of objects are those that the platform has, if a shell can take them', async (t) => {
  const cli = await world(t, routes);
  t.same(await offered(cli, 'app', 'show', ''), ['api', 'api-docs']);
  t.same(await offered(cli, 'app', 'delete', 'api', 'api-'), ['api-docs']);
  t.same(await offered(cli, 'app', 'env', 'set', 'a'), ['api', 'api-docs']);
  t.same(await offered(cli, 'app', 'show', 'api', ''), [], 'it takes one name');
  t.same(await offered(cli, 'key', 'create', '--plan', ''), ['small']);
  t.same(await offered(cli, 'app', 'list', '--project=b'), ['--project=blog']);
  t.same(await offered(cli, 'open', 'ap'), ['api', 'api-docs', 'apply-discount']);
  t.same(await offered(cli, 'port-forward', ''), ['app/api', 'app/api-docs', 'service/orders']);
  await offered(cli, 'app', 'show', '-p', 'blog', '--environment', 'prod', '');
  t.match(cli.seen.at(-1), { path: '/api/v1/projects/blog/apps', query: { environment: 'prod' } });
});

t.test('without an environment, the names of all environments of the project are offered once', async (t) => {
  const required = { status: 400, body: { code: 'environment_required', message: 'Name an environment.' } };
  const environment = (name: string) => ({ name, project: 'shop', namespace: `shop-${name}`, ready: true });
  const cli = await world(t, {
    ...routes,
    [`GET ${project}/environments`]: { body: { items: [environment('dev'), environment('prod')] } },
    [`GET ${project}/apps`]: ({ query }) =>
      query['environment'] === undefined
        ? required
        : { body: { items: [{ name: 'api' }, { name: `api-${query['environment']}` }] } },
  });
  t.same(await offered(cli, 'app', 'show', ''), ['api', 'api-dev', 'api-prod']);
});

t.test('nothing is offered, and nothing said, when the platform is silent or refuses', async (t) => {
  const cli = await world(t, {
    [`GET ${project}/apps`]: { status: 401, body: { code: 'unauthenticated', message: 'No.' } },
  });
  t.same(await offered(cli, 'app', 'show', ''), []);
  t.equal((await cli.run(['__complete', 'app', 'show', ''], { env: { SVC_TOKEN: '' } })).stdout, '');
  t.equal((await cli.run(['__complete', 'app', 'show', ''], { env: { SVC_API: 'http://127.0.0.1:9' } })).stdout, '');
});

t.test('svc completion prints a script for each shell', async (t) => {
  const { run: svc } = await world(t);
  for (const shell of ['bash', 'zsh', 'fish', 'powershell']) {
    t.match(await svc(['completion', shell]), { code: 0, stdout: /svc __complete / }, shell);
  }
  t.match(await svc(['completion', 'csh']), { code: 2, stderr: /the shells are bash, zsh, fish, powershell/ });
});

/** The environment of a shell in which `svc` is on the path and signed in to the fake API, and the script's file. */
async function shell(t: Test, name: string): Promise<{ env: NodeJS.ProcessEnv; script: string } | undefined> {
  if (!isInstalled(name)) return undefined;
  const cli = await world(t, routes);
  const folder = t.testdir({ bin: {} });
  const svc = join(folder, 'bin/svc');
  writeFileSync(svc, `#!/bin/sh\nexec '${process.execPath}' '${launcher}' "$@"\n`);
  chmodSync(svc, 0o755);
  const script = join(folder, 'script');
  writeFileSync(script, (await cli.run(['completion', name])).stdout);
  const variables = { SVC_API: cli.api, SVC_TOKEN: 'svcs_token', SVC_PROJECT: 'shop', SVC_CONTEXT: '', HOME: folder };
  const env = { ...process.env, ...variables, XDG_CONFIG_HOME: folder, PATH: `${folder}/bin:${process.env['PATH']}` };
  return { env, script };
}

function isInstalled(name: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${name}`]);
    return true;
  } catch {
    return false;
  }
}

t.test('bash completes', async (t) => {
  const bash = await shell(t, 'bash');
  if (!bash) return t.comment('bash is not installed');
  const reply = async (...words: string[]) => {
    const program = 'source "$1"; shift; COMP_WORDS=(svc "$@"); COMP_CWORD=$#; _svc; printf "%s\\n" "${COMPREPLY[@]}"';
    const { stdout } = await run('bash', ['-c', program, 'bash', bash.script, ...words], { env: bash.env });
    return stdout.trim().split('\n');
  };
  t.same(await reply('app', 'ro'), ['rollback']);
  t.same(await reply('app', 'show', ''), ['api', 'api-docs']);
  t.same(await reply('app', 'list', '--output', '=', 'js'), ['json'], 'as bash splits words');
});

t.test('fish completes', async (t) => {
  const fish = await shell(t, 'fish');
  if (!fish) return t.comment('fish is not installed');
  const { stdout } = await run('fish', ['-c', `source ${fish.script}; complete -C 'svc app show ap'`], {
    env: fish.env,
  });
  t.same(stdout.trim().split('\n'), ['api', 'api-docs']);
});

t.test('zsh completes', async (t) => {
  const zsh = await shell(t, 'zsh');
  if (!zsh) return t.comment('zsh is not installed');
  // _describe needs the line editor; here it prints what it is given.
  const program =
    'compdef() { }; _describe() { print -l "${(@P)2}" }; source $1; words=(svc app show ap); CURRENT=4; _svc';
  const { stdout } = await run('zsh', ['-c', program, 'zsh', zsh.script], { env: zsh.env });
  t.same(stdout.trim().split('\n'), ['api:api', 'api-docs:api-docs']);
});
