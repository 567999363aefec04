import t from 'tap';
import { createAppRoutes } from '../../../functions/apps/handler.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { testApi, testSession } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { recordingLog } from '../../support/log.ts';
import { seedShop } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';

const path = '/api/v1/projects/shop/apps';
const ref = { apiVersion: 'platform.svc/v1', kind: 'App', namespace: 'shop-prod', name: 'api' };
const command = ['npm', 'run', 'migrate', '--', '--token=hush'];

async function service(t: { teardown(end: () => unknown): void }) {
  const kube = fakeKube({ checkNamespaces: true });
  seedShop(kube);
  const { pool } = await testDatabase(t);
  const log = recordingLog();
  const routes = createAppRoutes({ kube, pool, clock: fakeClock(), baseUrl: 'http://console.test' });
  const api = await testApi(t, { routes, log: log.log });
  await api.call('POST', path, { body: { name: 'api', image: 'registry.test/shop/api:v1' } });
  const start = (body: object) => api.call('POST', `${path}/api/runs`, { body });
  const release = { generation: 1, deploymentId: newId(), image: 'registry.test/shop/api:v1' };
  const deploy = () => kube.mergePatch(ref, { spec: { release } });
  return { kube, api, log, start, deploy };
}

t.test('202: the request stands in the App with its command, and can be read at once', async (t) => {
  const { kube, api, log, start, deploy } = await service(t);
  t.match(await start({ command }), { status: 409, body: { code: 'not_ready', message: /has no release yet/ } });
  await deploy();
  const answer = await start({ command });
  t.match(answer, { status: 202, body: { id: /^api-[0-9a-f]{10}$/, status: 'pending' } });
  const [app] = kube.all<App>(kinds.App);
  t.match(app?.spec.runRequests, [{ by: testSession.email, command }]);
  const statusUrl = new URL(answer.body.statusUrl);
  const run = { name: answer.body.id, trigger: 'manual', status: 'pending', actor: testSession.email, command };
  t.match((await api.call('GET', `${statusUrl.pathname}${statusUrl.search}`)).body, run);
  t.match((await api.call('GET', `${path}/api/runs`)).body.items, [run]);
  t.notMatch(log.text(), 'hush', 'neither the audit nor the log has the command');
});

t.test('a reported run keeps its command and its outcome', async (t) => {
  const { kube, api, deploy } = await service(t);
  await deploy();
  const reported = { name: 'api-0123456789', trigger: 'manual', state: 'failed', by: 'ada@svc.test', command };
  const createdAt = '2026-11-21T12:00:00Z';
  await kube.mergePatch(ref, { status: { runs: [{ ...reported, createdAt, message: 'It exited.' }] } }, 'status');
  t.match((await api.call('GET', `${path}/api/runs/api-0123456789`)).body, {
    name: 'api-0123456789',
    status: 'failed',
    actor: 'ada@svc.test',
    command,
    message: 'It exited.',
  });
  t.match(await api.call('GET', `${path}/api/runs/api-9999999999`), {
    status: 404,
    body: { message: /no run "api-9999999999".*svc app runs api/ },
  });
});

t.test('400: a command that cannot be run', async (t) => {
  const { kube, start, deploy } = await service(t);
  await deploy();
  for (const body of [
    {},
    { command: [] },
    { command: 'ls' },
    { command: ['x'.repeat(4_097)] },
    { command: Array(101).fill('x') },
    { command: ['a\0b'] },
  ]) {
    t.match(await start(body), { status: 400 }, JSON.stringify(body).slice(0, 40));
  }
  t.match(await start({ command: ['é'.repeat(2_049)] }), {
    status: 422,
    body: { message: /4098 bytes; the limit is 4096/ },
  });
  t.notOk(kube.all<App>(kinds.App)[0]?.spec.runRequests);
});

t.test('429: no more than 20 runs wait to start', async (t) => {
  const { start, deploy } = await service(t);
  await deploy();
  for (let count = 0; count < 20; count++) t.equal((await start({ command: ['true'] })).status, 202);
  t.match(await start({ command: ['true'] }), { status: 429, body: { code: 'too_many_requests' } });
});

t.test(
  '202, 404 and 409: a one-off run is stopped, whatever it does, and the command of a release is not',
  async (t) => {
    const { kube, api, log, start, deploy } = await service(t);
    await deploy();
    const waiting: string = (await start({ command })).body.id;
    const run = { trigger: 'manual', createdAt: '2026-11-21T12:00:00Z', command };
    const runs = [
      { ...run, name: 'api-0000000001', state: 'running' },
      { ...run, name: 'api-0000000002', state: 'failed' },
      { ...run, name: 'api-release-1', state: 'running', trigger: 'release' },
    ];
    await kube.mergePatch(ref, { status: { runs } }, 'status');
    const stop = (name: string) => api.call('DELETE', `${path}/api/runs/${name}`);
    const app = () => kube.all<App>(kinds.App)[0];
    t.match(await stop('api-0000000001'), { status: 202, body: { name: 'api-0000000001', status: 'running' } });
    t.match(await stop('api-0000000001'), { status: 202 }, 'again, before the controller has deleted it');
    t.match(await stop('api-0000000002'), { status: 202, body: { status: 'failed' } });
    t.same(app()?.spec.runStops, ['0000000001', '0000000002']);
    t.match(await stop(waiting), { status: 202, body: { status: 'pending' } });
    t.notHas(app()?.spec, 'runRequests', 'it never starts');
    t.match(await stop('api-release-1'), { status: 409, body: { code: 'conflict', message: /Cancel the deployment/ } });
    for (const name of ['api-9999999999', '0000000001', 'web-0000000001']) {
      t.match(await stop(name), { status: 404, body: { code: 'not_found', message: /svc app runs api/ } }, name);
    }
    t.match(log.text(), /"action":"app\.run\.stop"/);
    t.equal(app()?.spec.runStops?.length, 3, 'a refusal leaves nothing behind');
  },
);
