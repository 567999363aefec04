import t from 'tap';
import { Failure } from '../../../cli/failure.ts';
import { loadObjects } from '../../../cli/project-file/load.ts';
import { parseProjectFile } from '../../../cli/project-file/read.ts';

const parse = (text: string) => parseProjectFile(text, 'svc.yaml');

/** The lines of the refusal of a file. */
function faults(text: string): string[] {
  try {
    parse(text);
  } catch (error) {
    if (error instanceof Failure && error.code === 'invalid_file' && error.exitCode === 2) {
      return error.message.split('\n');
    }
    throw error;
  }
  return [];
}

t.test('short forms mean the same as the API’s own', (t) => {
  const { objects } = parse(`
project: shop
apps:
  web:
    image: r.example.com/web:1
    env: { WORKERS: 4, DEBUG: true, NAME: x }
    volumes: [files:/data, { name: more, path: /more }]
    bindings: [orders, { service: stock, prefix: STOCK_ }]
`);
  const web = objects.apps?.['web'];
  t.same(web?.env, { WORKERS: '4', DEBUG: 'true', NAME: 'x' });
  t.same(web?.volumes, [
    { name: 'files', path: '/data' },
    { name: 'more', path: '/more' },
  ]);
  t.same(web?.bindings, [{ service: 'orders' }, { service: 'stock', prefix: 'STOCK_' }]);
  t.end();
});

t.test('settings of an environment are merged into those of the file, and null removes one', (t) => {
  const { environments } = parse(`
project: shop
environments:
  dev:
  prod:
    limits: { memory: 64Gi }
    apps:
      web: { replicas: 3, memory: null, env: { LEVEL: warn, DEBUG: null } }
      admin: null
apps:
  web: { image: r.example.com/web:1, memory: 1Gi, env: { LEVEL: debug, DEBUG: 1 } }
  admin: { image: r.example.com/admin:1 }
`);
  const apps = (name: string) => environments.get(name)?.objects.apps;
  t.same(apps('dev')?.['web'], { image: 'r.example.com/web:1', memory: '1Gi', env: { LEVEL: 'debug', DEBUG: '1' } });
  t.same(apps('prod'), { web: { image: 'r.example.com/web:1', replicas: 3, env: { LEVEL: 'warn' } } });
  t.same(environments.get('prod')?.limits, { memory: '64Gi' });
  t.end();
});

t.test('a job has bindings and secrets as an app has, and no kind has values of secrets', (t) => {
  const { objects } = parse(`
project: shop
jobs:
  report: { image: r.example.com/report:1, bindings: [orders], secrets: [API_KEY] }
`);
  const [report] = loadObjects(objects, 'svc.yaml');
  t.match(report, { settings: { bindings: { orders: {} } }, secrets: ['API_KEY'] });
  for (const kind of ['apps', 'functions', 'jobs']) {
    t.match(faults(`project: shop\n${kind}:\n  x: { image: r.example.com/x:1, secrets: { API_KEY: hush } }\n`), [
      new RegExp(`${kind}\\.x\\.secrets must be`),
    ]);
  }
  t.end();
});

t.test('every fault is refused with its line and column', (t) => {
  t.same(
    faults(`project: shop
environments:
  prod:
    apps:
      web: { replicas: many }
apps:
  web:
    image: r.example.com/web:1
    prt: 3
    port: 99999
    volumes: [data]
    bindings: [{ service: a, pre: x }]
  Bad: {}
jbos: {}
`),
    [
      'svc.yaml:5:14: apps.web.replicas must be a number',
      'svc.yaml:9:5: apps.web.prt is not a setting; did you mean "port"?',
      'svc.yaml:10:5: apps.web.port must be at most 65535',
      'svc.yaml:11:15: apps.web.volumes.0 must have the form name:/path',
      'svc.yaml:12:30: apps.web.bindings.0.pre is not a setting',
      'svc.yaml:13:3: "Bad" is not a valid name: use lower-case letters, digits and single hyphens, starting with a letter.',
      'svc.yaml:14:1: jbos is not a setting; did you mean "jobs"?',
    ],
  );
  t.same(faults('apps: {}'), ['svc.yaml:1:1: project is missing']);
  t.same(faults('- a'), ['svc.yaml:1:1: the file must be a map, such as "project: shop" with "apps:" below it']);
  t.match(faults('project: shop\nproject: shop'), ['svc.yaml:2:1: Map keys must be unique']);
  t.match(faults('project: [shop'), [/^svc\.yaml:1:15: /]);
  t.end();
});

t.test('aliases cannot make a small file large', (t) => {
  const levels = Array.from({ length: 9 }, (_, at) => `x${at + 1}: &x${at + 1} [${`*x${at}, `.repeat(9)}]`);
  t.throws(() => parse(`project: shop\nx0: &x0 [a]\n${levels.join('\n')}\n`), /alias/);
  t.end();
});

t.test('code is read from below the folder of the file only', (t) => {
  const folder = t.testdir({
    'hello.py': 'def handler(event): pass\n',
    'svc.yaml': '',
    link: t.fixture('symlink', '/etc/hostname'),
  });
  const objects = (codeFile: string) =>
    loadObjects(parse(`project: shop\nfunctions:\n  hello: { codeFile: ${codeFile} }\n`).objects, `${folder}/svc.yaml`);
  const [hello] = objects('./hello.py');
  t.equal(hello?.code, 'def handler(event): pass\n');
  t.match(hello?.settings, { runtime: 'python', code: /^[0-9a-f]{64}$/ });
  for (const path of ['/etc/hostname', './link', '../../../../package.json']) {
    t.throws(() => objects(path), Failure, path);
  }
  t.throws(() => objects('./link'), { code: 'invalid_file' });
  t.end();
});
