import t, { type Test } from 'tap';
import { customResourceDefinitions } from '../../../infra/crds/custom-resources.ts';
import type { Project } from '../../../runtime/contracts/resources/project.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { transaction } from '../../../runtime/db/pool.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { applyObject } from '../../../runtime/kube/children.ts';
import { acceptDeployment } from '../../../runtime/records/acceptance.ts';
import { redrive } from '../../../runtime/records/dead-letters.ts';
import { accessToken } from '../../support/access-tokens.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { startApi } from '../../support/local-api.ts';
import { signedIn } from '../../support/people.ts';
import { about, testObject, testProject, testWorkload, watchRig, type TestStream } from './rig.ts';

/** The project `shop` with two environments and an admin. */
async function world(t: Test) {
  const kube = fakeKube();
  const shop = testProject('shop', ['prod', 'dev']);
  kube.seed(shop.object);
  const { pool, replica } = await watchRig(t, kube);
  const admin = await signedIn(pool, 'admin', { projects: { [shop.id]: 'admin' } });
  const deploy = (workloadId: string, image = 'r.test/api:1') =>
    transaction(pool, (client) => acceptDeployment(client, { workloadId, trigger: 'manual', image }));
  return { kube, shop, pool, replica, admin, deploy };
}

t.test('objects of a real API server', async (t) => {
  const { kube } = await startApi(t);
  for (const definition of customResourceDefinitions) await applyObject(kube, definition);
  const shop = testProject('shop');
  for (const name of ['shop-prod']) await kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const created = await kube.create(shop.object);
  await kube.replaceStatus({ ...created, status: (shop.object as Project).status });
  const { pool, replica } = await watchRig(t, kube);
  const admin = await signedIn(pool, 'admin', { projects: { [shop.id]: 'admin' } });
  const stream = await (await replica()).open(admin.headers);
  t.match(await stream.until(() => true), { type: 'ready', cursor: /\.0$/ });
  for (const kind of ['App', 'Function', 'Job', 'Service', 'Volume'] as const) {
    const id = newId();
    const object = await kube.create(testObject(kind, 'one', 'shop-prod', id));
    const { resourceVersion: version } = object.metadata;
    t.match(await stream.until(about(kind)), { type: 'added', environment: 'prod', name: 'one', id, version });
    const { apiVersion } = object;
    await kube.mergePatch(
      { apiVersion, kind, namespace: 'shop-prod', name: 'one' },
      { metadata: { annotations: { a: 'b' } } },
    );
    t.match(await stream.until(about(kind)), { type: 'modified', environment: 'prod', name: 'one', id });
    await kube.delete({ apiVersion, kind, namespace: 'shop-prod', name: 'one' });
    t.match(await stream.until(about(kind)), { type: 'deleted', environment: 'prod', name: 'one', id });
  }
});

