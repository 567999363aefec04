import type { LookupFunction } from 'node:net';
import t, { type Test } from 'tap';
import { selfSignedCertificate } from '../../../infra/local/apiserver/certificate.ts';
import { deploymentNotification } from '../../../runtime/contracts/api/notifications.ts';
import { parseKeyRing } from '../../../runtime/domain/sealed.ts';
import { catalogue } from '../../../runtime/queues/catalogue.ts';
import { createNotificationProcessor } from '../../../workers/notifications/process.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { testKeyRing } from '../../support/key-ring.ts';
import { platformConfigObject, settings } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';
import { testKeys } from '../rollouts/worker-world.ts';
import { attemptOf, notificationWorld, verifies, waitOf } from './notification-world.ts';
import { startReceiver } from './receiver.ts';

const loopback = ['127.0.0.1'];

async function world(t: Test, options: { networks?: string[]; lookup?: LookupFunction; timeoutMs?: number } = {}) {
  const { networks = loopback, ...others } = options;
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  kube.seed({ ...platformConfigObject, spec: { ...settings, notificationNetworks: networks } });
  const clock = fakeClock();
  const keyRing = parseKeyRing(testKeys);
  const process = createNotificationProcessor({ pool, kube, keyRing, clock, failpoint: () => undefined, ...others });
  const records = await notificationWorld(pool, testKeys);
  /** Runs the newest delivery once. */
  const run = async () => {
    const id = (await records.deliveries()).at(-1)?.id ?? '';
    return process(attemptOf(id));
  };
  return { pool, kube, clock, process, run, ...records };
}

t.test('an ended deployment is sent once, signed, in the documented shape', async (t) => {
  const { app, fail, target, run, deliveries } = await world(t);
  const receiver = await startReceiver(t);
  const { secret } = await target(receiver.url);
  const id = await fail('Exited with 1.\nAPI_KEY=hunter2 is wrong');
  t.equal(await run(), 'done');
  t.equal(await run(), 'done', 'a repeated run does nothing');
  t.equal(receiver.received.length, 1);
  const [one] = receiver.received;
  if (!one) throw new Error('nothing came');
  t.equal(one.path, '/hook');
  t.match(one.headers, { 'content-type': 'application/json', 'webhook-timestamp': '1767225600' });
  t.ok(verifies(secret, one), 'the receiver can verify it');
  t.notOk(verifies(secret, { ...one, body: one.body.replace('api', 'web') }));
  const [delivery] = await deliveries();
  t.equal(one.headers['webhook-id'], `msg_${delivery?.id}`);
  t.match(delivery, { state: 'delivered', attempts: [{ status: 204, error: null }] });
  const message = deploymentNotification.strict().parse(JSON.parse(one.body));
  t.match(message, {
    type: 'deployment.failed',
    data: {
      id,
      project: 'shop',
      environment: 'prod',
      app: app.name,
      revision: 1,
      image: 'r/api:2',
      commit: 'abc',
      commitMessage: 'Fix it',
      trigger: 'webhook',
      status: 'failed',
      reason: 'Exited with 1.',
      statusUrl: `http://console.apps.test/api/v1/projects/shop/deployments/${id}`,
    },
  });
  t.equal(message.timestamp, message.data.endedAt);
  t.notMatch(one.body, /hunter2|"current"/, "an app's log is not sent");
});

t.test('a receiver inside may have a certificate of the CA of the installation', async (t) => {
  const tls = selfSignedCertificate('receiver', { names: [], addresses: loopback }, new Date());
  const { kube, fail, target, run, deliveries } = await world(t);
  const receiver = await startReceiver(t, { tls });
  await target(receiver.url);
  await fail();
  await run();
  t.match(await deliveries(), [{ state: 'pending', attempts: [{ error: /certificate is not trusted/ }] }]);
  t.equal(receiver.received.length, 0);
  const { certificate: caCertificates } = tls;
  kube.seed({ ...platformConfigObject, spec: { ...settings, notificationNetworks: loopback, caCertificates } });
  t.equal(await run(), 'done');
  t.match(await deliveries(), [{ state: 'delivered', attempts: [{}, { status: 204 }] }]);
  t.equal(receiver.received.length, 1);
});

