import t from 'tap';
import { createAppliedConfigurationRoutes } from '../../../functions/applied-configurations/handler.ts';
import { deleteEnvironmentRecords } from '../../../runtime/records/environments.ts';
import { testApi } from '../../support/api.ts';
import { testDatabase } from '../../support/postgres.ts';
import { testEnvironments } from '../environments.ts';

const path = '/api/v1/projects/shop/applied-configurations/default';
const objects = { apps: { web: { image: 'r.example.com/web:1', env: { A: '1' } } } };

async function rig(t: Parameters<typeof testDatabase>[0]) {
  const { pool } = await testDatabase(t);
  const environments = testEnvironments();
  const routes = createAppliedConfigurationRoutes({
    pool,
    projectEnvironments: (project) => environments.projectEnvironments(project),
    resolveEnvironment: async (...names) => ({ ...(await environments.resolveEnvironment(...names)), ready: true }),
  });
  return { pool, environments: environments.all, api: await testApi(t, { routes }) };
}

t.test('what was applied is stored over the version that was read', async (t) => {
  const { api, pool, environments } = await rig(t);
  t.match(await api.call('GET', path), { status: 404, body: { code: 'not_found' } });
  const first = await api.call('PUT', path, { body: { version: 0, objects } });
  t.match(first, {
    status: 200,
    body: { name: 'default', environment: 'prod', version: 1, appliedBy: 'admin@svc.local' },
  });
  const second = { apps: { web: { replicas: 2 } } };
  t.match(await api.call('PUT', path, { body: { version: 1, objects: second } }), {
    status: 200,
    body: { version: 2 },
  });
  for (const version of [0, 1, 3]) {
    t.match(await api.call('PUT', path, { body: { version, objects } }), { status: 409, body: { code: 'conflict' } });
  }
  t.same((await api.call('GET', path)).body.objects, second, 'a refused write leaves nothing');

  const wide = '/api/v1/projects/wide/applied-configurations/default';
  t.match(await api.call('GET', wide), { status: 400, body: { code: 'environment_required' } });
  t.match(await api.call('GET', `${wide}?environment=test`), { status: 404 }, 'another environment has its own');

  await deleteEnvironmentRecords(pool, environments[0]?.environmentId ?? '');
  t.equal((await api.call('GET', path)).status, 404, 'it goes with its environment');
});

t.test('a configuration can be forgotten', async (t) => {
  const { api } = await rig(t);
  await api.call('PUT', path, { body: { version: 0, objects } });
  t.equal((await api.call('DELETE', path)).status, 204);
  t.equal((await api.call('DELETE', path)).status, 404);
});

t.test('names and sizes are bounded', async (t) => {
  const { api } = await rig(t);
  for (const name of ['UPPER', 'a_b', '-a', 'a'.repeat(64)]) {
    t.equal(
      (await api.call('PUT', path.replace('default', name), { body: { version: 0, objects } })).status,
      400,
      name,
    );
  }
  const large = { apps: { web: { text: 'x'.repeat(2 * 1024 * 1024) } } };
  t.match(await api.call('PUT', path, { body: { version: 0, objects: large } }), { status: 413 });
  const wide = (environment: string, name: string) =>
    `/api/v1/projects/wide/applied-configurations/${name}?environment=${environment}`;
  const almost = { apps: { web: { text: 'x'.repeat(2 * 1024 * 1024 - 100) } } };
  const put = (url: string) => api.call('PUT', url, { body: { version: 0, objects: almost } });
  const answers: Awaited<ReturnType<typeof put>>[] = [];
  for (let n = 0; n < 5; n++) {
    answers.push(...(await Promise.all(['prod', 'test'].map((environment) => put(wide(environment, `file${n}`))))));
  }
  const stored = answers.filter(({ status }) => status === 200);
  t.equal(stored.length, 8, 'a project has 16 MiB, also when its environments are written at once');
  t.match(
    answers.find(({ status }) => status !== 200),
    { status: 409, body: { code: 'conflict', message: /more than 16 MiB/ } },
  );
  for (let n = 0; n < 100; n++) {
    await api.call('PUT', path.replace('default', `file${n}`), { body: { version: 0, objects } });
  }
  t.match(await api.call('PUT', path, { body: { version: 0, objects } }), { status: 409, body: { code: 'conflict' } });
});
