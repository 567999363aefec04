import t, { type Test } from 'tap';
import { createAppRoutes } from '../../../functions/apps/handler.ts';
import { createDeploymentRoutes } from '../../../functions/deployments/handler.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { transaction } from '../../../runtime/db/pool.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { podLabels, workloadLabels } from '../../../runtime/domain/labels.ts';
import { saveBuildLog } from '../../../runtime/records/build-logs.ts';
import { saveCrashLog } from '../../../runtime/records/crash-logs.ts';
import { acceptDeployment, type NewDeployment } from '../../../runtime/records/acceptance.ts';
import {
  endDeployment,
  getDeployment,
  startDeployment,
  succeedDeployment,
} from '../../../runtime/records/deployments.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube, saying } from '../../support/fake-kube.ts';
import { platformConfigObject, readyProject } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';

const deployments = '/api/v1/projects/shop/deployments';
const promote = '/api/v1/projects/shop/apps/api/promote';
const digest = `sha256:${'a'.repeat(64)}`;

async function rig(t: Test) {
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  kube.seed(platformConfigObject, ...readyProject('shop', ['dev', 'prod']), ...readyProject('blog'));
  const addApp = async (name: string, environment: string, { project = 'shop', spec = {} } = {}) => {
    const id = newId();
    const namespace = `${project}-${environment}`;
    const labels = workloadLabels({ kind: 'App', name, id });
    kube.seed({
      apiVersion: 'platform.svc/v1',
      kind: 'App',
      metadata: { name, namespace, labels },
      spec: { image: 'r.test/api:1', port: 8080, replicas: 1, ...spec },
    });
    const workload = { id, environmentId: newId(), project, environment, namespace, name, gated: false };
    await projectWorkload(pool, { ...workload, kind: 'App' });
    return id;
  };
  const accept = async (workloadId: string, request: Partial<NewDeployment> = {}) =>
    (
      await transaction(pool, (client) =>
        acceptDeployment(client, { workloadId, trigger: 'webhook', image: 'r.test/api:1', ...request }),
      )
    ).id;
  const succeed = async (workloadId: string, request: Partial<NewDeployment> = {}) => {
    const id = await accept(workloadId, request);
    await startDeployment(pool, id);
    await succeedDeployment(pool, id);
    return id;
  };
  const apps = createAppRoutes({ kube, pool, clock: fakeClock(), baseUrl: 'http://console.test' });
  const api = await testApi(t, { routes: [...createDeploymentRoutes({ kube, pool }), ...apps] });
  return { pool, kube, api, addApp, accept, succeed };
}

t.test('the deployments of all apps are listed, newest first, in pages and by filters', async (t) => {
  const { pool, api, addApp, accept, succeed } = await rig(t);
  const [api1, api2, web] = [await addApp('api', 'dev'), await addApp('api', 'prod'), await addApp('web', 'prod')];
  const other = await addApp('api', 'prod', { project: 'blog' });
  await succeed(other);
  const first = await succeed(api1);
  const second = await accept(api2, { trigger: 'manual' });
  await endDeployment(pool, second, 'failed', 'no');
  const third = await accept(web);
  const list = async (query = '') => (await api.call('GET', `${deployments}${query}`)).body;
  const ids = async (query: string) => ((await list(query)).items as { id: string }[]).map(({ id }) => id);
  t.match((await list()).items, [
    { id: third, app: 'web', environment: 'prod', status: 'accepted' },
    { id: second, app: 'api', environment: 'prod', status: 'failed', trigger: 'manual' },
    { id: first, app: 'api', environment: 'dev', status: 'succeeded', current: true },
  ]);
  t.equal((await list()).items.length, 3, 'nothing of another project');
  const page = await list('?limit=2');
  t.same(await ids(`?limit=2&cursor=${page.nextCursor}`), [first]);
  t.same(await ids('?app=api'), [second, first]);
  t.same(await ids('?app=api&environment=dev'), [first]);
  t.same(await ids('?status=failed'), [second]);
  t.same(await ids('?trigger=webhook'), [third, first]);
  t.match(await api.call('GET', `${deployments}?status=nothing`), { status: 400 });
});

