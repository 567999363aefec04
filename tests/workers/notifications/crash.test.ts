import t from 'tap';
import { platformConfigObject, settings } from '../../support/objects.ts';
import { testKeys, workerWorld } from '../rollouts/worker-world.ts';
import { notificationWorld, verifies } from './notification-world.ts';
import { startReceiver } from './receiver.ts';

t.test('killed between sending and recording, a notification is sent again under the same id', async (t) => {
  const { pool, kube, startWorkers, arm } = await workerWorld(t);
  kube.seed({ ...platformConfigObject, spec: { ...settings, notificationNetworks: ['127.0.0.1'] } });
  const { fail, target, deliveries } = await notificationWorld(pool, testKeys);
  const receiver = await startReceiver(t);
  const { secret } = await target(receiver.url);
  const first = startWorkers();
  await first.logged('process started');
  arm('notification.sent');
  await fail();
  t.equal(await first.ended, 'SIGKILL');
  t.match(await deliveries(), [{ state: 'pending', attempts: null }]);
  // Simulates that the lease of the lost attempt has expired.
  await pool.query(`UPDATE work SET leased_until = now() WHERE leased_until IS NOT NULL`);
  const second = startWorkers();
  await second.logged('notification sent');
  t.match(await deliveries(), [{ state: 'delivered', attempts: [{ status: 204 }] }]);
  t.equal(receiver.received.length, 2);
  t.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, 1);
  t.ok(receiver.received.every((one) => verifies(secret, one)));
  const { rows } = await pool.query<{ data: string }>(
    `SELECT payload::text AS data FROM (SELECT work AS payload FROM work) w`,
  );
  for (const line of [...first.lines, ...second.lines, ...rows.map(({ data }) => data)]) {
    t.notOk(
      line.includes(secret.slice('whsec_'.length)) || line.includes('/hook'),
      'no secret, and no path of the receiver',
    );
  }
});
