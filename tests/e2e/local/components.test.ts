import t from 'tap';
import type { PlatformStatus } from '../../../runtime/contracts/api/platform.ts';
import { runningPlatform } from '../../support/platform.ts';

const platform = await runningPlatform();

t.test('the stores are parts of the process: they are on, and can be switched off and on', async (t) => {
  const states = async () => {
    const { components } = await platform.json<PlatformStatus>(['platform', 'status']);
    const stores = components.filter(({ name }) => name.endsWith('-store') || name === 'dashboards');
    return Object.fromEntries(stores.map(({ name, status }) => [name, status]));
  };
  t.same(await states(), { 'metrics-store': 'on', 'log-store': 'on' });
  await platform.ok(['platform', 'disable', 'log-store']);
  t.teardown(() => platform.ok(['platform', 'enable', 'log-store']));
  t.same(await states(), { 'metrics-store': 'on', 'log-store': 'disabled' });
  t.match(await platform.svc(['platform', 'enable', 'dashboards']), { code: 1, stderr: /component_not_installed/ });
  t.match(await platform.svc(['platform', 'resize', 'metrics-store', '--memory', '1Gi']), {
    code: 2,
    stderr: /no memory limit/,
  });
  const namespaces = await platform.kubectl('get', 'namespaces', '-o', 'name');
  t.notMatch(namespaces.stdout, /namespace\/(monitoring|svc-log-shipper)$/m);
});
