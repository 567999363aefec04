import t from 'tap';
import { mayHavePlan, planOf, procfileCommand } from '../../../runtime/domain/folder-plan.ts';

const plan = (files: Record<string, string>) =>
  planOf({ has: (name) => name in files, read: (name) => files[name] ?? t.fail(`${name} does not exist`).toString() });
const npm = (start: string) => ({ 'package.json': JSON.stringify({ scripts: { start } }) });

t.test('the files of a folder decide the language and the usual command', async (t) => {
  const index = { 'index.html': '' };
  for (const [files, language, start] of [
    [{ ...npm('node server.js'), 'main.py': '', 'go.mod': '', ...index }, 'node', 'node server.js'],
    [{ 'main.py': '', 'app.py': '', 'go.mod': '', ...index }, 'python', 'python3 main.py'],
    [{ 'app.py': '' }, 'python', 'python3 app.py'],
    [{ 'requirements.txt': '', 'main.py': '' }, 'python', 'python3 main.py'],
    [{ 'pyproject.toml': '', 'app.py': '' }, 'python', 'python3 app.py'],
    [{ 'go.mod': '', ...index }, 'go', './.svc/app'],
    [index, 'static', 'node .svc/static-server.mjs'],
  ] as const) {
    t.same(plan(files), { language, start }, Object.keys(files).join(' '));
  }
});

t.test('the line web of a Procfile is the command of each language', async (t) => {
  const Procfile = 'release: migrate\nweb:  ./run --port 8080 \nworker: work';
  for (const [files, language] of [
    [npm('node server.js'), 'node'],
    [{ 'package.json': 'not read' }, 'node'],
    [{ 'main.py': '' }, 'python'],
    [{ 'requirements.txt': '' }, 'python'],
    [{ 'pyproject.toml': '' }, 'python'],
    [{ 'go.mod': '' }, 'go'],
    [{}, 'other'],
    [{ 'index.html': '' }, 'other'],
  ] as const) {
    t.same(plan({ ...files, Procfile }), { language, start: './run --port 8080' }, Object.keys(files).join(' '));
  }
  for (const text of ['', 'worker: work', 'web:', 'web: \n']) {
    t.match(plan({ Procfile: text, 'index.html': '' }), { language: 'static' }, 'a Procfile without the line');
  }
});

t.test('node is started directly, so that it receives signals; anything else by npm', async (t) => {
  for (const start of ['node x.js', 'node --enable-source-maps dist/x.js']) t.match(plan(npm(start)), { start });
  for (const start of [
    'tsx x.ts',
    'nodemon x.js',
    'node a.js && node b.js',
    'node a.js; true',
    'node a.js | cat',
    'NODE_ENV=x node a.js',
  ]) {
    t.match(plan(npm(start)), { language: 'node', start: 'npm start --silent' }, start);
  }
});

t.test('without a command there is a fault that says what to add', async (t) => {
  const python = { fault: 'the start command is unknown: add a Procfile with a line "web: <command>"' };
  t.same(plan({ 'requirements.txt': '' }), python);
  t.same(plan({ 'pyproject.toml': '' }), python);
  for (const text of ['{}', '{"scripts":{}}'])
    t.match(plan({ 'package.json': text }), { fault: /has no script "start"/ });
  t.match(plan({ 'package.json': '{' }), { fault: /^package\.json is invalid: ./ });
  t.match(plan({}), { fault: /^the folder has no Dockerfile, package\.json/ });
});

t.test('the name of one file is enough to try to plan, and others are not', (t) => {
  const names = (...present: string[]) => mayHavePlan((name) => present.includes(name));
  t.ok(names('Procfile'));
  t.ok(names('README.md', 'package.json'));
  t.notOk(names('README.md', 'Dockerfile'));
  t.notOk(names());
  t.end();
});

t.test('a command in a Procfile needs no space before it', (t) => {
  const files = { has: () => true, read: () => 'web:./run\nrelease: ./migrate' };
  t.equal(procfileCommand(files, 'web'), './run');
  t.equal(procfileCommand(files, 'release'), './migrate');
  t.end();
});
