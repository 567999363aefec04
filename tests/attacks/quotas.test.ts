import t, { type Test } from 'tap';
import { createProjectRoutes } from '../../functions/projects/handler.ts';
import { createAuthenticate } from '../../functions/sessions/authenticate.ts';
import { createProjectAccess } from '../../runtime/api/project-access.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { newId } from '../../runtime/domain/ids.ts';
import {
  countFounder,
  deleteProjectMembers,
  insertFounder,
  removeMember,
  setMember,
} from '../../runtime/records/members.ts';
import { testApi } from '../support/api.ts';
import { fakeKube } from '../support/fake-kube.ts';
import { platformConfigObject, readyProject, settings } from '../support/objects.ts';
import { signedIn, type Person } from '../support/people.ts';
import { testDatabase } from '../support/postgres.ts';

async function world(t: Test, change: object = {}) {
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  const projectId = newId();
  kube.seed({ ...platformConfigObject, spec: { ...settings, ...change } });
  const [project] = readyProject('shop');
  if (project) kube.seed({ ...project, metadata: { ...project.metadata, labels: { 'platform.svc/id': projectId } } });
  const { authorize, visibleProjects } = createProjectAccess({ kube, pool });
  const api = await testApi(t, {
    routes: createProjectRoutes({
      kube,
      visibleProjects,
      members: {
        countFounder: (id, userId, max) => countFounder(pool, id, userId, max),
        insertFounder: (id, userId) => insertFounder(pool, id, userId),
        forget: (id) => deleteProjectMembers(pool, id),
      },
    }),
    authenticate: createAuthenticate({ pool, clock: systemClock, baseUrl: 'http://console.test' }),
    authorize,
  });
  const admin = await signedIn(pool, 'admin', { role: 'admin' });
  const member = await signedIn(pool, 'member', { projects: { [projectId]: 'admin' } });
  const call = (method: string, path: string, body: object, { headers }: Person = member) =>
    api.call(method, `/api/v1/projects${path}`, { headers, body });
  return { pool, kube, admin, member, call };
}

const tooHigh = { status: 403, body: { code: 'limit_not_allowed' } };

t.test('403: members do not raise a quota above the ceiling; platform admins do', async (t) => {
  const { admin, call } = await world(t, { maxLimits: { memory: '64Gi', pods: 300 } });
  const set = (limits: object, as?: Person) => call('PATCH', '/shop/environments/prod', { limits }, as);
  for (const limits of [
    { memory: '900Ti' },
    { memory: '65Gi' },
    { memory: '70000000000' },
    { cpu: '65' },
    { cpu: '64001m' },
    { storage: '801Gi' },
    { pods: 301 },
    { containerMemory: '3Gi' },
    { cpu: '1', memory: '65Gi' },
  ]) {
    t.match(await set(limits), tooHigh, JSON.stringify(limits));
    t.match(await call('POST', '/shop/environments', { name: 'new', limits }), tooHigh, JSON.stringify(limits));
  }
  t.equal((await set({ memory: '64Gi', cpu: '64', pods: 300 })).status, 200);
  t.match((await set({ memory: '900Gi' }, admin)).body, { limits: { memory: '900Gi' } });
  t.equal((await set({ memory: '900Gi', pods: 10 })).status, 200, 'what an admin has set may stay');
  t.match(await set({ memory: '901Gi' }), tooHigh);
  t.equal((await set({ memory: '65Gi' })).status, 200, 'less than an admin has set');
  t.match(await set({ memory: '900Gi' }), tooHigh, 'and not more again');
});

t.test('the default limits of the installation are allowed above its ceilings', async (t) => {
  const { call } = await world(t, { maxLimits: { cpu: '2' }, defaultLimits: { cpu: '8' } });
  t.equal((await call('PATCH', '/shop/environments/prod', { limits: { cpu: '8' } })).status, 200);
  t.match(await call('PATCH', '/shop/environments/prod', { limits: { cpu: '9' } }), tooHigh);
});

t.test(
  '403: a user creates a limited number of projects, also at once and after the members have changed',
  async (t) => {
    const { pool, kube, admin, member, call } = await world(t, { projectsPerUser: 3 });
    const accomplice = await signedIn(pool, 'accomplice');
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => call('POST', '', { name: `p-${index}` })),
    );
    const created = answers.filter(({ status }) => status === 201);
    t.equal(created.length, 3);
    const refused = { status: 403, body: { code: 'too_many_projects', details: { max: 3 } } };
    for (const answer of answers) if (answer.status !== 201) t.match(answer, refused);
    const ids = kube.all(kinds.Project).map(({ metadata }) => metadata.labels?.['platform.svc/id'] ?? '');
    for (const id of ids.slice(1)) {
      await setMember(pool, id, accomplice.id, 'admin');
      await removeMember(pool, id, member.id);
    }
    t.match(await call('POST', '', { name: 'handed-over' }), refused);
    t.match(await call('POST', '', { name: 'p-0' }), refused, 'an existing name');
    await deleteProjectMembers(pool, ids[1] ?? '');
    t.equal((await call('POST', '', { name: 'after-a-deletion' })).status, 201);
    for (let count = 0; count < 5; count++) {
      t.equal((await call('POST', '', { name: `admin-${count}` }, admin)).status, 201);
    }
  },
);