t.test('records of each kind', async (t) => {
  const { shop, pool, replica, admin, deploy } = await world(t);
  const app = await testWorkload(pool, shop, { name: 'api' });
  const fn = await testWorkload(pool, shop, { kind: 'Function', name: 'sync' });
  await deploy(app);
  const stream = await (await replica()).open(admin.headers);
  await stream.until(({ type }) => type === 'ready');
  t.equal(stream.messages.length, 1, 'what exists is not reported');

  const second = await deploy(app, 'r.test/api:2');
  const added = { type: 'added', environment: 'prod', name: 'api', id: second.id };
  t.match(await stream.until(about('Deployment')), added);
  await pool.query(`UPDATE deployments SET state = 'rolling_out', started_at = now() WHERE id = $1`, [second.id]);
  t.match(await stream.until(about('Deployment')), { ...added, type: 'modified' });
  await pool.query(`SELECT end_deployments(ARRAY[$1::uuid], NULL, 'failed', 'no image', NULL)`, [second.id]);
  t.match(await stream.until(about('Deployment')), { ...added, type: 'modified' });

  const delivery = newId();
  await pool.query(
    `INSERT INTO webhook_deliveries (id, workload_id, sender, verdict, status, body, body_bytes)
     VALUES ($1, $2, 'github', 'ignored', 200, '', 0)`,
    [delivery, app],
  );
  t.match(await stream.until(about('WebhookDelivery')), { ...added, id: delivery });

  const plan = newId();
  const environmentId = shop.environments['prod'];
  await pool.query(
    `INSERT INTO plans (id, environment_id, name, requests_per_second, burst) VALUES ($1, $2, 'free', 1, 1)`,
    [plan, environmentId],
  );
  t.match(await stream.until(about('Plan')), { type: 'modified', environment: 'prod' });
  const key = newId();
  await pool.query(
    `INSERT INTO api_keys (id, environment_id, handle, digest, plan_id, created_by)
     VALUES ($1, $2, 'h1', sha256('x'), $3, 'admin')`,
    [key, environmentId, plan],
  );
  t.match(await stream.until(about('Key')), { type: 'modified', environment: 'prod' });
  await pool.query('UPDATE api_keys SET enabled = false WHERE id = $1', [key]);
  await stream.until(about('Key'));
  await pool.query('DELETE FROM api_keys WHERE id = $1', [key]);
  await stream.until(about('Key'));

  await pool.query(`INSERT INTO project_invitations (project_id, email, role) VALUES ($1, 'new@svc.local', 'viewer')`, [
    shop.id,
  ]);
  await stream.until(about('Member'));
  await pool.query(
    `INSERT INTO notification_targets (id, project_id, project, name, url, secret, events)
     VALUES ($1, $2, 'shop', 'chat', 'https://chat.test', 's', '{}')`,
    [newId(), shop.id],
  );
  await stream.until(about('Notification'));

  await pool.query(`INSERT INTO event_sources (workload_id, settings, origin) VALUES ($1, '{}', 'o')`, [fn]);
  t.match(await stream.until(about('Event')), { type: 'modified', environment: 'prod', name: 'sync' });
  await pool.query(
    `INSERT INTO function_events (workload_id, origin, event_id, payload, state, ended_at)
     VALUES ($1, 'o', '1', '{}', 'dead', now()), ($1, 'o', '2', '{}', 'pending', NULL)`,
    [fn],
  );
  await stream.until(about('Event', 'sync'));
});

t.test('an event that is in the same state again has changed', async (t) => {
  const { pool, replica, admin, shop } = await world(t);
  const fn = await testWorkload(pool, shop, { kind: 'Function', name: 'sync' });
  await pool.query(`INSERT INTO event_sources (workload_id, settings, origin) VALUES ($1, '{}', 'o')`, [fn]);
  await pool.query(
    `INSERT INTO function_events (workload_id, origin, event_id, payload, state, failures, ended_at)
     VALUES ($1, 'o', '1', '{}', 'dead', 20, now()), ($1, 'o', '2', '{}', 'pending', 0, NULL)`,
    [fn],
  );
  const stream = await (await replica()).open(admin.headers);
  await stream.until(({ type }) => type === 'ready');
  t.equal(await redrive(pool, fn, 'all'), 1);
  const dead = `UPDATE function_events SET state = 'dead', failures = 20, ended_at = clock_timestamp()
    WHERE workload_id = $1 AND event_id = '1'`;
  await pool.query(dead, [fn]);
  await stream.until(about('Event', 'sync'));
  await transaction(pool, async (client) => {
    t.equal(await redrive(client, fn, 'all'), 1);
    await client.query(dead, [fn]);
  });
  t.match(await stream.until(about('Event', 'sync')), { type: 'modified' }, 'it died again between two reads');
  await pool.query(`UPDATE function_events SET failures = 1 WHERE workload_id = $1 AND event_id = '2'`, [fn]);
  await stream.until(about('Event', 'sync'));
  t.same(
    stream.messages.filter(({ type }) => type === 'reset'),
    [],
  );
});

t.test('a stream continues after its cursor, on the same replica only', async (t) => {
  const { kube, replica, admin } = await world(t);
  const [first, second] = [await replica(), await replica()];
  const stream = await first.open(admin.headers);
  kube.seed(testObject('App', 'one', 'shop-prod'));
  const { cursor } = await stream.until(about('App', 'one'));
  stream.close();
  kube.seed(testObject('App', 'two', 'shop-prod'));
  const again = await first.open(admin.headers, `?cursor=${cursor}`);
  t.match(await again.until(() => true), { type: 'ready', cursor });
  t.match(await again.until(() => true), { type: 'added', name: 'two' }, 'nothing is repeated or left out');
  for (const [replica, unknown] of [
    [second, cursor],
    [first, `${cursor}0`],
    [first, 'x'],
  ] as const) {
    const reset = await replica.open(admin.headers, `?cursor=${unknown}`);
    const { type, cursor: start } = await reset.until(() => true);
    t.equal(type, 'reset', unknown);
    t.not(start, unknown);
  }
});

