import { once } from 'node:events';
import type { Readable } from 'node:stream';
import t, { type Test } from 'tap';
import { createFeed } from '../../functions/watch/feed.ts';
import { createUserPlaces } from '../../runtime/api/user-places.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { about, testObject, testProject, testWorkload, watchRig } from '../functions/watch/rig.ts';
import { accessToken } from '../support/access-tokens.ts';
import { fakeKube } from '../support/fake-kube.ts';
import { signedIn } from '../support/people.ts';

/*
 * One process reads the changes of every tenant. A stream must carry only what its caller may list now, and clients that
 * open many, or take nothing, must not cost the memory or the places of others.
 */

/** Two tenants, each with an admin. */
async function tenants(t: Test) {
  const kube = fakeKube();
  const [shop, blog] = [testProject('shop'), testProject('blog')];
  kube.seed(shop.object, blog.object);
  const { pool, replica } = await watchRig(t, kube);
  const admin = await signedIn(pool, 'admin', { projects: { [shop.id]: 'admin' } });
  const other = await signedIn(pool, 'other', { projects: { [blog.id]: 'admin' } });
  return { kube, shop, blog, pool, replica, admin, other };
}

t.test("another tenant's changes never appear", async (t) => {
  const { kube, shop, blog, pool, replica, admin, other } = await tenants(t);
  const api = await replica();
  t.match(await api.open(other.headers), { status: 404 }, 'as if it did not exist');
  t.match(await api.open(other.headers, '?environment=prod'), { status: 404 });
  const foreign = await accessToken(pool, other, { projectId: blog.id, project: 'blog', scopes: ['read'] });
  t.match(await api.open(foreign.headers), { status: 404 });
  // It claims the namespace of the other project, which its controller refused.
  const claim = testProject('shop-prod', []);
  const environment = { name: 'x', id: '019a0000-0000-7000-8000-0000000000ff', namespace: 'shop-prod', ready: false };
  kube.seed({ ...claim.object, spec: { environments: [environment] }, status: { environments: [environment] } });
  await pool.query(`INSERT INTO project_members (project_id, user_id, role) VALUES ($1, $2, 'admin')`, [
    claim.id,
    other.id,
  ]);
  const streams = [await api.open(other.headers, '', 'blog'), await api.open(other.headers, '', 'shop-prod')];
  const own = await api.open(admin.headers);
  for (const stream of [...streams, own]) await stream.until(({ type }) => type === 'ready');
  const cursor = own.messages[0]?.cursor;
  const app = await testWorkload(pool, shop, { name: 'secret' });
  kube.seed(testObject('App', 'secret', 'shop-prod', app));
  await pool.query(
    `INSERT INTO webhook_deliveries (id, workload_id, sender, verdict, status, body, body_bytes)
     VALUES (gen_random_uuid(), $1, 'github', 'ignored', 200, '', 0)`,
    [app],
  );
  await pool.query(
    `INSERT INTO plans (id, environment_id, name, requests_per_second, burst) VALUES (gen_random_uuid(), $1, 'free', 1, 1)`,
    [shop.environments['prod']],
  );
  await pool.query(`INSERT INTO project_invitations (project_id, email, role) VALUES ($1, 'new@svc.local', 'viewer')`, [
    shop.id,
  ]);
  for (const kind of ['App', 'WebhookDelivery', 'Plan', 'Member']) {
    if (!own.messages.some(about(kind))) await own.until(about(kind));
  }
  // A change that they may see comes after all of these.
  kube.seed(testObject('App', 'mine', 'blog-prod'));
  await pool.query(`INSERT INTO project_invitations (project_id, email, role) VALUES ($1, 'new@svc.local', 'viewer')`, [
    claim.id,
  ]);
  await streams[0]?.until(about('App', 'mine'));
  await streams[1]?.until(about('Member'));
  const seen = streams.map(({ messages }) =>
    messages.map((message) => ('kind' in message ? message.kind : message.type)),
  );
  t.same(seen, [
    ['ready', 'App'],
    ['ready', 'Member'],
  ]);
  const guess = await api.open(other.headers, `?cursor=${cursor}`, 'blog');
  t.equal((await guess.until(() => true)).type, 'reset', 'a cursor of another project');
});

