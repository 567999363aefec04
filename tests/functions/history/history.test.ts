import t from 'tap';
import { createAppRoutes } from '../../../functions/apps/handler.ts';
import { createHistoryRoutes } from '../../../functions/history/handler.ts';
import type { RevisionSettings } from '../../../runtime/contracts/resources/app-settings.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { transaction } from '../../../runtime/db/pool.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { Problem } from '../../../runtime/domain/problem.ts';
import { ownedSecret } from '../../../runtime/workloads/owned-secret.ts';
import { acceptDeployment } from '../../../runtime/records/acceptance.ts';
import { endDeployment, startDeployment, succeedDeployment } from '../../../runtime/records/deployments.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { environmentId, readyProject, seedShop } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';

const apps = '/api/v1/projects/shop/apps';
const baseUrl = 'http://console.test';
const image = (version: number) => `registry.test/shop/api:v${version}`;

const verifyToken = () => Promise.reject(new Problem('invalid_webhook_token', 'No.'));

async function service(t: { teardown(end: () => unknown): void }) {
  const kube = fakeKube();
  seedShop(kube);
  const { pool } = await testDatabase(t);
  const api = await testApi(t, {
    routes: [
      ...createAppRoutes({ kube, pool, clock: fakeClock(), baseUrl }),
      ...createHistoryRoutes({ kube, pool, verifyToken, baseUrl }),
    ],
  });
  const workloadId: string = (await api.call('POST', apps, { body: { name: 'api', image: image(1) } })).body.id;
  await projectWorkload(pool, {
    id: workloadId,
    kind: 'App',
    environmentId,
    project: 'shop',
    environment: 'prod',
    namespace: 'shop-prod',
    name: 'api',
    gated: false,
  });
  const accept = async (version: number) =>
    (
      await transaction(pool, (client) =>
        acceptDeployment(client, {
          workloadId,
          trigger: 'webhook',
          image: image(version),
          branch: 'main',
          commit: `c${version}`,
          commitMessage: `Change ${version}`,
          commitAuthor: 'Kim',
        }),
      )
    ).id;
  const succeed = async (version: number) => {
    const id = await accept(version);
    await startDeployment(pool, id);
    await succeedDeployment(pool, id);
    return id;
  };
  const history = async (query = '') => (await api.call('GET', `${apps}/api/history${query}`)).body;
  const rollback = (body?: object) => api.call('POST', `${apps}/api/rollback`, body ? { body } : {});
  return { kube, pool, api, workloadId, accept, succeed, history, rollback };
}

t.test('200: every deployment, newest first, with its result and the current one', async (t) => {
  const { pool, accept, succeed, history } = await service(t);
  t.same(await history(), { items: [] });
  await succeed(1);
  const failed = await accept(2);
  await endDeployment(pool, failed, 'failed', 'The pods did not get ready.');
  await accept(3);
  t.match((await history()).items, [
    { revision: 3, image: image(3), commit: 'c3', trigger: 'webhook', status: 'accepted', current: false },
    { revision: 2, status: 'failed', reason: 'The pods did not get ready.', endedAt: String },
    { revision: 1, status: 'succeeded', current: true, acceptedAt: /Z$/, startedAt: String, endedAt: String },
  ]);
});

t.test('200: a skipped deployment has no revision, and is never a rollback target', async (t) => {
  const { pool, api, workloadId, succeed, history, rollback } = await service(t);
  await succeed(1);
  await succeed(2);
  const skipped = await transaction(pool, (client) =>
    acceptDeployment(client, {
      skipped: true,
      workloadId,
      trigger: 'webhook',
      reason: 'Asked to skip.',
      branch: 'main',
    }),
  );
  const [newest] = (await history()).items;
  t.match(newest, { id: skipped.id, status: 'skipped', reason: 'Asked to skip.', branch: 'main', current: false });
  for (const absent of ['revision', 'image', 'commit', 'startedAt']) t.notHas(newest, absent);
  t.same((await api.call('GET', `/api/v1/projects/shop/deployments/${skipped.id}`)).body, newest);
  t.match((await rollback()).body, { revision: 3 });
  t.match((await history()).items[0], { rollbackOf: 1 });
});

t.test('200: history has pages', async (t) => {
  const { succeed, history } = await service(t);
  for (const version of [1, 2, 3]) await succeed(version);
  const first = await history('?limit=2');
  t.same(
    first.items.map((item: { revision: number }) => item.revision),
    [3, 2],
  );
  const second = await history(`?limit=2&cursor=${first.nextCursor}`);
  t.same(
    second.items.map((item: { revision: number }) => item.revision),
    [1],
  );
  t.notHas(second, 'nextCursor');
});

