import { PassThrough } from 'node:stream';
import t from 'tap';
import { createJobRoutes } from '../../../functions/jobs/handler.ts';
import type { JobResource } from '../../../runtime/contracts/resources/job.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { systemClock, type Clock } from '../../../runtime/domain/clock.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';
import { testApi, testSession } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube, saying } from '../../support/fake-kube.ts';
import { readyProject, seedShop } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';

const path = '/api/v1/projects/shop/jobs';
const image = 'registry.test/report:7';
const ref = { apiVersion: 'platform.svc/v1', kind: 'Job', namespace: 'shop-prod', name: 'report' };

async function service(
  t: { teardown(end: () => unknown): void },
  clock: Clock = fakeClock(new Date('2026-11-21T12:00:00Z')),
) {
  const kube = fakeKube({ checkNamespaces: true });
  seedShop(kube);
  kube.seed({
    apiVersion: 'platform.svc/v1',
    kind: 'Volume',
    metadata: { name: 'data', namespace: 'shop-prod' },
    spec: { size: '1Gi', accessMode: 'ReadWriteOnce' },
  });
  const { pool } = await testDatabase(t);
  const routes = createJobRoutes({ kube, pool, clock, baseUrl: 'http://console.test' });
  const api = await testApi(t, { routes });
  const create = (body: object = {}, at = path) => api.call('POST', at, { body: { name: 'report', image, ...body } });
  const job = () => {
    const [object] = kube.all<JobResource>(kinds.Job);
    if (!object) throw new Error('there is no job');
    return object;
  };
  return { kube, api, create, job };
}

t.test('201: the object with its defaults and its name; a schedule has its next times', async (t) => {
  const { kube, create, job } = await service(t);
  const answer = await create({
    command: ['npm', 'run', 'report'],
    env: { MODE: 'full' },
    volumes: [{ name: 'data', path: '/data' }],
    schedule: '0 2 * * *',
    timeZone: 'Europe/Berlin',
    memory: '256Mi',
  });
  t.equal(answer.status, 201);
  t.match(answer.body, {
    name: 'report',
    project: 'shop',
    environment: 'prod',
    image,
    command: ['npm', 'run', 'report'],
    env: { MODE: 'full' },
    volumes: [{ name: 'data', path: '/data' }],
    memory: '256Mi',
    status: 'pending',
    schedule: '0 2 * * *',
    scheduleDescription: 'At 02:00',
    nextRunAt: '2026-11-22T01:00:00.000Z',
    overlap: 'Forbid',
    retries: 0,
    historyLimit: 5,
  });
  t.notOk(answer.body.lastRun);
  t.match(job().spec, { env: [{ name: 'MODE', value: 'full' }], suspended: false, retentionSeconds: 604_800 });
  t.match(kube.all(kinds.WorkloadName), [{ spec: { kind: 'Job', workloadId: answer.body.id } }]);
  t.same(kube.all(kinds.HostName), []);
});

t.test('409: a name that another kind holds is refused with the documented message', async (t) => {
  const { kube, create } = await service(t);
  kube.seed({
    apiVersion: 'platform.svc/v1',
    kind: 'WorkloadName',
    metadata: { name: 'report', namespace: 'shop-prod' },
    spec: { kind: 'Function', workloadId: '019a0000-0000-7000-8000-0000000000f1' },
  });
  t.match(await create(), {
    status: 409,
    body: {
      code: 'name_taken',
      message: /already used by a function in this environment; an app, a function and a job cannot share a name/,
    },
  });
  t.type(kube.all(kinds.Job)[0]?.metadata.deletionTimestamp, 'string');
});

t.test('400 and 422: settings that cannot run', async (t) => {
  const { kube, create } = await service(t);
  const mounted = (path: string, name = 'data') => ({ volumes: [{ name, path }] });
  for (const [body, status, message] of [
    [{ name: 'Report' }, 422, /valid name/],
    [{ name: `${'a'.repeat(40)}b` }, 422, /limit is 40/],
    [{ image: 'registry.test/report' }, 422, /full image reference/],
    [{ schedule: '0 2 * *' }, 422, /five fields/],
    [{ schedule: '0 2 31 2 *' }, 422, /does not exist/],
    [{ timeZone: 'Mars/Olympus' }, 422, /not a time zone/],
    [{ memory: 'much' }, 422, /valid memory/],
    [{ cpu: '-1' }, 422, /valid cpu/],
    [{ env: { '1ST': 'x' } }, 422, /valid variable name/],
    [mounted('/data', 'none'), 422, /no volume "none".*svc volume create/],
    [mounted('data'), 422, /not a valid mount path/],
    [mounted('/a/../etc'), 422, /not a valid mount path/],
    [
      {
        volumes: [
          { name: 'data', path: '/d' },
          { name: 'data', path: '/d' },
        ],
      },
      422,
      /Two volumes/,
    ],
    [{ retries: 11 }, 400, /retries/],
    [{ command: [] }, 400, /command/],
    [{ overlap: 'Sometimes' }, 400, /overlap/],
    [{ unknown: true }, 400, /unknown/],
  ] as const) {
    const answer = await create(body);
    t.equal(answer.status, status, JSON.stringify(body));
    t.match(answer.body.message, message);
  }
  t.same(kube.all(kinds.Job), []);
});