t.test('a burst is sent as few messages, and too much of it as a reset', async (t) => {
  const { kube, replica, admin } = await world(t);
  const stream = await (await replica()).open(admin.headers);
  await stream.until(({ type }) => type === 'ready');
  kube.seed(testObject('App', 'api', 'shop-prod'));
  for (let count = 0; count < 50; count++) {
    await kube.mergePatch(
      { apiVersion: 'platform.svc/v1', kind: 'App', namespace: 'shop-prod', name: 'api' },
      { metadata: { annotations: { count: String(count) } } },
    );
  }
  const last = kube.all(kinds.App)[0]?.metadata.resourceVersion;
  await stream.until((message) => 'version' in message && message.version === last);
  t.ok(stream.messages.length < 50, `${stream.messages.length} messages`);
  for (let count = 0; count < 600; count++) kube.seed(testObject('App', `app-${count}`, 'shop-prod'));
  await stream.until(({ type }) => type === 'reset');
  kube.seed(testObject('App', 'after', 'shop-prod'));
  await stream.until(about('App', 'after'));
});

t.test('an environment is its own, and tokens stay in theirs', async (t) => {
  const { kube, shop, pool, replica, admin } = await world(t);
  const api = await replica();
  const token = await accessToken(pool, admin, {
    projectId: shop.id,
    scopes: ['read'],
    environment: { id: shop.environments['dev'] ?? '', name: 'dev' },
  });
  const whole = await accessToken(pool, admin, { projectId: shop.id, scopes: ['read'] });
  const streams = {
    all: await api.open(admin.headers),
    dev: await api.open(admin.headers, '?environment=dev'),
    token: await api.open(token.headers),
    whole: await api.open(whole.headers),
  };
  for (const stream of Object.values(streams)) await stream.until(({ type }) => type === 'ready');
  await pool.query(`INSERT INTO project_invitations (project_id, email, role) VALUES ($1, 'new@svc.local', 'viewer')`, [
    shop.id,
  ]);
  await streams.all.until(about('Member'));
  kube.seed(testObject('App', 'one', 'shop-prod'));
  await streams.all.until(about('App', 'one'));
  kube.seed(testObject('App', 'two', 'shop-dev'));
  for (const stream of Object.values(streams)) await stream.until(about('App', 'two'));
  const seen = ({ messages }: TestStream) =>
    messages.flatMap((message) => ('kind' in message ? [`${message.kind} ${message.name ?? ''}`] : []));
  t.same(seen(streams.all), ['Member ', 'App one', 'App two']);
  t.same(seen(streams.dev), ['Member ', 'App two']);
  t.same(seen(streams.token), ['App two'], 'no token may list members');
  t.same(seen(streams.whole), ['App one', 'App two']);
  t.match(await api.open(token.headers, '?environment=prod'), { status: 403 });
  t.match(await api.open(admin.headers, '?environment=none'), { status: 404, refusal: { code: 'not_found' } });
});

t.test('an environment that is added later', async (t) => {
  const { kube, replica, admin } = await world(t);
  const stream = await (await replica()).open(admin.headers);
  await stream.until(({ type }) => type === 'ready');
  const wider = testProject('shop', ['prod', 'dev', 'test']);
  const { metadata, spec, status } = kube.all<Project>(kinds.Project)[0] as Stored<Project>;
  const environment = { name: 'test', id: newId() };
  // The object is seen before its environment.
  kube.seed(testObject('App', 'early', 'shop-test'));
  kube.seed({
    ...wider.object,
    metadata,
    spec: { environments: [...spec.environments, environment] },
    status: {
      ...status,
      environments: [...(status?.environments ?? []), { ...environment, namespace: 'shop-test', ready: true }],
    },
  });
  await stream.until(about('Project', 'shop'));
  t.match(await stream.until(about('App')), { type: 'added', environment: 'test', name: 'early' });
});

t.test('503 while Kubernetes does not answer', async (t) => {
  const { kube, replica, admin } = await world(t);
  const api = await replica({
    watched: {
      get: (kind, name) => kube.get(kind, name),
      list: () => Promise.reject(new Error('no connection')),
      watch: (...request) => kube.watch(...request),
    },
    readyMs: 50,
  });
  t.match(await api.open(admin.headers), { status: 503, refusal: { code: 'unavailable' } });
});
