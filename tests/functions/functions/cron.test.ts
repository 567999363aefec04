import pg from 'pg';
import t from 'tap';
import { createFunctionRoutes } from '../../../functions/functions/handler.ts';
import type { FunctionResource } from '../../../runtime/contracts/resources/function.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube, saying } from '../../support/fake-kube.ts';
import { allProjects, seedShop } from '../../support/objects.ts';

const path = '/api/v1/projects/shop/functions';
const code = 'export const handler = () => undefined;';
const schedule = '*/5 * * * *';

async function service(t: { teardown(end: () => unknown): void }) {
  const kube = fakeKube({ checkNamespaces: true });
  seedShop(kube);
  // The night in which the clocks of Berlin go back.
  const clock = fakeClock(new Date('2026-10-24T23:00:00Z'));
  const dependencies = { clock, baseUrl: 'http://console.test', visibleProjects: allProjects(kube) };
  const api = await testApi(t, { routes: createFunctionRoutes({ kube, pool: new pg.Pool(), ...dependencies }) });
  const create = (body: object = {}) =>
    api.call('POST', path, { body: { name: 'nightly', runtime: 'node', code, trigger: 'cron', schedule, ...body } });
  const resource = () => {
    const [object] = kube.all<FunctionResource>(kinds.Function);
    if (!object) throw new Error('there is no function');
    return object;
  };
  return { kube, clock, api, create, resource };
}

t.test('201: no host, no URL, the next five times in the zone of the schedule', async (t) => {
  const { kube, create, resource } = await service(t);
  const answer = await create({ schedule: '30 2 * * *', timeZone: 'Europe/Berlin' });
  t.equal(answer.status, 201);
  t.match(answer.body, {
    trigger: 'cron',
    schedule: '30 2 * * *',
    scheduleDescription: 'At 02:30',
    timeZone: 'Europe/Berlin',
    overlap: 'Forbid',
    status: 'pending',
    // 02:30 occurs twice that night.
    nextRuns: [
      '2026-10-25T00:30:00.000Z',
      '2026-10-25T01:30:00.000Z',
      '2026-10-26T01:30:00.000Z',
      '2026-10-27T01:30:00.000Z',
      '2026-10-28T01:30:00.000Z',
    ],
  });
  t.notHas(answer.body, 'url');
  t.same(kube.all(kinds.HostName), []);
  t.match(resource().spec, { trigger: 'cron', timeZone: 'Europe/Berlin', overlap: 'Forbid' });
});

t.test('201: UTC by default', async (t) => {
  const { create, resource } = await service(t);
  t.match((await create()).body, { timeZone: 'Etc/UTC', nextRuns: ['2026-10-24T23:05:00.000Z'] });
  t.equal(resource().spec.timeZone, 'Etc/UTC');
});

t.test('422: fields that do not fit trigger and schedule, by name', async (t) => {
  const { kube, create } = await service(t);
  const refused: [object, string, RegExp][] = [
    [{ schedule: undefined }, 'schedule', /requires a schedule, such as/],
    [{ trigger: 'http' }, 'schedule', /requires the trigger cron/],
    [{ trigger: 'http', schedule: undefined, timeZone: 'Etc/UTC' }, 'timeZone', /requires the trigger cron/],
    [{ schedule: '* * * *' }, 'schedule', /five fields/],
    [{ schedule: '0 0 31 2 *' }, 'schedule', /does not exist/],
    [{ timeZone: 'Mars/Base' }, 'timeZone', /not a time zone/],
    [{ hostname: 'a.example.com' }, 'hostname', /requires the trigger http/],
    [{ port: 9000 }, 'port', /requires the trigger http/],
    [{ idleTimeoutSeconds: 60 }, 'idleTimeoutSeconds', /requires the trigger http/],
  ];
  for (const [body, field, message] of refused) {
    t.match(await create(body), { status: 422, body: { code: 'invalid_value', message, details: { field } } }, field);
  }
  t.match(await create({ trigger: 'kafka' }), { status: 400, body: { code: 'invalid_request', message: /trigger/ } });
  t.same(kube.all(kinds.Function), []);
});

