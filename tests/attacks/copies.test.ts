import t, { type Test } from 'tap';
import type { Project } from '../../runtime/contracts/resources/project.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { deleteProjectMembers } from '../../runtime/records/members.ts';
import { readReplica } from '../functions/read-replicas.ts';
import { testObject, testProject, type TestProject } from '../functions/watch/rig.ts';
import { accessToken } from '../support/access-tokens.ts';
import { fakeKube } from '../support/fake-kube.ts';
import { platformConfigObject } from '../support/objects.ts';
import { signedIn } from '../support/people.ts';
import { testDatabase } from '../support/postgres.ts';

/*
 * One copy has the objects of every tenant, and may be older than the cluster. A caller must get only what the caller's
 * role allows now, also when the copy still shows a project, an environment or an object that has another owner by now.
 */

const projectRef = (name: string) => ({ apiVersion: 'platform.svc/v1', kind: 'Project', name });

/** A volume of an environment, as the API creates it. */
function volume(name: string, project: TestProject, environment: string) {
  const object = testObject('Volume', name, `${project.name}-${environment}`);
  const labels = { ...object.metadata.labels, 'platform.svc/environment-id': project.environments[environment] ?? '' };
  return { ...object, metadata: { ...object.metadata, labels }, spec: { size: '1Gi', accessMode: 'ReadWriteOnce' } };
}

async function setUp(t: Test) {
  const kube = fakeKube();
  const shop = testProject('shop', ['prod']);
  const blog = testProject('blog', ['prod']);
  kube.seed(
    platformConfigObject,
    shop.object,
    blog.object,
    volume('orders', shop, 'prod'),
    volume('posts', blog, 'prod'),
  );
  kube.seed(testObject('Function', 'orders', 'shop-prod'));
  const { pool } = await testDatabase(t);
  const replica = await readReplica(t, { kube, pool });
  await replica.synced();
  const admin = await signedIn(pool, 'admin', { projects: { [shop.id]: 'admin' } });
  const other = await signedIn(pool, 'other', { projects: { [blog.id]: 'admin' } });
  const get = (path: string, headers: { authorization: string }) =>
    replica.api.call('GET', `/api/v1/${path}`, { headers });
  return { kube, pool, replica, shop, blog, admin, other, get };
}

t.test("another tenant's objects are in no answer", async (t) => {
  const { get, admin, other, pool, blog } = await setUp(t);
  const token = await accessToken(pool, other, { projectId: blog.id, project: 'blog', scopes: ['read'] });
  for (const { headers } of [other, token]) {
    for (const path of [
      'projects/shop',
      'projects/shop/environments',
      'projects/shop/volumes',
      'projects/shop/volumes/orders',
      'projects/shop/functions',
    ]) {
      t.match(await get(path, headers), { status: 404, body: { code: 'not_found' } }, path);
    }
    for (const path of [
      'projects/blog/volumes',
      'projects/blog/volumes?cursor=a',
      'projects/blog/volumes?environment=prod',
    ]) {
      const answer = await get(path, headers);
      t.equal(answer.status, 200);
      t.notMatch(answer.text, 'orders', path);
    }
    t.equal((await get('projects/blog/volumes/orders', headers)).status, 404);
  }
  for (const path of ['projects', 'functions']) t.notMatch((await get(path, other.headers)).text, /shop|orders/, path);
  t.match((await get('functions', admin.headers)).text, 'orders', 'its own members see it');
});

t.test('an environment whose namespace belongs to another project shows nothing of it', async (t) => {
  const { kube, pool, replica, other, get } = await setUp(t);
  // `shop-eu` with `prod`, and `shop` with `eu-prod`, have a namespace of the same name.
  const victim = testProject('shop-eu', ['prod']);
  const twin = testProject('twin', []);
  const environment = { name: 'eu-prod', id: newId(), namespace: 'shop-eu-prod', ready: false };
  const object = { ...twin.object, metadata: { ...twin.object.metadata, name: 'shop' } };
  await kube.delete(projectRef('shop'));
  kube.seed(victim.object, volume('secret', victim, 'prod'), {
    ...object,
    spec: { environments: [environment] },
    status: { environments: [environment] },
  });
  const named = testObject('Function', 'secret', 'shop-eu-prod');
  const labels = { ...named.metadata.labels, 'platform.svc/environment-id': victim.environments['prod'] ?? '' };
  kube.seed({ ...named, metadata: { ...named.metadata, labels } });
  await pool.query(`INSERT INTO project_members (project_id, user_id, role) VALUES ($1, $2, 'admin')`, [
    twin.id,
    other.id,
  ]);
  await replica.synced();
  for (const path of ['projects/shop/volumes', 'projects/shop/functions', 'functions']) {
    const answer = await get(path, other.headers);
    t.equal(answer.status, 200, path);
    t.notMatch(answer.text, 'secret', path);
  }
  for (const path of ['projects/shop/volumes/secret', 'projects/shop/functions/secret']) {
    t.equal((await get(path, other.headers)).status, 404, path);
  }
});

t.test('a role that was taken away is refused, though the copy has not changed', async (t) => {
  const { pool, replica, shop, admin, get } = await setUp(t);
  t.equal((await get('projects/shop/volumes', admin.headers)).status, 200);
  replica.hold();
  await deleteProjectMembers(pool, shop.id);
  t.equal((await get('projects/shop/volumes', admin.headers)).status, 404);
  t.same((await get('projects', admin.headers)).body.items, []);
});

t.test('the former members of a project do not read the next one of its name through an old copy', async (t) => {
  const { kube, pool, replica, shop, admin, other, get } = await setUp(t);
  replica.hold();
  // As the controller deletes a project: its roles end before its name becomes free.
  await deleteProjectMembers(pool, shop.id);
  await kube.delete(projectRef('shop'));
  const next = testProject('shop', ['prod']);
  kube.seed(next.object, volume('private', next, 'prod'));
  await pool.query(`INSERT INTO project_members (project_id, user_id, role) VALUES ($1, $2, 'admin')`, [
    next.id,
    other.id,
  ]);
  for (const path of [
    'projects/shop',
    'projects/shop/volumes',
    'projects/shop/volumes/private',
    'projects/shop/functions',
  ]) {
    t.equal((await get(path, admin.headers)).status, 404, path);
  }
});

t.test('a token of one environment does not open the next one of its name through an old copy', async (t) => {
  const { kube, pool, replica, shop, admin, get } = await setUp(t);
  const environment = { id: shop.environments['prod'] ?? '', name: 'prod' };
  const { headers } = await accessToken(pool, admin, { projectId: shop.id, scopes: ['read'], environment });
  t.equal((await get('projects/shop/volumes', headers)).status, 200);
  replica.hold();
  const next = [{ name: 'prod', id: newId() }];
  await kube.mergePatch<Project>(projectRef('shop'), { spec: { environments: next } });
  t.equal((await get('projects/shop/volumes', headers)).status, 404);
});
