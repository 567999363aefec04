import t from 'tap';
import type { FunctionView } from '../../../runtime/contracts/api/functions.ts';
import { functionCreate, functionUpdate } from '../../../runtime/contracts/api/functions.ts';
import {
  changeBody,
  changedFields,
  changeWords,
  createBody,
  createWords,
  draftOf,
  newDraft,
} from '../../../functions/console/ui/functions/draft.ts';

const view: FunctionView = {
  id: '0',
  name: 'import',
  project: 'shop',
  environment: 'prod',
  runtime: 'node',
  trigger: 'postgres',
  status: 'idle',
  replicas: 0,
  readyReplicas: 0,
  idleTimeoutSeconds: 30,
  concurrency: 100,
  targetRate: 200,
  requestTimeoutSeconds: 300,
  minReplicas: 0,
  maxReplicas: 10,
  env: {},
  volumes: [],
  createdAt: '',
  events: { type: 'postgres', source: 'orders', query: 'SELECT 1', markDone: 'UPDATE 1', concurrency: 1 },
  dependencies: ['pg@8.0.0'],
  memory: '512Mi',
};

t.test('a new function has the fields of its trigger, and no empty ones', (t) => {
  const draft = { ...newDraft, name: 'hello', code: 'x', dependencies: 'a@1\nb@2, c@3', bindings: 'orders cache' };
  const body = createBody({ ...draft, concurrency: '5', source: 'ignored' });
  t.same(body, {
    name: 'hello',
    runtime: 'node',
    trigger: 'http',
    code: 'x',
    dependencies: ['a@1', 'b@2', 'c@3'],
    concurrency: 5,
    bindings: [{ service: 'orders' }, { service: 'cache' }],
  });
  const cron = createBody({ ...draft, trigger: 'cron', bindings: '', concurrency: '5', minReplicas: '1' });
  t.same(cron['schedule'], '0 2 * * *');
  t.notHas(cron, 'concurrency');
  t.notHas(cron, 'minReplicas');
  const redis = createBody({ ...newDraft, name: 'work', code: 'x', trigger: 'redis', source: 'cache', list: 'jobs' });
  t.same(redis['events'], { source: 'cache', list: 'jobs' });
  for (const each of [body, cron, redis]) t.ok(functionCreate.safeParse(each).success, 'the API accepts its form');
  t.end();
});

t.test('only what differs is sent', (t) => {
  const before = draftOf(view);
  t.same(changedFields(before, before), []);
  t.same(changeBody(before, before), {});
  const after = { ...before, maxReplicas: '3', memory: '', dependencies: '', query: 'SELECT 2', markDone: '' };
  t.same(changedFields(before, after), ['dependencies', 'query', 'markDone', 'maxReplicas', 'memory']);
  const body = changeBody(before, after);
  t.same(body, { dependencies: [], maxReplicas: 3, memory: null, events: { query: 'SELECT 2', markDone: null } });
  t.ok(functionUpdate.safeParse(body).success);
  t.same(changeBody(before, { ...before, code: 'y', schedule: 'not of this trigger' }), { code: 'y' });
  t.end();
});

t.test('a new function has limits, volumes and variables, or an image in place of code', (t) => {
  const draft = { ...newDraft, name: 'thumbs', volumes: 'pictures:/data', cpu: '500m', memory: '512Mi', port: '9000' };
  const image = createBody({ ...draft, runtime: '', image: 'resize:3', code: 'ignored', variables: 'SIZE=320' });
  t.same(image, {
    name: 'thumbs',
    image: 'resize:3',
    trigger: 'http',
    cpu: '500m',
    memory: '512Mi',
    port: 9000,
    volumes: [{ name: 'pictures', path: '/data' }],
    env: { SIZE: '320' },
  });
  t.ok(functionCreate.safeParse(image).success, 'the API accepts its form');
  const cron = { ...draft, trigger: 'cron', overlap: 'Replace', code: 'x', image: 'ignored' };
  t.match(createBody(cron), { overlap: 'Replace', code: 'x', volumes: [{}] });
  t.notHas(createBody(cron), 'port');
  t.ok(functionCreate.safeParse(createBody(cron)).success, 'the API accepts its form');
  t.end();
});

t.test('the command has what the form has, and files in place of code and variables', (t) => {
  t.same(createWords(newDraft), [
    ...['function', 'create', 'hello', '--runtime', 'node', '--code-file', 'handler.mjs', '--trigger', 'http'],
  ]);
  const draft = { ...newDraft, name: 'work', runtime: 'python', code: 'secret', trigger: 'redis', source: 'cache' };
  const words = createWords({
    ...draft,
    list: 'jobs',
    dependencies: 'a@1',
    bindings: 'orders',
    variables: 'KEY=secret',
    volumes: 'data:/data',
    idleTimeoutSeconds: '60',
    maxReplicas: '3',
  });
  t.same(words.slice(3), [
    ...['--runtime', 'python', '--code-file', 'handler.py', '--trigger', 'redis', '--dependency', 'a@1'],
    ...['--source', 'cache', '--list', 'jobs', '--volume', 'data:/data', '--idle-timeout', '60s'],
    ...['--max-replicas', '3', '--bind', 'orders', '--env-file', '.env'],
  ]);
  t.notMatch(words.join(' '), 'secret');
  t.match(createWords({ ...newDraft, runtime: '' }), ['function', 'create', 'hello', '--image', /^registry/]);

  const before = draftOf(view);
  t.same(changeWords(before, before), ['function', 'show', 'import']);
  const after = { ...before, memory: '', dependencies: '', volumes: 'data:/data', query: 'SELECT 2', markDone: '' };
  t.same(changeWords(before, after), [
    ...['function', 'update', 'import', '--no-dependencies', '--query', 'SELECT 2', '--without-mark-done'],
    ...['--volume', 'data:/data', '--default-memory'],
  ]);
  t.end();
});
