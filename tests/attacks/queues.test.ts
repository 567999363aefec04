import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import type { Outcome } from '../../runtime/bus/runner.ts';
import { createOwnerShares } from '../../runtime/bus/owner-shares.ts';
import { newId, type Id } from '../../runtime/domain/ids.ts';
import { notificationSecretContext } from '../../runtime/domain/notification.ts';
import { parseKeyRing, seal } from '../../runtime/domain/sealed.ts';
import { newWebhookSecret } from '../../runtime/domain/standard-webhooks.ts';
import { createNameLookup } from '../../runtime/process/name-lookup.ts';
import { projectGitSource } from '../../runtime/records/git-sources.ts';
import { projectWorkload } from '../../runtime/records/workloads.ts';
import { createNotificationProcessor } from '../../workers/notifications/process.ts';
import { createPollingProcessor } from '../../workers/polling/process.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { fakeClock, settle } from '../support/clock.ts';
import { fakeKube } from '../support/fake-kube.ts';
import { gitServer } from '../support/git-server.ts';
import { platformConfigObject, settings } from '../support/objects.ts';
import { testDatabase } from '../support/postgres.ts';
import { attemptOf, waitOf } from '../workers/notifications/notification-world.ts';
import { startReceiver } from '../workers/notifications/receiver.ts';
import { appObject } from '../workers/rollouts/rollout-world.ts';
import { testKeys } from '../workers/rollouts/worker-world.ts';

/*
 * The queues that talk to servers of tenants have a few places, which all projects share. A server that keeps its client
 * waiting takes one until the time-out: a project with many such servers must leave places for the others.
 */

/** A server that accepts connections and says nothing. */
async function silentServer(t: Test) {
  const sockets: Socket[] = [];
  const waiting: (() => void)[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined));
    for (const check of waiting) check();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const leave = () => {
    for (const socket of sockets) socket.destroy();
  };
  t.teardown(() => {
    server.close();
    leave();
  });
  const connected = (count: number) =>
    new Promise<void>((resolve) => {
      const check = () => sockets.length >= count && resolve();
      waiting.push(check);
      check();
    });
  return { port: (server.address() as AddressInfo).port, connected, leave };
}

t.test('receivers of one project that do not answer leave places for the notifications of others', async (t) => {
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  kube.seed({ ...platformConfigObject, spec: { ...settings, notificationNetworks: ['127.0.0.1'] } });
  const [clock, keyRing] = [fakeClock(), parseKeyRing(testKeys)];
  const run = createNotificationProcessor({
    pool,
    kube,
    keyRing,
    clock,
    failpoint: () => undefined,
    timeoutMs: 600_000,
  });
  const testMessage = async (project: string, url: string): Promise<Id> => {
    const [target, delivery] = [newId(), newId()];
    await pool.query(
      `INSERT INTO notification_targets (id, project_id, project, name, url, secret, events)
       VALUES ($1, $2, $3, $4, $5, $6, ARRAY['deployment.failed'])`,
      [target, newId(), project, target, url, seal(keyRing, notificationSecretContext(target), newWebhookSecret())],
    );
    await pool.query(`INSERT INTO notification_deliveries (id, target_id, type) VALUES ($1, $2, 'notification.test')`, [
      delivery,
      target,
    ]);
    return delivery;
  };
  const silent = await silentServer(t);
  const url = `http://127.0.0.1:${silent.port}/`;
  const hanging: Promise<Outcome>[] = [];
  for (let count = 1; count <= 4; count++) {
    hanging.push(run(attemptOf(await testMessage('mallory', url))));
    await silent.connected(count);
  }
  const receiver = await startReceiver(t);
  const waits: number[] = [];
  for (let count = 0; count < 3; count++) {
    waits.push(waitOf(await run(attemptOf(await testMessage('mallory', receiver.url))), clock.now()));
  }
  t.same(waits, [1, 1.05, 1.1], 'after each other, without an attempt');
  t.equal(receiver.received.length, 0);
  t.equal(await run(attemptOf(await testMessage('shop', receiver.url))), 'done');
  t.equal(await run(attemptOf(await testMessage('', receiver.url))), 'done', 'and those of the platform');
  t.equal(receiver.received.length, 2);
  silent.leave();
  for (const outcome of await Promise.all(hanging)) t.ok(waitOf(outcome, clock.now()) > 1, 'an attempt that failed');
  t.equal(await run(attemptOf(await testMessage('mallory', receiver.url))), 'done', 'the places are free again');
});

