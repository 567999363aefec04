import { execFileSync, spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
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

/** The modules and the parts of Node.js that a command loads, whether it succeeds or fails. */
function loadedBy(folder: string, ...args: string[]): { modules: string[]; builtins: string[] } {
  const record = join(folder, 'record.mjs');
  writeFileSync(
    record,
    `import { registerHooks } from 'node:module';
const before = new Set(process.moduleLoadList);
const modules = [];
registerHooks({ load: (url, context, next) => (modules.push(url), next(url, context)) });
process.on('exit', () => {
  const builtins = process.moduleLoadList.filter((name) => !before.has(name)).map((name) => name.split(' ').at(-1));
  process.stdout.write('\\n' + JSON.stringify({ modules, builtins }));
});`,
  );
  // Nothing answers there.
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    SVC_API: 'http://127.0.0.1:9',
    SVC_TOKEN: 'x',
    SVC_PROJECT: 'shop',
  };
  const { stdout } = spawnSync(process.execPath, ['--import', record, join(root, 'cli/svc.js'), ...args], {
    env,
    encoding: 'utf8',
  });
  return JSON.parse(stdout.split('\n').at(-1) ?? '') as { modules: string[]; builtins: string[] };
}

/** Parts of Node.js that take longer to load than a command of svc does. */
const slowBuiltins =
  /^(crypto|tls|https|zlib|child_process|worker_threads|readline\/promises|internal\/deps\/undici\/undici)$/;

t.test('a command loads only what it needs: the version and the help of all commands, no contract of the API', (t) => {
  const folder = t.testdir({});
  for (const args of [['--version'], ['--help']]) {
    const { modules, builtins } = loadedBy(folder, ...args);
    t.ok(
      modules.some((url) => url.endsWith('cli/main.ts')),
      `${modules.length} modules`,
    );
    const refused = /node_modules\/(zod|ws|yaml)|runtime\/contracts\/api|local\/supervisor\.ts/;
    t.same(
      modules.filter((url) => refused.test(url)),
      [],
      args.join(' '),
    );
    t.same(
      builtins.filter((name) => slowBuiltins.test(name)),
      [],
      args.join(' '),
    );
  }
  t.end();
});

t.test('a command that sends a request loads no other command, and nothing that only others need', (t) => {
  const { modules, builtins } = loadedBy(t.testdir({}), 'app', 'list');
  t.ok(
    modules.some((url) => url.endsWith('cli/configuration.ts')),
    `it ran, with ${modules.length} modules`,
  );
  const packages = new Set(modules.flatMap((url) => /node_modules\/([^/]+)\//.exec(url)?.[1] ?? []));
  t.same([...packages].toSorted(), ['cac', 'zod']);
  const refused = [
    /zod\/v\d\/locales\/(?!en\.js)/,
    /cli\/commands\/(?!(root|app|app-environment|app-kind|security-policy|workload-(commands|groups))\.ts)/,
    /cli\/(completion|watch|web-socket|exec-session|file-copy|folder\/|project-file\/)/,
    /infra\/(?!local\/(home|supervisor-record)\.ts|run-info\.ts|process-record\.ts)/,
  ];
  t.same(
    modules.filter((url) => refused.some((pattern) => pattern.test(url))),
    [],
  );
  t.same(
    builtins.filter((name) => slowBuiltins.test(name)),
    [],
  );
  t.end();
});

t.test('the commands of a group that work with this machine are not loaded with the others', (t) => {
  const folder = t.testdir({});
  for (const group of ['function', 'image', 'job']) {
    const { modules } = loadedBy(folder, group, 'list');
    t.ok(
      modules.some((url) => url.endsWith('cli/configuration.ts')),
      `svc ${group} list ran, with ${modules.length} modules`,
    );
    const refused =
      /cli\/commands\/(function-local|image-build|image-local|workload-bind)\.ts|infra\/local\/(node|image-build)/;
    t.same(
      modules.filter((url) => refused.test(url)),
      [],
      `svc ${group} list`,
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
  // The bundle names each module that it has, before its code.
  const modules = run('grep', ['-rhE', '^// (cli|functions|node_modules/zod)/', 'dist'], installed).split('\n');
  t.ok(modules.includes('// cli/main.ts'), `${modules.length} modules`);
  t.same(
    modules.filter((line) => /^\/\/ functions\/|\/locales\/(?!en\.js)/.test(line)),
    [],
    'no module of the platform that the command line does not need, and no message of zod in another language',
  );
  const licenses = readFileSync(join(installed, 'dist/cli/licenses.md'), 'utf8');
  for (const name of ['cac', 'zod']) t.match(licenses, new RegExp(`^## ${name} - `, 'm'), `the license of ${name}`);

  const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  const needed = ['@modelcontextprotocol/server', 'cron-parser', 'ignore', 'jq-wasm', 'prom-client', 'ws', 'yaml'];
  t.same(Object.keys(dependencies), needed);
  // As npm installs them; each brings its own.
  for (const name of needed) {
    mkdirSync(join(folder, 'node_modules', name, '..'), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  }

  const svc = (...args: string[]) => run(process.execPath, [join(installed, 'cli/svc.js'), ...args], folder);
  t.match(svc('--version'), /^svc \d/);
  t.match(svc('app', 'list', '--json'), /^name$/m);
  t.match(svc('completion', 'bash'), /complete -F _svc svc/);
  const old = `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.0.0'}})`;
  t.throws(() => run(process.execPath, ['--import', old, join(installed, 'cli/svc.js')], folder), {
    message: /svc requires Node 24 or later; .*Install it from https:\/\/nodejs.org/,
  });
  t.throws(() => svc('up'), { message: /The npm package of svc has the command line, but not the platform/ });
  const install = ['install', '--apps-domain', 'apps.example.com', '--cluster', 'home', '--registry', 'r.example.com'];
  t.throws(() => svc(...install), { message: /npm install -g @kubernetes\/client-node/ });
  t.end();
});