t.test('202: a run is one write to the job, and is visible at once', async (t) => {
  const { kube, api, create, job } = await service(t);
  await create();
  const before = kube.calls.length;
  const answer = await api.call('POST', `${path}/report/runs`);
  t.equal(answer.status, 202);
  t.match(answer.body, { id: /^report-[0-9a-f]{10}$/, status: 'pending' });
  const writes = kube.calls.slice(before).filter(({ verb }) => verb !== 'get' && verb !== 'list');
  t.match(writes, [{ verb: 'replace', kind: 'Job', name: 'report' }]);
  t.match(job().spec.runRequests, [{ at: '2026-11-21T12:00:00.000Z', by: testSession.email }]);
  t.equal(`report-${job().spec.runRequests?.[0]?.id}`, answer.body.id);

  const statusUrl = new URL(answer.body.statusUrl);
  t.equal(answer.headers.get('location'), statusUrl.href);
  const run = await api.call('GET', `${statusUrl.pathname}${statusUrl.search}`);
  t.match(run.body, { name: answer.body.id, status: 'pending', trigger: 'manual', actor: testSession.email });
  t.match((await api.call('GET', `${path}/report`)).body.lastRun, { name: answer.body.id });
  t.equal((await api.call('POST', `${path}/none/runs`)).status, 404);
  t.equal((await api.call('GET', `${path}/report/runs/none`)).status, 404);
});

t.test('two concurrent requests are two runs, though both read the same job', async (t) => {
  const { kube, api, create, job } = await service(t);
  await create();
  const both = Promise.withResolvers<void>();
  let writers = 0;
  kube.intercept = async ({ verb }) => {
    if (verb !== 'replace') return;
    writers += 1;
    if (writers === 2) both.resolve();
    await both.promise;
  };
  const answers = await Promise.all([1, 2].map(() => api.call('POST', `${path}/report/runs`)));
  t.same(
    answers.map(({ status }) => status),
    [202, 202],
  );
  t.equal(new Set(job().spec.runRequests?.map(({ id }) => id)).size, 2);
  t.equal(writers, 3, 'one of them had to retry');
});

t.test('429: at most twenty runs wait; 409: concurrent writers do not stop', async (t) => {
  const { kube, api, create } = await service(t);
  await create();
  kube.intercept = ({ verb }) => {
    if (verb === 'replace') throw new KubeError(409, 'Conflict', 'the object has been modified');
  };
  t.match(await api.call('POST', `${path}/report/runs`), { status: 409, body: { code: 'conflict' } });
  kube.intercept = undefined;
  for (let count = 0; count < 20; count++) await api.call('POST', `${path}/report/runs`);
  t.match(await api.call('POST', `${path}/report/runs`), { status: 429, body: { code: 'too_many_requests' } });
});

t.test("200: runs newest first, in pages; the controller's report replaces the request", async (t) => {
  const { kube, api, create, job } = await service(t);
  await create();
  await kube.mergePatch(ref, {
    spec: { runRequests: [3, 4].map((n) => ({ id: `000000000${n}`, at: `2026-11-21T12:0${n}:00Z` })) },
  });
  const runs = [3, 2, 1].map((n) => ({
    name: `report-000000000${n}`,
    trigger: 'manual',
    state: n === 1 ? 'failed' : 'running',
    createdAt: `2026-11-21T12:0${n}:00Z`,
    ...(n === 1 && { message: 'The program exited with code 1.' }),
  }));
  await kube.replaceStatus<JobResource>({ ...job(), status: { phase: 'running', runs } as never });
  const first = await api.call('GET', `${path}/report/runs?limit=3`);
  t.match(first.body.items, [
    { name: 'report-0000000004', status: 'pending' },
    { name: 'report-0000000003', status: 'running' },
    { name: 'report-0000000002' },
  ]);
  const second = await api.call(
    'GET',
    `${path}/report/runs?limit=3&cursor=${encodeURIComponent(first.body.nextCursor)}`,
  );
  t.match(second.body, {
    items: [{ name: 'report-0000000001', status: 'failed', message: 'The program exited with code 1.' }],
  });
});

