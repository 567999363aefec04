import t from 'tap';
import { jobCreate, jobUpdate, type JobView } from '../../../runtime/contracts/api/jobs.ts';
import {
  changeBody,
  changedFields,
  changeWords,
  createBody,
  createWords,
  jobDraftOf,
  newJob,
} from '../../../functions/console/ui/jobs/draft.ts';

const view: JobView = {
  id: '0',
  name: 'report',
  project: 'shop',
  environment: 'prod',
  image: 'report:1',
  command: ['npm', 'run all'],
  env: {},
  volumes: [{ name: 'data', path: '/data' }],
  schedule: '0 2 * * *',
  timeZone: 'Etc/UTC',
  overlap: 'Forbid',
  suspended: false,
  retries: 0,
  historyLimit: 5,
  status: 'scheduled',
  memory: '64Mi',
  createdAt: '',
};
const before = jobDraftOf(view);

t.test('a new job has what the form has, and so does its command', (t) => {
  const manual = { ...newJob, name: 'seed', image: 'api:1', timeZone: 'Europe/Berlin', overlap: 'Allow' };
  t.same(createBody(manual), { name: 'seed', image: 'api:1' }, 'without a schedule, its fields do not matter');
  t.same(createWords(newJob), ['job', 'create', 'report', '--image', 'registry.example.com/shop/report:1']);
  const full = {
    ...manual,
    schedule: '0 3 * * *',
    command: 'npm\nrun all',
    retries: '2',
    timeoutSeconds: '60',
    historyLimit: '3',
    cpu: '500m',
    volumes: 'data:/data',
    bindings: 'orders',
    variables: 'KEY=secret',
  };
  const body = createBody(full);
  t.same(body, {
    name: 'seed',
    image: 'api:1',
    command: ['npm', 'run all'],
    schedule: '0 3 * * *',
    timeZone: 'Europe/Berlin',
    overlap: 'Allow',
    retries: 2,
    timeoutSeconds: 60,
    historyLimit: 3,
    cpu: '500m',
    volumes: [{ name: 'data', path: '/data' }],
    bindings: [{ service: 'orders' }],
    env: { KEY: 'secret' },
  });
  for (const each of [createBody(manual), body]) t.ok(jobCreate.safeParse(each).success, 'the API accepts its form');
  t.same(createWords(full).slice(5), [
    ...['--command', 'npm "run all"', '--schedule', '0 3 * * *', '--time-zone', 'Europe/Berlin', '--overlap', 'Allow'],
    ...['--retries', '2', '--run-timeout', '60s', '--history', '3', '--cpu', '500m', '--volume', 'data:/data'],
    ...['--bind', 'orders', '--env-file', '.env'],
  ]);
  t.equal(createBody({ ...manual, schedule: ' ' })['schedule'], '', 'the API refuses an empty expression');
  t.end();
});

t.test('a change has what differs and nothing else', (t) => {
  t.same(changedFields(before, before), []);
  t.same(changeWords(before, before), ['job', 'show', 'report']);
  const after = { ...before, schedule: '', timeZone: 'x', memory: '', volumes: '', retries: '1' };
  const body = changeBody(before, after);
  t.same(body, { schedule: null, retries: 1, memory: null, volumes: null });
  t.ok(jobUpdate.safeParse(body).success, 'the API accepts its form');
  t.same(changeWords(before, after), ['job', 'update', 'report', '--manual', '--retries', '1', '--no-volumes']);
  const next = { ...before, image: 'report:2', timeoutSeconds: '30', overlap: 'Replace' };
  t.same(changeBody(before, next), { image: 'report:2', overlap: 'Replace', timeoutSeconds: 30 });
  t.same(changeBody(before, { ...before, schedule: ' ' }), { schedule: '' }, 'a schedule is not removed by its field');
  t.end();
});
