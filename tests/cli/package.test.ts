import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
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

t.test('the package has the launcher, the compiled program and the manual, and no sources', async (t) => {
  const [packed] = JSON.parse(run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], root)) as [
    { files: { path: string }[] },
  ];
  const files = packed.files.map(({ path }) => path).filter((path) => !path.startsWith('dist/'));
  t.same(files.toSorted(), ['LICENSE', 'README.md', 'cli/svc.js', 'docs/svc.1', 'package.json']);
});

t.test('the compiled program runs in node_modules, where Node runs no TypeScript', async (t) => {
  const folder = t.testdir({ node_modules: { svc: { cli: {} } } });
  const installed = join(folder, 'node_modules/svc');
  run('tsc', ['--project', 'tsconfig.package.json', '--outDir', join(installed, 'dist')], root);
  cpSync(join(root, 'cli/completions'), join(installed, 'dist/cli/completions'), { recursive: true });
  for (const file of ['package.json', 'cli/svc.js']) copyFileSync(join(root, file), join(installed, file));
  const svc = (...args: string[]) => run(process.execPath, [join(installed, 'cli/svc.js'), ...args], folder);
  t.match(svc('--version'), /^svc \d/);
  t.match(svc('app', 'list', '--json'), /^name$/m);
  t.match(svc('completion', 'bash'), /complete -F _svc svc/);
  t.throws(() => svc('up'), { message: /The npm package of svc has the command line, but not the platform/ });
});