t.test('200: runs of one second have the order of the status, in pages too', async (t) => {
  const { kube, api, create, job } = await service(t);
  await create();
  const names = ['report-b', 'report-c', 'report-a'];
  const runs = names.map((name) => ({
    name,
    trigger: 'manual',
    state: 'succeeded',
    createdAt: '2026-11-21T12:00:00Z',
  }));
  await kube.replaceStatus<JobResource>({ ...job(), status: { phase: 'ready', runs } as never });
  const shown: string[] = [];
  let cursor = '';
  do {
    const { body } = await api.call('GET', `${path}/report/runs?limit=1${cursor}`);
    shown.push(body.items[0]?.name);
    cursor = body.nextCursor === undefined ? '' : `&cursor=${encodeURIComponent(body.nextCursor)}`;
  } while (cursor !== '');
  t.same(shown, names);
});

t.test('200: a change replaces the named fields, and null removes', async (t) => {
  const { api, create, job } = await service(t);
  await create({ env: { A: '1', B: '2' }, schedule: '0 2 * * *', memory: '64Mi', command: ['a'] });
  await api.call('POST', `${path}/report/runs`);
  const change = { image: 'registry.test/report:8', env: { C: '3' }, schedule: null, memory: null, suspended: true };
  const answer = await api.call('PATCH', `${path}/report`, { body: change });
  t.match(answer, { status: 200, body: { image: 'registry.test/report:8', env: { C: '3' }, command: ['a'] } });
  t.notHas(answer.body, 'schedule');
  t.notHas(answer.body, 'memory');
  t.match(job().spec, { env: [{ name: 'C', value: '3' }], retries: 0, suspended: true });
  t.equal(job().spec.env?.length, 1);
  t.equal(job().spec.runRequests?.length, 1, 'a requested run stays');
  t.match(await api.call('PATCH', `${path}/report`, { body: { schedule: 'x' } }), { status: 422 });
  t.match(await api.call('PATCH', `${path}/report`, { body: {} }), { status: 400 });
  t.match(await api.call('PATCH', `${path}/report`, { body: { volumes: [{ name: 'none', path: '/d' }] } }), {
    status: 422,
  });
});

t.test('the logs of a run: every attempt, oldest first, and none before it has begun', async (t) => {
  const { kube, api, create, job } = await service(t);
  await create();
  t.match(await api.call('GET', `${path}/report/run-logs`), { status: 404, body: { message: /has not run yet/ } });
  const runs = [{ name: 'report-1', trigger: 'schedule', state: 'running', createdAt: '2026-11-21T12:00:00Z' }];
  await kube.replaceStatus<JobResource>({ ...job(), status: { phase: 'running', runs } as never });
  const pod = (
    name: string,
    creationTimestamp: string,
    run = 'report-1',
    id = job().metadata.labels?.['platform.svc/id'],
  ) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'shop-prod',
      creationTimestamp,
      labels: { 'platform.svc/id': id ?? '', 'batch.kubernetes.io/job-name': run },
    },
    spec: { containers: [] },
  });
  kube.seed(
    pod('b', '2026-11-21T12:00:01Z'),
    pod('a', '2026-11-21T12:01:00Z'),
    pod('other-run', '2026-11-21T12:00:00Z', 'report-2'),
    pod('other-job', '2026-11-21T12:00:00Z', 'report-1', '019a0000-0000-7000-8000-0000000000f1'),
  );
  const requests: string[] = [];
  kube.stream = saying((path) => {
    requests.push(path);
    if (path.includes('/pods/a/')) throw new KubeError(400, 'BadRequest', 'container is waiting to start');
    return 'one\ntwo\n';
  });
  const answer = await api.call('GET', `${path}/report/run-logs?tail=50`);
  t.same(answer.body, { run: 'report-1', pods: [{ name: 'b', log: 'one\ntwo\n' }, { name: 'a' }] });
  t.match(requests[0], /^\/api\/v1\/namespaces\/shop-prod\/pods\/b\/log\?container=job&tailLines=50$/);
  t.match(await api.call('GET', `${path}/report/run-logs?run=report-9`), {
    status: 404,
    body: { message: /no run "report-9"/ },
  });
});