t.test('a stream ends with the session, the token, the role or the account', async (t) => {
  const { kube, shop, pool, replica, admin } = await tenants(t);
  const api = await replica();
  const boss = await signedIn(pool, 'boss', { role: 'admin' });
  const token = await accessToken(pool, admin, { projectId: shop.id, scopes: ['read'] });
  const ends: [string, Record<string, string>, string, unknown[]][] = [
    ['token', token.headers, 'DELETE FROM access_tokens WHERE id = $1', [token.id]],
    ['platform role', boss.headers, `UPDATE users SET role = 'member' WHERE id = $1`, [boss.id]],
  ];
  for (const [name, statement] of [
    ['session', 'DELETE FROM sessions WHERE user_id = $1'],
    ['role', 'DELETE FROM project_members WHERE user_id = $1'],
    ['account', 'UPDATE users SET disabled_at = now() WHERE id = $1'],
    ['user', 'DELETE FROM users WHERE id = $1'],
  ] as const) {
    const person = await signedIn(pool, name, { projects: { [shop.id]: 'viewer' } });
    ends.push([name, person.headers, statement, [person.id]]);
  }
  const own = await api.open(admin.headers);
  for (const [name, headers, statement, values] of ends) {
    const stream = await api.open(headers);
    await stream.until(({ type }) => type === 'ready');
    await pool.query(statement, values);
    // At once: the check comes before the message, however soon that is.
    kube.seed(testObject('App', `after-${name.replace(' ', '-')}`, 'shop-prod'));
    await stream.ended();
    t.notOk(stream.messages.some(about('App', `after-${name.replace(' ', '-')}`)), name);
  }
  await own.until(about('App', 'after-user'));
  // A lower role keeps the stream, without what it may not list.
  const person = await signedIn(pool, 'lowered', { projects: { [shop.id]: 'admin' } });
  const stream = await api.open(person.headers);
  await pool.query(`UPDATE project_members SET role = 'viewer' WHERE user_id = $1`, [person.id]);
  await pool.query(
    `INSERT INTO notification_targets (id, project_id, project, name, url, secret, events)
     VALUES (gen_random_uuid(), $1, 'shop', 'chat', 'https://chat.test', 's', '{}')`,
    [shop.id],
  );
  await own.until(about('Notification'));
  kube.seed(testObject('App', 'last', 'shop-prod'));
  await stream.until(about('App', 'last'));
  t.notOk(stream.messages.some(about('Notification')));
});

t.test('a project that was deleted and created again by another tenant', async (t) => {
  const { kube, replica, admin } = await tenants(t);
  const stream = await (await replica()).open(admin.headers);
  await stream.until(({ type }) => type === 'ready');
  const { apiVersion } = testProject('shop').object;
  await kube.delete({ apiVersion, kind: 'Project', name: 'shop' });
  kube.seed(testProject('shop').object, testObject('App', 'theirs', 'shop-prod'));
  await stream.ended();
  t.notOk(stream.messages.some(about('App')));
});

t.test('streams are bounded for each user and in all, and a user with many makes room', async (t) => {
  const { replica, admin, pool, shop } = await tenants(t);
  const api = await replica({ limits: { total: 4, perUser: 3 } });
  const second = await signedIn(pool, 'second', { projects: { [shop.id]: 'viewer' } });
  const third = await signedIn(pool, 'third', { projects: { [shop.id]: 'viewer' } });
  const streams = [];
  for (let count = 0; count < 3; count++) streams.push(await api.open(admin.headers));
  t.match(await api.open(admin.headers), { status: 429, refusal: { code: 'too_many_requests' } });
  // Two users have two each; the newest stream of the first ends.
  for (let count = 0; count < 2; count++) t.match(await api.open(second.headers), { status: 200 });
  await streams[2]?.ended();
  const last = await api.open(third.headers);
  await last.until(({ type }) => type === 'ready');
  await streams[1]?.ended();
  t.match(await api.open(third.headers), { status: 429 }, 'its user would have as many as others');
  last.close();
  for (let status = 429; status === 429;) status = (await api.open(third.headers)).status;
});