t.test('git servers of one project that do not answer leave places for the polls of others', async (t) => {
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  const builds = { image: 'r/builder:1', registry: 'r.test/builds', baseImages: {}, gitNetworks: ['127.0.0.1'] };
  kube.seed({ ...platformConfigObject, spec: { ...settings, builds } });
  const clock = fakeClock();
  const poll = createPollingProcessor({ pool, kube, env: process.env, clock });
  const createApp = async (project: string, name: string, url: string): Promise<Id> => {
    const id = newId();
    const where = { project, environment: 'prod', namespace: `${project}-prod`, name };
    const object: App = appObject(name, id);
    const git = { url, branch: 'main' };
    kube.seed({
      ...object,
      metadata: { ...object.metadata, namespace: where.namespace },
      spec: { ...object.spec, git },
    });
    await projectWorkload(pool, { id, environmentId: newId(), ...where, gated: false, kind: 'App' });
    await projectGitSource(pool, id, git);
    return id;
  };
  const silent = await silentServer(t);
  const silentUrl = `http://127.0.0.1:${silent.port}/a.git`;
  const leave = new AbortController();
  const hanging: Promise<Outcome>[] = [];
  for (let count = 1; count <= 2; count++) {
    const id = await createApp('mallory', `app-${count}`, silentUrl);
    hanging.push(poll(attemptOf(id, { signal: leave.signal })));
    await silent.connected(count);
  }
  const third = await createApp('mallory', 'app-3', silentUrl);
  t.equal(waitOf(await poll(attemptOf(third)), clock.now()), 1, 'the third waits for its turn');
  const server = await gitServer(t);
  server.push({ 'a.txt': '1' });
  const other = await createApp('shop', 'api', server.url());
  t.match(await poll(attemptOf(other)), { again: Date });
  const { rows } = await pool.query<{ commit: string | null; error: string | null }>(
    'SELECT commit, error FROM git_sources WHERE workload_id = $1',
    [other],
  );
  t.match(rows, [{ commit: /^[0-9a-f]{40}$/, error: null }]);
  silent.leave();
  await Promise.all(hanging);
});

const waits = { waitMs: 60_000, soonMs: 1_000, spacingMs: 100 };
const ongoing = new AbortController().signal;

t.test('projects that fill a queue together hold up another one for one of their attempts', async (t) => {
  const shares = createOwnerShares(fakeClock(), { places: 4, concurrency: 12 }, { ...waits, perOwner: 2 });
  const started: string[] = [];
  const ends: (() => void)[] = [];
  const run = (owner: string) =>
    shares.run(owner, { signal: ongoing }, () => {
      started.push(owner);
      return new Promise((resolve) => ends.push(() => resolve('done')));
    });
  const again: Outcome[] = [];
  // Each tries to have more places than it may, and to keep the others out of the room in which they wait.
  for (const owner of ['mallory-1', 'mallory-2', 'mallory-1', 'mallory-2', 'mallory-3', 'mallory-4', 'mallory-1']) {
    void run(owner).then((outcome) => again.push(outcome));
  }
  await settle();
  t.same(started.splice(0), ['mallory-1', 'mallory-2', 'mallory-1', 'mallory-2']);
  t.equal(again.length, 1, 'the third attempt of one does not wait');
  const quiet = [run('shop'), run('blog')];
  const end = async () => {
    ends.shift()?.();
    await settle();
  };
  // The projects with nothing under way get the next places, in the order in which they came.
  await end();
  await end();
  await end();
  t.same(started.splice(0), ['mallory-3', 'mallory-4', 'shop']);
  void run('mallory-3');
  void run('mallory-4');
  await settle();
  await end();
  t.same(started.splice(0), ['blog'], 'before those that have a place');
  for (let left = ends.length; left > 0; left = ends.length) await end();
  await Promise.all(quiet);
});

t.test('those that have a place leave the room to wait to those that have none', async (t) => {
  const shares = createOwnerShares(fakeClock(), { places: 1, concurrency: 5 }, { ...waits, perOwner: 2 });
  const first = Promise.withResolvers<Outcome>();
  const holding = shares.run('mallory', { signal: ongoing }, () => first.promise);
  const started: string[] = [];
  const run = (owner: string) =>
    shares.run(owner, { signal: ongoing }, () => {
      started.push(owner);
      return Promise.resolve('done');
    });
  const second = run('mallory');
  const others = [run('blog'), run('shop')];
  t.match(await second, { again: Date }, 'two can wait');
  t.match(await run('docs'), { again: Date });
  first.resolve('done');
  t.same(await Promise.all([holding, ...others]), ['done', 'done', 'done']);
  t.same(started, ['blog', 'shop']);
});