t.test('the logs of a job are those of all its runs, by time', async (t) => {
  const { kube, api, create, job } = await service(t);
  await create();
  t.same((await api.call('GET', `${path}/report/logs`)).body.items, [], 'it has not run yet');
  const id = job().metadata.labels?.['platform.svc/id'] ?? '';
  const pod = (name: string, labels: Record<string, string>) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop-prod', labels },
    spec: { containers: [] },
  });
  kube.seed(
    pod('one', { 'platform.svc/id': id, 'batch.kubernetes.io/job-name': 'report-1' }),
    pod('two', { 'platform.svc/id': id, 'batch.kubernetes.io/job-name': 'report-2' }),
    pod('other', { 'platform.svc/id': '019a0000-0000-7000-8000-0000000000f1' }),
  );
  const requests: string[] = [];
  kube.stream = saying((url) => {
    requests.push(url);
    return url.includes('/pods/one/') ? '2026-11-21T12:00:02Z late\n' : '2026-11-21T12:00:01Z early\n';
  });
  const { body } = await api.call('GET', `${path}/report/logs?tail=7`);
  t.match(body.items, [
    { pod: 'two', line: 'early' },
    { pod: 'one', line: 'late' },
  ]);
  t.equal(requests.length, 2);
  t.match(requests[0], /container=job/);
});

t.test(
  'a job with many ended pods: the logs of the newest are read, and the answer says that others are missing',
  async (t) => {
    const { kube, api, create, job } = await service(t);
    await create();
    const id = job().metadata.labels?.['platform.svc/id'] ?? '';
    for (let index = 0; index < 60; index++) {
      kube.seed({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name: `p${index}`,
          namespace: 'shop-prod',
          creationTimestamp: new Date(index * 1_000).toISOString(),
          labels: { 'platform.svc/id': id },
        },
        spec: { containers: [] },
        status: { phase: index === 0 ? 'Running' : 'Failed' },
      });
    }
    const pods: string[] = [];
    kube.stream = saying((url) => {
      pods.push(/pods\/(\w+)\/log/.exec(url)?.[1] ?? '');
      return '2026-11-21T12:00:02Z x\n';
    });
    const { body } = await api.call('GET', `${path}/report/logs`);
    t.equal(body.truncated, true);
    t.same(pods.toSorted(), ['p0', ...Array.from({ length: 30 }, (_, index) => `p${30 + index}`)].toSorted());
  },
);

t.test('following a run continues until it has ended, and returns its result', async (t) => {
  const { kube, api, create, job } = await service(t, systemClock);
  await create();
  const report = (state: 'running' | 'failed') => {
    const runs = [{ name: 'report-1', trigger: 'schedule', state, createdAt: '2026-11-21T12:00:00Z', message: 'No.' }];
    return kube.replaceStatus<JobResource>({ ...job(), status: { phase: 'running', runs } as never });
  };
  await report('running');
  const labels = {
    'platform.svc/id': job().metadata.labels?.['platform.svc/id'] ?? '',
    'batch.kubernetes.io/job-name': 'report-1',
  };
  kube.seed({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'a', namespace: 'shop-prod', labels },
    spec: { containers: [] },
    status: { containerStatuses: [{ name: 'job', ready: true, restartCount: 0, state: { running: {} } }] },
  });
  const output = new PassThrough();
  kube.stream = async function* (url) {
    t.match(url, /\/pods\/a\/log\?container=job/);
    // Nothing was printed before.
    if (!url.includes('follow=true')) return;
    yield* output as AsyncIterable<Uint8Array>;
  };
  const headers = { authorization: 'Bearer good' };
  const answer = await fetch(`${api.url}${path}/report/run-logs?follow=true`, { headers });
  t.equal(answer.headers.get('content-type'), 'application/x-ndjson');
  output.write('2026-11-21T12:00:01Z one\n');
  const lines: object[] = [];
  let rest = '';
  for await (const chunk of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts.filter((text) => text !== '').map((text) => JSON.parse(text) as object));
    if (lines.length === 2 && !output.writableEnded) {
      await report('failed');
      // The log of a run that ends while its pod still prints is read to its end.
      output.end('2026-11-21T12:00:02Z two\n');
    }
  }
  t.match(lines, [
    { run: 'report-1', ended: undefined },
    { pod: 'a', line: 'one' },
    { pod: 'a', line: 'two' },
    { run: 'report-1', ended: 'failed', message: 'No.' },
  ]);
});

t.test('200: per environment; 202: a deleted job shows `deleting` until its controller has finished', async (t) => {
  const { kube, api, create } = await service(t);
  kube.seed(...readyProject('blog'));
  await create();
  await create({ name: 'clean' });
  await create({ name: 'note' }, '/api/v1/projects/blog/jobs');
  t.same(
    (await api.call('GET', path)).body.items.map(({ name }: { name: string }) => name),
    ['clean', 'report'],
  );
  t.match((await api.call('DELETE', `${path}/report`)).body, { status: 'deleting' });
  t.match(await api.call('POST', `${path}/report/runs`), { status: 409, body: { code: 'not_ready' } });
  t.match(await create(), { status: 409, body: { code: 'not_ready', message: /still being deleted/ } });
  t.equal((await api.call('DELETE', `${path}/none`)).status, 404);
});