t.test('an empty list for an unknown name is refused; a name without deployments is not', async (t) => {
  const { api, pool, addApp, succeed } = await rig(t);
  await addApp('fresh', 'dev');
  const deletedApp = await succeed(await addApp('gone', 'prod'));
  const list = (query: string) => api.call('GET', `${deployments}${query}`);
  t.match(await list('?app=fresh'), { status: 200, body: { items: [] } });
  t.match(await list('?app=fresh&environment=dev'), { status: 200, body: { items: [] } });
  t.match(await list('?environment=dev'), { status: 200, body: { items: [] } });
  t.match(await list('?app=fresh&environment=prod'), {
    status: 404,
    body: { code: 'not_found', message: /no app "fresh" in environment "prod" of project "shop"\. .*svc app list/ },
  });
  t.match(await list('?app=wed'), { status: 404, body: { message: /no app "wed" in project "shop"/ } });
  t.match(await list('?environment=pord'), {
    status: 404,
    body: { message: /no environment "pord"; it has dev, prod/ },
  });
  // Its object is deleted, its history is not; nor does the last page of a list mean a wrong name.
  await pool.query("UPDATE workloads SET name = 'left', deleted_at = now() WHERE name = 'gone'");
  t.match(await list('?app=left&status=failed'), { status: 200, body: { items: [] } });
  t.match(await list(`?app=left&cursor=${deletedApp}`), { status: 200, body: { items: [] } });
});

t.test('an image that runs in one environment is promoted to another, with its origin', async (t) => {
  const { pool, api, addApp, accept, succeed } = await rig(t);
  const source = await addApp('api', 'dev');
  const target = await addApp('api', 'prod');
  await succeed(source, { image: 'r.test/api:7', digest, commit: 'abc', commitMessage: 'Fix', branch: 'main' });
  await accept(source, { image: 'r.test/api:8' });
  const answer = await api.call('POST', promote, { body: { from: 'dev', to: 'prod' } });
  t.match(answer, { status: 202, body: { revision: 1, status: 'accepted' } });
  t.match(await getDeployment(pool, answer.body.id), {
    workloadId: target,
    trigger: 'promotion',
    image: 'r.test/api:7',
    digest,
    commit: 'abc',
    branch: 'main',
    commitMessage: 'Fix',
    actor: 'admin@svc.local',
    state: 'accepted',
  });
  const { items } = (await api.call('GET', `${deployments}?trigger=promotion`)).body;
  t.match(items, [{ environment: 'prod', promotedFrom: { environment: 'dev', revision: 1 } }]);
});

t.test('409: a promotion that names a revision takes no other one', async (t) => {
  const { pool, api, addApp, accept, succeed } = await rig(t);
  const source = await addApp('api', 'dev');
  await addApp('api', 'prod');
  await succeed(source, { image: 'r.test/api:1' });
  await succeed(source, { image: 'r.test/api:2' });
  await accept(source, { image: 'r.test/api:3' });
  const ask = (revision: number) => api.call('POST', promote, { body: { from: 'dev', to: 'prod', revision } });
  const refused = { status: 409, body: { code: 'conflict', message: /runs revision 2 in "dev" now/ } };
  t.match(await ask(1), refused, 'an earlier one');
  t.match(await ask(3), refused, 'one that has not succeeded');
  t.same((await api.call('GET', `${deployments}?environment=prod`)).body.items, [], 'nothing was written');
  const answer = await ask(2);
  t.match(answer, { status: 202, body: { revision: 1 } });
  t.match(await getDeployment(pool, answer.body.id), { image: 'r.test/api:2' });
  t.match(await ask(0), { status: 400 });
});

t.test('an impossible promotion is refused with the next step', async (t) => {
  const { api, addApp, accept, kube } = await rig(t);
  const ask = (from: string, to: string) => api.call('POST', promote, { body: { from, to } });
  t.match(await ask('dev', 'prod'), { status: 404, body: { message: /no app "api" in environment "dev"/ } });
  const source = await addApp('api', 'dev', { spec: { port: 3000 } });
  t.match(await ask('dev', 'prod'), {
    status: 404,
    body: {
      code: 'not_found',
      message: /svc app create api --image r\.test\/api:1 --port 3000 --project shop --environment prod/,
    },
  });
  await addApp('api', 'prod');
  await accept(source);
  t.match(await ask('dev', 'prod'), { status: 409, body: { code: 'not_ready', message: /succeeded in "dev"/ } });
  t.match(await ask('dev', 'dev'), { status: 422, body: { code: 'invalid_value' } });
  t.match(await ask('dev', 'staging'), { status: 404, body: { message: /it has dev, prod/ } });
  t.match(await api.call('POST', promote, { body: { to: 'prod' } }), { status: 400 });
  const git = { url: 'https://git.test/api', branch: 'main' };
  await kube.mergePatch({ ...kinds.App, namespace: 'shop-prod', name: 'api' }, { spec: { git } });
  t.match(await ask('dev', 'prod'), {
    status: 409,
    body: { code: 'git_source_configured', message: /svc app git remove api/ },
  });
  t.same((await api.call('GET', `${deployments}?environment=prod`)).body.items, [], 'nothing was written');
});