t.test('a message whose signing secret cannot be opened is not sent, and says what to do', async (t) => {
  const { fail, target, deliveries, pool, kube, clock } = await world(t);
  const receiver = await startReceiver(t);
  await target(receiver.url);
  await fail();
  const keyRing = testKeyRing();
  const process = createNotificationProcessor({ pool, kube, keyRing, clock, failpoint: () => undefined });
  await process(attemptOf((await deliveries()).at(-1)?.id ?? ''));
  t.equal(receiver.received.length, 0);
  t.match(await deliveries(), [
    { state: 'pending', attempts: [{ error: /signing secret cannot be opened.* rotate/ }] },
  ]);
});

t.test('a failed message is retried with the same id, with growing delays, up to 14 times', async (t) => {
  const { clock, fail, target, run, deliveries } = await world(t);
  const receiver = await startReceiver(t);
  const { secret } = await target(receiver.url);
  await fail();
  receiver.answer = (response) => response.writeHead(500).end('sorry');
  const waits: number[] = [];
  for (let number = 1; number < catalogue.notifications.attempts; number++) {
    const wait = waitOf(await run(), clock.now());
    waits.push(wait);
    await clock.advance(wait * 1000);
  }
  t.match(await deliveries(), [{ state: 'pending' }]);
  for (const [index, wait] of waits.entries()) {
    const full = Math.min(10 * 2 ** index, 14_400);
    t.ok(wait <= full && wait >= full * 0.75, `attempt ${index + 2} after ${wait} s`);
  }
  t.equal(await run(), 'done');
  const [delivery] = await deliveries();
  t.match(delivery, { state: 'failed', attempts: [{ status: 500, error: 'it responded with 500' }] });
  t.equal(receiver.received.length, 14);
  t.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, 1);
  t.equal(new Set(receiver.received.map(({ body }) => body)).size, 1);
  t.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-timestamp'])).size, 14);
  t.ok(receiver.received.every((one) => verifies(secret, one)));
});

t.test('a receiver may ask for a delay, within limits', async (t) => {
  const { clock, fail, target, run } = await world(t);
  const receiver = await startReceiver(t);
  await target(receiver.url);
  await fail();
  receiver.answer = (response) => response.writeHead(429, { 'retry-after': '120' }).end();
  t.equal(waitOf(await run(), clock.now()), 120);
  receiver.answer = (response) => response.writeHead(503, { 'retry-after': '999999' }).end();
  t.equal(waitOf(await run(), clock.now()), 3600);
});

t.test('410 disables the target, and nothing is sent to a disabled one', async (t) => {
  const { pool, fail, target, run, deliveries } = await world(t);
  const receiver = await startReceiver(t);
  const { id } = await target(receiver.url);
  await fail();
  receiver.answer = (response) => response.writeHead(410).end();
  t.equal(await run(), 'done');
  const { rows } = await pool.query('SELECT enabled, disabled_reason FROM notification_targets WHERE id = $1', [id]);
  t.match(rows, [{ enabled: false, disabled_reason: /410/ }]);
  t.match(await deliveries(), [{ state: 'failed' }]);
  await fail();
  t.equal((await deliveries()).length, 1, 'nothing new');
  await pool.query(`UPDATE notification_deliveries SET state = 'pending', ended_at = NULL`);
  t.equal(await run(), 'done');
  t.equal(receiver.received.length, 1);
});

t.test('redirects are not followed, neither to a private address nor to any other', async (t) => {
  const { clock, fail, target, run, deliveries } = await world(t);
  const [receiver, inside] = [await startReceiver(t), await startReceiver(t)];
  await target(receiver.url);
  await fail();
  for (const status of [301, 302, 303, 307, 308]) {
    receiver.answer = (response) => response.writeHead(status, { location: inside.url }).end();
    t.ok(waitOf(await run(), clock.now()) > 0);
  }
  t.equal(receiver.received.length, 5);
  t.equal(inside.received.length, 0);
  t.match((await deliveries())[0]?.attempts, [
    { status: 301, error: 'it responded with 301; redirects are not followed' },
  ]);
});