t.test('202: a test run is a named request, pending until it is created', async (t) => {
  const { api, create, resource, kube } = await service(t);
  await create();
  const accepted = await api.call('POST', `${path}/nightly/test-runs`);
  t.equal(accepted.status, 202);
  const run = String(accepted.body.id);
  t.match(run, /^nightly-test-[0-9a-f]{10}$/);
  t.equal(
    accepted.body.statusUrl,
    `http://console.test/api/v1/projects/shop/functions/nightly/runs/${run}?environment=prod`,
  );
  t.match(resource().spec.runRequests, [{ id: run.slice(-10) }]);
  t.match((await api.call('GET', `${path}/nightly/runs/${run}`)).body, { status: 'pending', trigger: 'test' });

  const scheduled = { name: 'nightly-29384750', trigger: 'cron', state: 'failed', createdAt: '2026-10-24T22:00:00Z' };
  await kube.replaceStatus<FunctionResource>({
    ...resource(),
    status: { phase: 'failed', runs: [scheduled] } as never,
  });
  const { body } = await api.call('GET', `${path}/nightly/runs`);
  t.match(body.items, [
    { name: run, trigger: 'test' },
    { name: 'nightly-29384750', trigger: 'cron', status: 'failed' },
  ]);
  t.match((await api.call('GET', `${path}/nightly`)).body, { status: 'failed', lastRun: { name: run } });
  t.match(await api.call('GET', `${path}/nightly/runs/none`), { status: 404 });
});

t.test('422: an HTTP function has no runs', async (t) => {
  const { api, create, resource } = await service(t);
  await create({ trigger: 'http', schedule: undefined });
  for (const [method, below] of [
    ['POST', 'test-runs'],
    ['GET', 'runs'],
    ['GET', 'run-logs'],
  ] as const) {
    const answer = await api.call(method, `${path}/nightly/${below}`);
    t.match(answer, { status: 422, body: { message: /only cron functions have runs/ } }, below);
  }
  t.notOk(resource().spec.runRequests);
  t.notHas((await api.call('GET', `${path}/nightly`)).body, 'nextRuns');
});

t.test('the logs of a run are those of its pod', async (t) => {
  const { api, create, resource, kube } = await service(t);
  await create();
  t.match(await api.call('GET', `${path}/nightly/run-logs`), {
    status: 404,
    body: { message: /svc function test nightly/ },
  });
  const { body } = await api.call('POST', `${path}/nightly/test-runs`);
  t.same((await api.call('GET', `${path}/nightly/run-logs`)).body, { run: body.id, pods: [] });
  const labels = {
    'platform.svc/id': resource().metadata.labels?.['platform.svc/id'] ?? '',
    'batch.kubernetes.io/job-name': String(body.id),
  };
  kube.seed({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p1', namespace: 'shop-prod', labels },
    spec: { containers: [] },
  });
  const requests: string[] = [];
  kube.stream = saying((url) => {
    requests.push(url);
    return 'done\n';
  });
  const answer = await api.call('GET', `${path}/nightly/run-logs?tail=7`);
  t.same(answer.body, { run: body.id, pods: [{ name: 'p1', log: 'done\n' }] });
  t.match(requests, [/pods\/p1\/log\?container=function&tailLines=7$/]);
});

t.test('the logs of a function are those of all its pods, by time', async (t) => {
  const { api, create, resource, kube } = await service(t);
  await create();
  const id = resource().metadata.labels?.['platform.svc/id'] ?? '';
  for (const [name, role] of [
    ['p1', 'serve'],
    ['p2', 'test'],
  ] as const) {
    const labels = { 'platform.svc/id': id, 'platform.svc/role': role };
    kube.seed({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'shop-prod', labels },
      spec: { containers: [] },
    });
  }
  const requests: string[] = [];
  kube.stream = saying((url) => {
    requests.push(url);
    return `2026-11-22T03:00:0${url.includes('p1') ? 2 : 1}Z ${url.includes('p1') ? 'late' : 'early'}\n`;
  });
  const { body } = await api.call('GET', `${path}/nightly/logs?tail=7`);
  t.match(body.items, [
    { pod: 'p2', line: 'early' },
    { pod: 'p1', line: 'late' },
  ]);
  t.match(requests[0], /container=function&timestamps=true&sinceTime=[^&]+&tailLines=8$/, 'one more than is shown');
});