t.test('an attempt without a place for too long is due again', async (t) => {
  const shares = createOwnerShares(fakeClock(), { places: 1, concurrency: 5 }, { ...waits, waitMs: 1, perOwner: 1 });
  const first = Promise.withResolvers<Outcome>();
  const holding = shares.run('mallory', { signal: ongoing }, () => first.promise);
  const alive = setInterval(() => undefined, 1_000);
  t.match(await shares.run('shop', { signal: ongoing }, () => Promise.reject(new Error('no place'))), { again: Date });
  clearInterval(alive);
  first.resolve('done');
  await holding;
});

t.test(
  'attempts of an owner without a place are due after each other, and anew when its others have ended',
  async (t) => {
    const clock = fakeClock();
    const shares = createOwnerShares(clock, { places: 2, concurrency: 4 }, { ...waits, perOwner: 1 });
    const run = (owner: string, attempt: () => Promise<Outcome>) => shares.run(owner, { signal: ongoing }, attempt);
    const attempt = Promise.withResolvers<Outcome>();
    const first = run('a', () => attempt.promise);
    const refused = () => run('a', () => Promise.reject(new Error('it must not run')));
    t.equal(waitOf(await refused(), clock.now()), 1);
    t.equal(waitOf(await refused(), clock.now()), 1.1);
    t.equal(await run('b', () => Promise.resolve('done')), 'done');
    attempt.resolve('done');
    t.equal(await first, 'done');
    await t.rejects(
      run('a', () => Promise.reject(new Error('failed'))),
      /failed/,
    );
    const next = Promise.withResolvers<Outcome>();
    const second = run('a', () => next.promise);
    t.equal(waitOf(await refused(), clock.now()), 1, 'a failure left its place, and the waits begin anew');
    next.resolve('done');
    await second;
  },
);

t.test('names that take long to resolve hold up only their owner, until the resolver has really ended', async (t) => {
  const started: string[] = [];
  const ends: (() => void)[] = [];
  const address = [{ address: '192.0.2.1', family: 4 }];
  const names = createNameLookup({
    timeoutMs: 100,
    lookup: (host) => {
      started.push(host);
      if (!host.startsWith('slow')) return Promise.resolve(address);
      return new Promise((resolve) => ends.push(() => resolve(address)));
    },
  });
  const slow = [1, 2, 3, 4, 5, 6].map((count) => t.rejects(names('mallory', `slow-${count}`), { code: 'EAI_AGAIN' }));
  t.same(await names('shop', 'fast'), address);
  await Promise.all(slow);
  t.same(started, ['slow-1', 'fast'], 'the resolver was asked for one name of the slow owner');
  await t.rejects(names('mallory', 'fast'), { code: 'EAI_AGAIN' }, 'which it still resolves');
  for (const end of ends) end();
  t.same(await names('mallory', 'fast'), address);
});

t.test('workers resolve the names of tenants in turns', async (t) => {
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  kube.seed({ ...platformConfigObject, spec: settings });
  const requests: string[] = [];
  const names = (owner: string, host: string) => {
    requests.push(`${owner} ${host}`);
    return Promise.reject(Object.assign(new Error('later'), { code: 'EAI_AGAIN' }));
  };
  const [clock, keyRing] = [fakeClock(), parseKeyRing(testKeys)];
  const send = createNotificationProcessor({ pool, kube, keyRing, clock, failpoint: () => undefined, names });
  const [target, delivery] = [newId(), newId()];
  await pool.query(
    `INSERT INTO notification_targets (id, project_id, project, name, url, secret, events)
     VALUES ($1, $2, 'shop', 'ops', 'http://hooks.test/', $3, ARRAY['deployment.failed'])`,
    [target, newId(), seal(keyRing, notificationSecretContext(target), newWebhookSecret())],
  );
  await pool.query(`INSERT INTO notification_deliveries (id, target_id, type) VALUES ($1, $2, 'notification.test')`, [
    delivery,
    target,
  ]);
  t.ok(waitOf(await send(attemptOf(delivery)), clock.now()) > 1);
  const { rows } = await pool.query<{ error: string }>('SELECT error FROM notification_attempts');
  t.match(rows, [{ error: 'its host name could not be resolved' }]);
  const id = newId();
  const git = { url: 'https://git.test/a.git', branch: 'main' };
  const object = appObject('api', id);
  kube.seed({ ...object, spec: { ...object.spec, git } });
  const where = { project: 'shop', environment: 'prod', namespace: 'shop-prod', name: 'api' };
  await projectWorkload(pool, { id, environmentId: newId(), ...where, gated: false, kind: 'App' });
  await projectGitSource(pool, id, git);
  await createPollingProcessor({ pool, kube, env: process.env, names })(attemptOf(id));
  t.same(requests, ['shop hooks.test', 'shop git.test']);
});
