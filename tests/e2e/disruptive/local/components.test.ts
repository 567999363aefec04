import t from 'tap';
import type { PlatformStatus } from '../../../../runtime/contracts/api/platform.ts';
import { runningPlatform, testProject } from '../../../support/platform.ts';

const platform = await runningPlatform();

const states = async () => {
  const { components } = await platform.json<PlatformStatus>(['platform', 'status']);
  const stores = components.filter(({ name }) => name.endsWith('-store') || name === 'dashboards');
  return Object.fromEntries(
    stores.map(({ name, status, message }) => [name, message ? `${status}: ${message}` : status]),
  );
};
const on = { 'metrics-store': 'on', 'log-store': 'on' };

t.test('the stores are parts of the process: without a limit of their own, and without dashboards', async (t) => {
  t.same(await states(), on);
  t.match(await platform.svc(['platform', 'enable', 'dashboards']), { code: 1, stderr: /component_not_installed/ });
  const resize = await platform.svc(['platform', 'resize', 'metrics-store', '--memory', '1Gi']);
  t.match(resize, { stderr: /no memory limit/ });
  t.not(resize.code, 0);
  t.same(await states(), on);
  const namespaces = await platform.kubectl('get', 'namespaces', '-o', 'name');
  t.notMatch(namespaces.stdout, /namespace\/(monitoring|svc-log-shipper)$/m);
});

t.test('the stores are disabled and enabled, and keep or lose their data as asked', async (t) => {
  t.teardown(async () => {
    for (const name of Object.keys(on)) await platform.ok(['platform', 'enable', name]);
  });
  const { flags } = await testProject(t, platform);
  await platform.ok(['app', 'create', 'api', '--image', 'localhost:5000/svc/hello:v1', ...flags]);

  await platform.ok(['platform', 'disable', 'metrics-store']);
  await platform.ok(['platform', 'disable', 'log-store', '--delete-data', '--yes']);
  t.same(await states(), { 'metrics-store': 'disabled: its data is kept', 'log-store': 'disabled' });
  const status = await platform.svc(['status']);
  t.match(status.stdout, /^log-store +disabled/m);
  t.notMatch(status.stderr, /-store/, 'disabled is not unhealthy');
  t.match(await platform.svc(['app', 'metrics', 'api', ...flags]), { stderr: /metrics_unavailable/ });
  t.match(await platform.svc(['platform', 'alerts', 'list']), { stderr: /svc platform enable metrics-store/ });
  t.match(await platform.svc(['app', 'logs', 'api', ...flags]), { code: 0 }, 'of the pods only');

  await platform.ok(['platform', 'enable', 'metrics-store']);
  await platform.ok(['platform', 'enable', 'log-store']);
  t.same(await states(), on);
  t.match(await platform.svc(['app', 'metrics', 'api', ...flags]), { code: 0 });
  t.match(await platform.svc(['app', 'logs', 'api', ...flags]), { code: 0 });
  t.match(await platform.svc(['platform', 'alerts', 'list']), { code: 0 });
});
