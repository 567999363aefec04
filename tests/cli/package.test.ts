import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';

const root = join(import.meta.dirname, '../..');
const home = mkdtempSync(join(tmpdir(), 'svc-package-'));
t.teardown(() => rmSync(home, { recursive: true }));
const run = (program: string, args: string[], cwd: string) => {
  const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home };
  return execFileSync(program, args, { cwd, env, encoding: 'utf8', stdio: 'pipe' });
};

t.test('the launcher runs from any folder by a link, as npm link makes it', async (t) => {
  const folder = t.testdir({});
  symlinkSync(join(root, 'cli/svc.js'), join(folder, 'svc'));
  t.match(run(process.execPath, [join(folder, 'svc'), '--version'], tmpdir()), /^svc \d/);
});

t.test('a command loads only what it needs: the version and the help of all commands, no contract of the API', (t) => {
  const folder = t.testdir({
    'record.mjs': `import { registerHooks } from 'node:module';
registerHooks({ load: (url, context, next) => (console.log(url), next(url, context)) });`,
  });
  const loadedBy = (...args: string[]) =>
    run(process.execPath, ['--import', join(folder, 'record.mjs'), join(root, 'cli/svc.js'), ...args], folder)
      .split('\n')
      .filter((line) => line.startsWith('file:'));
  for (const args of [['--version'], ['--help']]) {
    const modules = loadedBy(...args);
    t.ok(
      modules.some((url) => url.endsWith('cli/main.ts')),
      `${modules.length} modules`,
    );
    t.same(
      modules.filter((url) => /node_modules\/(zod|ws|yaml)|runtime\/contracts\/api/.test(url)),
      [],
      args.join(' '),
    );
  }
  t.end();
});

t.test('the package installs what the command line needs, and runs', (t) => {
  // Outside the repository, whose packages Node would find.
  const folder = join(home, 'machine');
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  run(process.execPath, [join(root, 'infra/package/main.ts')], folder);
  const [tarball = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
  run('tar', ['-xzf', join(folder, tarball)], folder);
  const installed = join(folder, 'node_modules/svc');
  renameSync(join(folder, 'package'), installed);
  const files = run('find', ['.', '-type', 'f', '-not', '-path', './dist/*'], installed).trim().split('\n');
  t.same(files.toSorted(), ['./LICENSE', './README.md', './cli/svc.js', './docs/svc.1', './package.json']);
  t.notOk(
    existsSync(join(installed, 'dist/functions')),
    'no module of the platform that the command line does not need',
  );

  const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  const needed = ['cac', 'cron-parser', 'ignore', 'jq-wasm', 'prom-client', 'ws', 'yaml', 'zod'];
  t.same(Object.keys(dependencies), needed);
  // As npm installs them; each brings its own.
  for (const name of needed) symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));

  const svc = (...args: string[]) => run(process.execPath, [join(installed, 'cli/svc.js'), ...args], folder);
  t.match(svc('--version'), /^svc \d/);
  t.match(svc('app', 'list', '--json'), /^name$/m);
  t.match(svc('completion', 'bash'), /complete -F _svc svc/);
  t.throws(() => svc('up'), { message: /The npm package of svc has the command line, but not the platform/ });
  const install = ['install', '--apps-domain', 'apps.example.com', '--cluster', 'home', '--registry', 'r.example.com'];
  t.throws(() => svc(...install), { message: /npm install -g @kubernetes\/client-node/ });
  t.end();
});
