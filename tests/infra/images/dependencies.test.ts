// The step that installs dependencies, with the real installers and a registry of the test, and the runtimes that use
// it.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { functionNode } from '../../../infra/local/programs.ts';
import { selfSignedCertificate } from '../../../infra/local/apiserver/certificate.ts';
import { dependencyManifest } from '../../../infra/manifests/function-dependencies.ts';
import {
  callFunction,
  missing,
  nodeRuntime,
  pythonRuntime,
  startFunction,
  type FunctionRuntime,
} from '../../support/function-runtime.ts';
import { packageRegistry, type PackageRegistry } from '../../support/package-registry.ts';

interface Installers {
  runtime: FunctionRuntime;
  command: [string, string];
  available: string[];
  registry: (registry: PackageRegistry) => Record<string, string>;
  /**
   * Puts `greeting` with its own dependency, and `risky`, which would run code when it is installed, into the registry.
   */
  fill: (registry: PackageRegistry) => void;
  code: string;
  lost: RegExp;
  refused: RegExp;
}

const images = join(import.meta.dirname, '../../../infra/images');
const mark = 'touch "$MARK"';

const installers: Installers[] = [
  {
    runtime: nodeRuntime,
    command: [functionNode(), join(images, 'function-node/install.mjs')],
    available: ['npm'],
    registry: ({ npm }) => ({ npm_config_registry: npm }),
    fill(registry) {
      const json = (more: object) => JSON.stringify({ version: '1.0.0', ...more });
      registry.addNpm('greeting', '1.0.0', {
        'package.json': json({ name: 'greeting', dependencies: { word: '1.0.0' }, scripts: { postinstall: mark } }),
        'index.js': "exports.greet = (name) => require('word') + ' ' + name;",
      });
      registry.addNpm('word', '1.0.0', {
        'package.json': json({ name: 'word', scripts: { preinstall: mark } }),
        'index.js': "module.exports = 'hello';",
      });
      registry.addNpm('@scope/pure', '2.0.0', {
        'package.json': JSON.stringify({
          name: '@scope/pure',
          version: '2.0.0',
          type: 'module',
          exports: { './a': './a.js' },
        }),
        'a.js': "export const name = 'Ada';",
      });
    },
    code: `
      import { readFileSync } from 'fs';
      import { createRequire } from 'node:module';
      import { name } from '@scope/pure/a';
      const { greet } = createRequire(import.meta.url)('greeting');
      export const handler = () => greet(name) + (typeof readFileSync === 'function' ? '' : '!');`,
    lost: /404 Not Found - GET http:\/\/127\.0\.0\.1:\d+\/npm\/not-there/,
    refused: /never/,
  },
  {
    runtime: pythonRuntime,
    command: ['python3', join(images, 'function-python/install.py')],
    available: ['python3', '-m', 'pip'],
    registry: ({ pypi }) => ({ PIP_INDEX_URL: pypi }),
    fill(registry) {
      registry.addPython('greeting', '1.0.0', {
        'greeting/__init__.py': "def greet(name):\n    return 'hello ' + name\n",
      });
      registry.addPython('scope', '2.0.0', { 'scope/__init__.py': "name = 'Ada'\n" });
      registry.addPython(
        'risky',
        '1.0.0',
        { 'setup.py': 'import os\nopen(os.environ["MARK"], "w").close()\n' },
        'sdist',
      );
    },
    code: `
from greeting import greet
from scope import name
def handler(event, context):
    return greet(name)`,
    lost: /No matching distribution found for not-there==1\.0\.0/,
    refused: /No matching distribution found for risky==1\.0\.0/,
  },
];