t.test('202: a rollback deploys the image of the last earlier success, as a new revision', async (t) => {
  const { succeed, history, rollback } = await service(t);
  await succeed(1);
  await succeed(2);
  const answer = await rollback();
  t.equal(answer.status, 202);
  t.match(answer.body, { revision: 3, status: 'accepted', statusUrl: /\/projects\/shop\/deployments\// });
  t.match((await history()).items[0], {
    revision: 3,
    image: image(1),
    trigger: 'rollback',
    rollbackOf: 1,
    actor: 'admin@svc.local',
    commit: 'c1',
    commitMessage: 'Change 1',
    commitAuthor: 'Kim',
    branch: 'main',
  });
  t.match((await rollback({ revision: 2 })).body, { revision: 4 });
  t.match((await history()).items[0], { image: image(2), rollbackOf: 2 });
});

t.test('202: a rollback after restarts goes back to the image before', async (t) => {
  const { pool, api, accept, succeed, history, rollback } = await service(t);
  const restart = async (): Promise<string> => (await api.call('POST', `${apps}/api/restart`)).body.id;
  const succeeds = async (id: string) => {
    await startDeployment(pool, id);
    await succeedDeployment(pool, id);
  };
  await succeed(1);
  await succeed(2);
  await succeeds(await restart());
  await succeeds(await restart());
  t.match((await history()).items[0], { revision: 4, image: image(2), trigger: 'restart' });
  t.equal((await rollback()).status, 202);
  t.match((await history()).items[0], { revision: 5, image: image(1), rollbackOf: 1 });

  await accept(3);
  // The restart takes the place of a deployment that has not ended: the image before is the one before that.
  const restarted = await restart();
  t.match((await history()).items[0], { revision: 7, image: image(3) });
  await succeeds(restarted);
  t.equal((await rollback()).status, 202);
  t.match((await history()).items[0], { revision: 8, image: image(2), rollbackOf: 4 });
});

t.test('404 and 409: revisions that cannot be rolled back to', async (t) => {
  const { pool, accept, succeed, rollback } = await service(t);
  t.match((await rollback()).body, { code: 'no_earlier_revision' });
  await succeed(1);
  t.match((await rollback()).body, { code: 'no_earlier_revision' });
  t.match((await rollback({ revision: 9 })).body, { code: 'not_found' });
  const failed = await accept(2);
  await endDeployment(pool, failed, 'failed', 'No.');
  t.equal((await rollback({ revision: 2 })).status, 409);
  t.equal((await rollback({ revision: 0 })).status, 400);
});

t.test('200, 404 and 409: cancelling restores the release that ran', async (t) => {
  const { pool, api, accept, succeed, history } = await service(t);
  const cancel = (id: string, project = 'shop') =>
    api.call('POST', `/api/v1/projects/${project}/deployments/${id}/cancel`);
  await succeed(1);
  const waiting = await accept(2);
  const answer = await cancel(waiting);
  t.equal(answer.status, 200);
  t.match(answer.body, { id: waiting, status: 'cancelled', reason: 'Cancelled by admin@svc.local.' });
  t.notHas(answer.body, 'rolledBackTo');
  t.match((await cancel(waiting)).body, { code: 'conflict', message: /has already ended \(cancelled\)/ });
  const running = await accept(3);
  await startDeployment(pool, running);
  t.match((await cancel(running)).body, { status: 'cancelled', rolledBackTo: 1 });
  t.match((await history()).items[0], { revision: 4, image: image(1), rollbackOf: 1, automatic: true });
  t.match((await cancel(newId())).body, { code: 'not_found' });
  t.match((await cancel('api')).body, { code: 'not_found' });
});

t.test('202, 409 and 422: a rollback with the configuration of its revision', async (t) => {
  const { kube, pool, accept, succeed, history, rollback } = await service(t);
  await succeed(1);
  const kept = async (settings: RevisionSettings, envSecret?: string) => {
    const id = await accept(2);
    await startDeployment(pool, id, { settings, envSecret });
    await succeedDeployment(pool, id);
  };
  await kept({ port: 8080 });
  await kept({ port: 8080 }, 'app-api-env-0');
  await kept({ port: 8080, volumes: [{ name: 'gone', path: '/data' }] });
  const to = (revision: number) => rollback({ revision, withConfig: true });
  t.match((await to(1)).body, { code: 'conflict', message: /were not stored/ });
  t.match((await to(3)).body, { code: 'conflict', message: /no longer exists/ });
  t.match((await to(4)).body, { code: 'invalid_value', message: /There is no volume "gone"/ });
  const app = kube.all<App>(kinds.App)[0];
  if (!app) throw new Error('no app');
  kube.seed(ownedSecret(app, 'app-api-env-0', {}));
  t.equal((await to(3)).status, 202);
  t.match((await history()).items[0], { revision: 5, rollbackOf: 3, withConfig: true });
  t.equal((await rollback({ withConfig: true })).status, 422, 'the last earlier one, whose volume was deleted');
});

t.test('200 and 404: a deployment by its id, in its own project only', async (t) => {
  const { kube, api, accept } = await service(t);
  kube.seed(...readyProject('blog'));
  const id = await accept(1);
  t.match((await api.call('GET', `/api/v1/projects/shop/deployments/${id}`)).body, { id, app: 'api', revision: 1 });
  for (const path of [`blog/deployments/${id}`, `shop/deployments/${newId()}`, 'shop/deployments/api']) {
    const answer = await api.call('GET', `/api/v1/projects/${path}`);
    t.equal(answer.status, 404, path);
    t.equal(answer.body.code, 'not_found');
  }
});

t.test('401: neither session nor token', async (t) => {
  const { api, accept } = await service(t);
  const path = `/api/v1/projects/shop/deployments/${await accept(1)}`;
  t.equal((await api.call('GET', path, { headers: { authorization: '' } })).body.code, 'unauthenticated');
  const byToken = await api.call('GET', path, { headers: { authorization: '', 'x-svc-token': 'wrong' } });
  t.equal(byToken.body.code, 'invalid_webhook_token');
});
