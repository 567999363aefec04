import type { Pool } from 'pg';
import t, { type Test } from 'tap';
import { transaction } from '../../../runtime/db/pool.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { endActiveDeployments } from '../../../runtime/records/deployment-completion.ts';
import { acceptDeployment } from '../../../runtime/records/acceptance.ts';
import { endDeployment, startDeployment, succeedDeployment } from '../../../runtime/records/deployments.ts';
import { markWorkloadDeleted, projectWorkload } from '../../../runtime/records/workloads.ts';
import { testDatabase } from '../../support/postgres.ts';

interface TargetRow {
  project?: string;
  events?: string[];
  apps?: string[];
  environments?: string[];
  enabled?: boolean;
}

const everyEvent = ['succeeded', 'failed', 'superseded', 'cancelled'].map((state) => `deployment.${state}`);

async function insertTarget(pool: Pool, name: string, row: TargetRow = {}) {
  const { project = 'shop', events = everyEvent, apps = null, environments = null, enabled = true } = row;
  await pool.query(
    `INSERT INTO notification_targets (id, project_id, project, name, url, secret, events, apps, environments, enabled)
     VALUES ($1, $2, $3, $4, 'https://example.com', 'sealed', $5, $6, $7, $8)`,
    [newId(), newId(), project, name, events, apps, environments, enabled],
  );
}

async function world(t: Test) {
  const { pool } = await testDatabase(t);
  const app = {
    id: newId(),
    kind: 'App' as const,
    environmentId: newId(),
    project: 'shop',
    environment: 'prod',
    namespace: 'shop-prod',
    name: 'api',
    gated: false,
  };
  await projectWorkload(pool, app);
  const accept = async (): Promise<string> => {
    const request = { workloadId: app.id, trigger: 'webhook', image: 'r/api:1' } as const;
    return (await transaction(pool, (client) => acceptDeployment(client, request))).id;
  };
  /** The content of the outbox, as `target type` of each deployment. */
  const outbox = async (): Promise<Record<string, string[]>> => {
    const { rows } = await pool.query<{ id: string; text: string }>(
      `SELECT deployment_id AS id, target.name || ' ' || delivery.type AS text
       FROM notification_deliveries delivery JOIN notification_targets target ON target.id = target_id
         JOIN work ON work.kind = 'notifications' AND work.record_id = delivery.id AND work.state = 'pending'
           AND work.due_at <= now()
       ORDER BY text`,
    );
    const outbox: Record<string, string[]> = {};
    for (const { id, text } of rows) (outbox[id] ??= []).push(text);
    return outbox;
  };
  return { pool, app, accept, outbox };
}

t.test('every end of a deployment inserts a notification in the same transaction', async (t) => {
  const { pool, app, accept, outbox } = await world(t);
  await insertTarget(pool, 'all');
  const succeeding = await accept();
  await startDeployment(pool, succeeding);
  t.same(await outbox(), {}, 'nothing before the end');
  t.equal(await succeedDeployment(pool, succeeding), true);
  t.equal(await succeedDeployment(pool, succeeding), false);
  const failing = await accept();
  t.equal(await endDeployment(pool, failing, 'failed', 'The image is missing.'), true);
  t.equal(await endDeployment(pool, failing, 'cancelled', 'late'), false);
  const [old, newer] = [await accept(), await accept()];
  await markWorkloadDeleted(pool, app.id);
  t.same(await outbox(), {
    [succeeding]: ['all deployment.succeeded'],
    [failing]: ['all deployment.failed'],
    [old]: ['all deployment.superseded'],
    [newer]: ['all deployment.cancelled'],
  });
});

t.test('an end that is rolled back notifies no target', async (t) => {
  const { pool, app, accept, outbox } = await world(t);
  await insertTarget(pool, 'all');
  const id = await accept();
  const crash = transaction(pool, async (client) => {
    t.same(await endActiveDeployments(client, app.id, 'cancelled', 'no'), [id]);
    throw new Error('crash before the commit');
  });
  await t.rejects(crash, /crash/);
  t.same(await outbox(), {});
  t.equal(await endDeployment(pool, id, 'failed', 'no'), true);
  t.same(await outbox(), { [id]: ['all deployment.failed'] });
});

t.test('a target gets only the events that it subscribed to', async (t) => {
  const { pool, accept, outbox } = await world(t);
  await insertTarget(pool, 'disabled', { enabled: false });
  await insertTarget(pool, 'another project', { project: 'blog' });
  await insertTarget(pool, 'another app', { apps: ['web'] });
  await insertTarget(pool, 'another environment', { environments: ['dev'] });
  await insertTarget(pool, 'another event', { events: ['deployment.succeeded'] });
  await insertTarget(pool, 'this one', { events: ['deployment.failed'], apps: ['api', 'web'], environments: ['prod'] });
  const id = await accept();
  await endDeployment(pool, id, 'failed', 'no');
  t.same(await outbox(), { [id]: ['this one deployment.failed'] });
});

t.test('the dispatcher is notified at the commit', async (t) => {
  const { pool, accept } = await world(t);
  await insertTarget(pool, 'all');
  const id = await accept();
  const client = await pool.connect();
  try {
    await client.query('LISTEN work');
    const notification = new Promise((resolve) => client.once('notification', resolve));
    await endDeployment(pool, id, 'failed', 'no');
    t.match(await notification, { channel: 'work' });
  } finally {
    client.release(true);
  }
});