for (const { runtime, command, available, registry: variables, fill, code, lost, refused } of installers) {
  const { name } = runtime;
  const [program = '', ...args] = available;
  const lacks =
    missing(runtime) ?? (spawnSync(program, [...args, '--version']).status === 0 ? undefined : `no ${program}`);

  t.test(name, lacks === undefined ? {} : { skip: lacks }, async (t) => {
    const registry = await packageRegistry(t);
    fill(registry);
    const root = mkdtempSync(join(tmpdir(), 'svc-packages-'));
    t.teardown(() => rmSync(root, { recursive: true, force: true }));
    const marked = join(root, 'marked');

    /** One run of the step, as in a pod. */
    const install = async (cache: string, dependencies: string[], from = variables(registry)) => {
      const [manifest, content] = Object.entries(dependencyManifest({ dependencies, runtime: name }))[0] ?? ['', ''];
      writeFileSync(join(root, manifest), content);
      const child = spawn(command[0], [command[1]], {
        env: {
          PATH: process.env['PATH'],
          MARK: marked,
          HOME: '/nonexistent',
          PYTHONDONTWRITEBYTECODE: '1',
          SVC_MANIFEST: join(root, manifest),
          SVC_DEPENDENCIES: join(root, cache, 'packages'),
          ...from,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const [[exit], output] = await Promise.all([once(child, 'exit'), text(child.stderr), text(child.stdout)]);
      return { exit: exit as number, output };
    };
    const packages = join(root, 'cache', 'packages');
    const expected = ['greeting@1.0.0', name === 'node' ? '@scope/pure@2.0.0' : 'scope@2.0.0'];

    await t.test('the first pod fills the folder, and later ones need no registry', async (t) => {
      const both = await Promise.all([install('cache', expected), install('cache', expected)]);
      t.same(
        both.map(({ exit, output }) => [exit, output]),
        [
          [0, ''],
          [0, ''],
        ],
      );
      t.ok(registry.requestedPaths.length > 0, 'the configured registry was used');
      t.same(readdirSync(join(root, 'cache')), ['packages'], 'nothing else remains');
      t.notOk(existsSync(marked), 'no package ran code');
      const before = registry.requestedPaths.length;
      t.equal((await install('cache', expected)).exit, 0);
      t.equal(registry.requestedPaths.length, before);
    });

    await t.test('the code imports its packages from the installed folder', async (t) => {
      const running = await startFunction(t, runtime, code, {
        SVC_DEPENDENCIES: packages,
        NODE_PATH: join(packages, 'node_modules'),
      });
      t.equal((await callFunction(running)).body.toString(), 'hello Ada');
    });

    await t.test('a missing package fails with the installer’s message, and leaves nothing', async (t) => {
      const { exit, output } = await install('lost', ['not-there@1.0.0']);
      t.equal(exit, 1);
      t.match(output, lost);
      t.ok(output.split('\n').length <= 13, output);
      t.same(readdirSync(join(root, 'lost')), []);
    });

    await t.test(
      'a registry that cannot be reached fails with the reason, within the wait of a first call',
      async (t) => {
        const none = 'http://127.0.0.1:1';
        const { exit, output } = await install(
          'unreachable',
          ['greeting@1.0.0'],
          variables({ ...registry, npm: none, pypi: none }),
        );
        t.equal(exit, 1);
        t.match(output, /ECONNREFUSED|Connection refused|No matching distribution/);
      },
    );

    await t.test('a registry with the installation’s own CA is trusted when its certificate is given', async (t) => {
      const tls = selfSignedCertificate('own CA', { names: [], addresses: ['127.0.0.1'] }, new Date());
      const own = await packageRegistry(t, '127.0.0.1', tls);
      fill(own);
      const refused = await install('untrusted', ['greeting@1.0.0'], variables(own));
      t.equal(refused.exit, 1);
      t.match(refused.output, /certificate|No matching distribution/i);
      const trusting = { ...variables(own), SVC_CA_CERTIFICATES: tls.certificate };
      const trusted = await install('trusted', ['greeting@1.0.0'], trusting);
      t.same(trusted, { exit: 0, output: '' });
      t.notMatch(readdirSync(join(root, 'trusted', 'packages')).join(), /ca\.pem/);
    });

    // npm skips scripts, pip must refuse packages that need them.
    if (name === 'node') return;
    await t.test('a package that runs code on installation is refused', async (t) => {
      const { exit, output } = await install('risky', ['risky@1.0.0']);
      t.equal(exit, 1);
      t.match(output, refused);
      t.notOk(existsSync(marked));
    });
  });
}