t.test('a receiver that is down, slow or not an HTTP server is retried', async (t) => {
  const { clock, fail, target, run, deliveries } = await world(t, { timeoutMs: 200 });
  const receiver = await startReceiver(t);
  await target(receiver.url);
  await fail();
  receiver.answer = () => undefined;
  t.ok(waitOf(await run(), clock.now()) > 0);
  receiver.answer = (response) => response.destroy();
  t.ok(waitOf(await run(), clock.now()) > 0);
  await receiver.stop();
  t.ok(waitOf(await run(), clock.now()) > 0);
  t.match((await deliveries())[0]?.attempts, [
    { status: null, error: 'no response within 0.2 seconds' },
    { status: null, error: 'the connection was closed' },
    { status: null, error: 'the connection was refused' },
  ]);
});

t.test('an answer that never ends blocks nothing else', async (t) => {
  const { fail, target, run } = await world(t);
  const receiver = await startReceiver(t);
  await target(receiver.url);
  await fail();
  receiver.answer = (response) => {
    response.writeHead(200);
    response.write('and so on');
  };
  t.equal(await run(), 'done');
});

t.test('nothing is sent to a private address, whatever its name', async (t) => {
  const names: Record<string, string[]> = {
    'private.test': ['10.1.2.3'],
    'metadata.test': ['169.254.169.254'],
    'mixed.test': ['1.1.1.1', '127.0.0.1'],
    'mapped.test': ['::ffff:127.0.0.1'],
    'six.test': ['::1'],
  };
  const lookup: LookupFunction = (host, _options, callback) =>
    callback(
      null,
      (names[host] ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  const { clock, fail, target, run, pool, deliveries } = await world(t, { networks: [], lookup });
  const { port, received } = await startReceiver(t);
  const { id } = await target('http://127.0.0.1/');
  await fail();
  const hosts = ['127.0.0.1', '127.1', '2130706433', '0x7f000001', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0', '[::]'];
  const all = [...hosts, ...Object.keys(names), 'nowhere.test'];
  for (const host of all) {
    await pool.query('UPDATE notification_targets SET url = $2 WHERE id = $1', [id, `http://${host}:${port}/`]);
    await pool.query('UPDATE notification_deliveries SET begun_at = clock_timestamp()');
    t.ok(waitOf(await run(), clock.now()) > 0, host);
  }
  t.equal(received.length, 0);
  const attempts = (await deliveries())[0]?.attempts ?? [];
  t.equal(attempts.length, all.length);
  for (const [index, { error }] of attempts.entries()) {
    t.match(
      error,
      /is in a private network to which notifications may not be sent\. .* --notification-network/,
      all[index] ?? '',
    );
    t.notMatch(error, /10\.1|169\.254/, 'the reason of the platform’s own check is not revealed');
  }
});

t.test('a name that resolves differently a moment later is connected at the checked address', async (t) => {
  const receiver = await startReceiver(t);
  let lookups = 0;
  const lookup: LookupFunction = (_host, _options, callback) => {
    lookups += 1;
    callback(null, [{ address: lookups === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }]);
  };
  const { fail, target, run, clock } = await world(t, { lookup });
  await target(`http://rebinding.test:${receiver.port}/hook`);
  await fail();
  t.equal(await run(), 'done');
  t.equal(receiver.received.length, 1);
  t.equal(receiver.received[0]?.headers.host, `rebinding.test:${receiver.port}`);
  t.equal(lookups, 1, 'one look-up for check and connection');
  await fail();
  t.ok(waitOf(await run(), clock.now()) > 0, 'the next message is checked again');
  t.equal(receiver.received.length, 1);
});