t.test('requests with HEAD, whose streams are never read, keep no place', async (t) => {
  const { replica, admin } = await tenants(t);
  const api = await replica({ limits: { total: 4, perUser: 2 } });
  const head = () => fetch(`${api.url}/api/v1/projects/shop/watch`, { method: 'HEAD', headers: admin.headers });
  for (let count = 0; count < 6; count++) {
    // A place is left just after the answer.
    let { status } = await head();
    while (status === 429) ({ status } = await head());
    t.equal(status, 200);
  }
  let stream = await api.open(admin.headers);
  while (stream.status === 429) stream = await api.open(admin.headers);
  await stream.until(({ type }) => type === 'ready');
});

t.test('places are left once, and by every way', (t) => {
  const places = createUserPlaces({ total: 2, perUser: 2, what: 'open event streams' });
  const [one, two] = [places.enter('a'), places.enter('a')];
  const other = places.enter('b');
  t.same([one.signal.aborted, two.signal.aborted], [false, true], 'the newest makes room');
  two.leave();
  one.leave();
  one.leave();
  t.same(places.users(), ['b']);
  places.enter('b');
  t.throws(() => places.enter('b'), { code: 'too_many_requests' });
  t.throws(() => places.enter('c') && places.enter('d'), { code: 'too_many_requests' });
  other.leave();
  t.end();
});

t.test('a client that takes nothing is cut off, and others get everything', async (t) => {
  const { kube, shop, replica, admin } = await tenants(t);
  const api = await replica({ stalledMs: 100 });
  const { body } = (await api.route.handle({
    params: { project: 'shop' },
    query: {},
    headers: admin.headers,
    session: { sessionId: '', userId: admin.id, email: admin.email, role: 'member' },
    grant: { projectId: shop.id, role: 'admin' },
    signal: new AbortController().signal,
  } as never)) as { body: Readable };
  const closed = once(body, 'close');
  // The first lines fit into the buffers of its connection.
  for (let count = 0; count < 2; count++) {
    body.read();
    await once(body, 'readable');
  }
  body.read();
  // Of a process of its own, where it may be slow.
  const own = await (await replica()).open(admin.headers);
  await own.until(({ type }) => type === 'ready');
  for (let round = 0; round < 3; round++) {
    for (let count = 0; count < 400; count++) kube.seed(testObject('App', `app-${round}-${count}`, 'shop-prod'));
    await own.until(about('App', `app-${round}-399`));
  }
  await closed;
  t.equal(own.messages.length, 1_201);
});

t.test('a feed keeps a bounded number of changes', async (t) => {
  const feed = createFeed(systemClock);
  t.teardown(() => feed.stop());
  const signal = new AbortController().signal;
  for (let round = 0; round < 4; round++) {
    const [position, accessChecks] = [feed.end(), feed.accessChecks()];
    for (let count = 0; count < 400; count++) feed.add({ type: 'added', kind: 'App', name: `${round}-${count}` });
    await feed.next({ position, accessChecks }, signal);
  }
  t.equal(feed.end(), 1_600);
  t.equal(feed.after(0), undefined, 'the oldest are not kept');
  t.equal(feed.after(600)?.length, 1_000);
  t.equal(feed.after(1_601), undefined, 'a position that was not reached');
  for (const cursor of ['', '.', 'x.1', `${feed.cursorOf(1)}x`, `${feed.cursorOf(1)}.2`, '9'.repeat(100)]) {
    t.equal(feed.positionOf(cursor), undefined, cursor);
  }
});
