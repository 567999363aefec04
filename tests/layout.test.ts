import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import t from 'tap';

const root = join(import.meta.dirname, '..');
const topLevel = ['functions', 'gate', 'runtime', 'workers', 'infra', 'cli', 'tests'];

/** The layers of runtime/, lowest first; a layer imports only itself and those below (docs/architecture.md). */
const layers = [
  'domain',
  'contracts',
  'queues',
  ['bus', 'db', 'kube'],
  'records',
  ['process', 'http'],
  'workloads',
  ['git', 'services', 'metrics', 'logs'],
  'api',
  'assistant',
];

/** What each top-level folder may import besides itself and runtime/. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  runtime: [],
  functions: [],
  gate: [],
  workers: ['infra/manifests'],
  infra: [],
  cli: ['infra'],
  tests: topLevel,
};

interface Import {
  from: string;
  to: string;
}

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(folder, name));
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map((match) => ({
    from: file,
    to: relative(root, resolve(root, dirname(file), match[1] ?? '')),
  }));
}

function layerOf(path: string): number {
  const folder = path.split('/')[1] ?? '';
  return layers.findIndex((layer) => layer === folder || (Array.isArray(layer) && layer.includes(folder)));
}

const under = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`);
const top = (path: string) => path.split('/')[0] ?? '';
const isMain = (path: string) => /(^|\/)main\.ts$/.test(path);
const files = topLevel.flatMap(sources);
const imports = files.flatMap(importsOf);
const show = (list: Import[]) => list.map(({ from, to }) => `${from} -> ${to}`);

t.test('no program is started through a shell, which would interpret untrusted input', (t) => {
  const started = files.filter((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    return (
      top(file) !== 'tests' &&
      /import \{[^}]*\bexec(?:Sync)?\b[^}]*\} from 'node:child_process'|\bshell: (?:true|')/.test(text)
    );
  });
  t.same(started, []);
  t.end();
});

t.test('folders import only what the architecture allows', (t) => {
  const wrong = imports.filter(({ from, to }) => {
    if (top(from) === top(to) || under(to, 'package.json')) return false;
    if (top(to) === 'runtime') return false;
    return !(allowed[top(from)] ?? []).some((folder) => under(to, folder));
  });
  t.same(show(wrong), []);
  t.end();
});

t.test('a layer of runtime/ imports only itself and those below', (t) => {
  const wrong = imports.filter(
    ({ from, to }) => !isMain(from) && top(from) === 'runtime' && top(to) === 'runtime' && layerOf(to) > layerOf(from),
  );
  t.same(show(wrong), []);
  t.same(
    files.filter((file) => top(file) === 'runtime' && layerOf(file) < 0),
    [],
  );
  t.end();
});

t.test('siblings never import each other', (t) => {
  const wrong = imports.filter(({ from, to }) => {
    if (!['functions', 'workers', 'gate'].includes(top(from)) || top(from) !== top(to) || isMain(from)) return false;
    return from.split('/')[1] !== to.split('/')[1];
  });
  t.same(show(wrong), []);
  t.end();
});

t.test('no files import each other in a circle, types included', (t) => {
  const targets = new Map<string, string[]>();
  for (const { from, to } of imports) targets.set(from, [...(targets.get(from) ?? []), to]);
  const circles: string[] = [];
  const finished = new Set<string>();
  const visit = (file: string, path: readonly string[]) => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
    if (finished.has(file) || path.includes(file)) return;
    for (const target of targets.get(file) ?? []) visit(target, [...path, file]);
    finished.add(file);
  };
  for (const file of files) visit(file, []);
  t.same(circles, []);
  t.end();
});

t.test('manifests are pure: they import rules and contracts only', (t) => {
  const wrong = imports.filter(
    ({ from, to }) =>
      under(from, 'infra/manifests') &&
      !['infra/manifests', 'runtime/domain', 'runtime/contracts'].some((folder) => under(to, folder)),
  );
  t.same(show(wrong), []);
  t.end();
});

t.test('the gate never imports the bus', (t) => {
  const wrong = imports.filter(({ from, to }) => top(from) === 'gate' && under(to, 'runtime/bus'));
  t.same(show(wrong), []);
  t.end();
});

t.test('the command line uses HTTP: of runtime/ only rules and contracts; machine commands also infra', (t) => {
  const machineCommands = ['install', 'local', 'image-build', 'image-local', 'function-local']
    .map((name) => `cli/commands/${name}.ts`)
    .concat('cli/main.ts', 'cli/local-platform.ts');
  const wrong = imports.filter(
    ({ from, to }) =>
      top(from) === 'cli' &&
      top(to) !== 'cli' &&
      !under(to, 'package.json') &&
      !under(to, 'runtime/domain') &&
      !under(to, 'runtime/contracts') &&
      !machineCommands.includes(from),
  );
  t.same(show(wrong), []);
  t.end();
});

t.test('what the web console imports runs in a browser', (t) => {
  const ui = 'functions/console/ui';
  const packages = [
    '@codemirror/commands',
    '@codemirror/lang-javascript',
    '@codemirror/lang-python',
    '@codemirror/language',
    '@codemirror/lint',
    '@codemirror/search',
    '@codemirror/state',
    '@codemirror/view',
    '@lezer/highlight',
    '@tanstack/react-query',
    '@tanstack/react-router',
    'react',
    'react-dom',
    'react-dom/client',
    'uplot',
  ];
  /** Without types, which are gone when it runs. */
  const valuesOf = (file: string) => {
    const text = readFileSync(join(root, file), 'utf8').replaceAll(/^import type [^;]*;/gm, '');
    return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] ?? '');
  };
  const reached = new Set(files.filter((file) => under(file, ui)));
  const wrong: string[] = [];
  for (const file of reached) {
    for (const specifier of valuesOf(file)) {
      if (!specifier.startsWith('.')) {
        if (!packages.includes(specifier)) wrong.push(`${file} -> ${specifier}`);
        continue;
      }
      const target = relative(root, resolve(root, dirname(file), specifier));
      if (under(target, ui) || under(target, 'runtime/domain')) reached.add(target);
      else wrong.push(`${file} -> ${target}`);
    }
    if (/\b(?:process|Buffer|global)\./.test(readFileSync(join(root, file), 'utf8'))) wrong.push(`${file} uses Node`);
  }
  t.ok(reached.has('runtime/domain/roles.ts'), 'it uses rules of the API');
  t.same(wrong, []);
  t.end();
});

