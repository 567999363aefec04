import t from 'tap';
import { world } from './world.ts';

const path = '/api/v1/platform/notifications';
const view = {
  id: '019a0000-0000-7000-8000-000000000001',
  name: 'ops',
  url: 'https://hooks.example.com/svc',
  events: ['alert.firing', 'alert.resolved'],
  enabled: true,
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
};
const group = ['platform', 'notification'];

t.test('notifications of the platform are managed without a project', async (t) => {
  const { run, seen } = await world(t, {
    [`POST ${path}`]: { status: 201, body: { ...view, secret: 'whsec_x' } },
    [`GET ${path}`]: { body: { items: [view] } },
    [`GET ${path}/ops`]: { body: view },
    [`PATCH ${path}/ops`]: { body: { ...view, enabled: false } },
    [`POST ${path}/ops/rotate`]: { body: { ...view, secret: 'whsec_y' } },
    [`POST ${path}/ops/test`]: { status: 202, body: { id: view.id, status: 'pending', statusUrl: 'x' } },
    [`GET ${path}/ops/deliveries`]: { body: { items: [] } },
    [`DELETE ${path}/ops`]: { status: 204 },
  });
  const created = await run([...group, 'create', 'ops', '--url', view.url, '--event', 'firing']);
  t.match(created, { code: 0, stdout: /whsec_x/ });
  t.same(seen.at(-1)?.body, { name: 'ops', url: view.url, events: ['alert.firing'] });
  t.match(await run([...group, 'list']), { code: 0, stdout: /ops +enabled +alert\.firing,alert\.resolved/ });
  t.match(await run([...group, 'show', 'ops']), { code: 0, stdout: /Events: +alert\.firing/ });
  t.match(await run([...group, 'disable', 'ops']), { code: 0, stdout: /disabled/ });
  t.match(await run([...group, 'update', 'ops']), { code: 2, stderr: /Nothing to change/ });
  t.match(await run([...group, 'update', 'ops', '--url', view.url]), { code: 0 });
  t.match(await run([...group, 'rotate', 'ops']), { code: 0, stdout: /whsec_y/ });
  t.match(await run([...group, 'test', 'ops', '--no-wait']), { code: 0, stdout: /is accepted/ });
  t.match(await run([...group, 'deliveries', 'ops']), { code: 0 });
  t.match(await run([...group, 'delete', 'ops', '--yes']), { code: 0, stderr: /ops/ });
  t.ok(seen.every(({ path: target }) => target.startsWith(path)));
});
