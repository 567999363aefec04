import t from 'tap';
import type { PlatformStatus } from '../../../runtime/contracts/api/platform.ts';
import { runningPlatform } from '../../support/platform.ts';

const platform = await runningPlatform();

t.test('the stores are parts of the process: they are on, and cannot be switched off', async (t) => {
  const states = async () => {
    const { components } = await platform.json<PlatformStatus>(['platform', 'status']);
    const stores = components.filter(({ name }) => name.endsWith('-store') || name === 'dashboards');
    return Object.fromEntries(stores.map(({ name, status }) => [name, status]));
  };
  t.same(await states(), { 'metrics-store': 'on', 'log-store': 'on' });
  for (const change of [
    ['disable', 'log-store'],
    ['enable', 'dashboards'],
    ['resize', 'metrics-store', '--memory', '1Gi'],
  ]) {
    const refusal = await platform.svc(['platform', ...change]);
    t.match(refusal, { code: 1, stderr: /component_not_installed/ }, change.join(' '));
  }
  t.same(await states(), { 'metrics-store': 'on', 'log-store': 'on' });
  const namespaces = await platform.kubectl('get', 'namespaces', '-o', 'name');
  t.notMatch(namespaces.stdout, /namespace\/(monitoring|svc-log-shipper)$/m);
});