t.test('what can be shown as HTML, and inline styles, are in no page of the web console', (t) => {
  // React sets them by the CSSOM, which the policy permits: the lines of a log have computed positions.
  const positions = 'functions/console/ui/logs/log-lines.tsx';
  const wrong = files.filter((file) => {
    const text = under(file, 'functions/console/ui') ? readFileSync(join(root, file), 'utf8') : '';
    if (file === positions) return text.match(/\bstyle=/g)?.length !== 3;
    return /dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\bstyle=/.test(text);
  });
  t.same(wrong, []);
  t.end();
});

t.test('only main.ts files and the configuration read the environment, take signals or exit', (t) => {
  const outside = files.filter(
    (file) => ['functions', 'gate', 'runtime', 'workers'].includes(top(file)) && !isMain(file),
  );
  const wrong = outside.filter((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    if (/process\.env\b/.test(text) && file !== 'runtime/process/config.ts') return true;
    if (/process\.exit\(|process\.on(ce)?\('SIG/.test(text) && file !== 'runtime/process/lifecycle.ts') return true;
    return false;
  });
  t.same(wrong, []);
  t.end();
});

t.test('no file is too long', (t) => {
  const long = files.filter((file) => {
    const lines = readFileSync(join(root, file), 'utf8').split('\n').length;
    return top(file) !== 'tests' && lines > 400;
  });
  t.same(long, []);
  t.end();
});