t.test("logs are those of the build and of the revision's pods", async (t) => {
  const { pool, kube, api, addApp, accept } = await rig(t);
  const workloadId = await addApp('api', 'prod');
  const [first, second] = [await accept(workloadId), await accept(workloadId)];
  for (const revision of [1, 2]) {
    kube.seed({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: `api-${revision}`,
        namespace: 'shop-prod',
        labels: podLabels({ kind: 'App', name: 'api', id: workloadId }, 'serve'),
        annotations: { 'platform.svc/release': String(revision) },
      },
      spec: { containers: [{ name: 'app' }] },
    });
  }
  const read: string[] = [];
  kube.stream = saying((path) => {
    read.push(path);
    return 'hello\n';
  });
  await saveBuildLog(pool, first, { text: 'step 1\n', truncated: false });
  t.same((await api.call('GET', `${deployments}/${first}/logs?tail=5`)).body, {
    build: { text: 'step 1\n', truncated: false },
    pods: [{ name: 'api-1', log: 'hello\n' }],
  });
  t.match(read, [/\/namespaces\/shop-prod\/pods\/api-1\/log\?container=app&tailLines=5$/]);
  await saveBuildLog(pool, first, { text: 'step 1\nstep 2\n\nstep 4', truncated: false });
  const built = async (query = '') => (await api.call('GET', `${deployments}/${first}/logs${query}`)).body.build;
  t.same(await built('?tail=2'), { text: '\nstep 4', truncated: true }, 'the build has an end, too');
  t.same(await built('?tail=4'), { text: 'step 1\nstep 2\n\nstep 4', truncated: false });
  t.same(await built(), { text: 'step 1\nstep 2\n\nstep 4', truncated: false });
  t.same((await api.call('GET', `${deployments}/${second}/logs`)).body, { pods: [{ name: 'api-2', log: 'hello\n' }] });
  t.match(await api.call('GET', `/api/v1/projects/blog/deployments/${first}/logs`), { status: 404 });
  t.match(await api.call('GET', `${deployments}/x/logs`), { status: 404 });
});

t.test('the log of the pod that failed a deployment is shown after the pod is gone', async (t) => {
  const { pool, kube, api, addApp, accept } = await rig(t);
  const workloadId = await addApp('api', 'prod');
  const failed = await accept(workloadId);
  await pool.query(`UPDATE deployments SET state = 'failed', ended_at = now() WHERE id = $1`, [failed]);
  await saveCrashLog(pool, failed, { pod: 'api-1', text: 'starting\nError: no\0\n', truncated: true });
  const pods = async (query = '') => (await api.call('GET', `${deployments}/${failed}/logs${query}`)).body.pods;
  t.same(await pods(), [{ name: 'api-1', log: 'starting\nError: no\n', truncated: true }]);
  t.same(await pods('?tail=1'), [{ name: 'api-1', log: 'Error: no\n', truncated: true }]);
  kube.seed({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'api-1',
      namespace: 'shop-prod',
      labels: podLabels({ kind: 'App', name: 'api', id: workloadId }, 'serve'),
      annotations: { 'platform.svc/release': '1' },
    },
    spec: { containers: [{ name: 'app' }] },
  });
  kube.stream = saying(() => 'live\n');
  t.same(await pods(), [{ name: 'api-1', log: 'live\n' }], 'the pod itself, while it exists');
});

t.test('a filter that no app can have as its name is refused or finds nothing, and never fails', async (t) => {
  const { api, addApp, accept } = await rig(t);
  await accept(await addApp('api', 'dev'));
  for (const [query, status, code] of [
    ['app=', 400, 'invalid_request'],
    ['app=..', 404, 'not_found'],
    ['app=%2e%2e', 404, 'not_found'],
    ['app=.', 404, 'not_found'],
    ['app=a%2Fb', 404, 'not_found'],
    ['app=%00', 400, 'invalid_request'],
    ['environment=', 404, 'not_found'],
    ['environment=..', 404, 'not_found'],
  ] as const) {
    t.match(await api.call('GET', `${deployments}?${query}`), { status, body: { code } }, query);
  }
});
