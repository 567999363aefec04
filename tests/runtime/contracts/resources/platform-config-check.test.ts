import t from 'tap';
import {
  checkPlatformConfig,
  newestGoodSettings,
  settingsInForce,
} from '../../../../runtime/contracts/resources/platform-config-check.ts';
import { warmPodsOf, type PlatformConfig } from '../../../../runtime/contracts/resources/platform-config.ts';
import { settings } from '../../../support/objects.ts';

const pathsOf = (checked: ReturnType<typeof checkPlatformConfig>) =>
  'faults' in checked ? checked.faults.map(({ path }) => path) : [];

t.test('valid settings return with their networks in one spelling, each once', async (t) => {
  t.same(checkPlatformConfig(settings), { spec: settings });
  const networks = ['10.0.0.0/8', '192.168.7.1', 'FD00::/8', '10.0.0.0/8'];
  t.same(checkPlatformConfig({ ...settings, trustedProxies: networks, allowPrivateNetworks: networks }), {
    spec: {
      ...settings,
      trustedProxies: ['10.0.0.0/8', '192.168.7.1/32', 'fd00::/8'],
      allowPrivateNetworks: ['10.0.0.0/8', '192.168.7.1/32', 'fd00::/8'],
    },
  });
});

t.test('every error is reported at once, whatever its kind', async (t) => {
  const invalidSettings = {
    ...settings,
    appsDomain: 'Not A Domain',
    profile: 'huge',
    trustedProxies: ['10.0.0.1/8', '192.0.2.1', 'proxy.example.com', '::/0'],
    allowPrivateNetworks: ['0.0.0.0/0', '169.254.0.0/16', '10.0.0.0/7', '127.0.0.1', '172.16.0.0/12'],
    notificationNetworks: ['8.8.8.8', '169.254.169.254', '127.0.0.0/8', '::1', '10.1.0.0/16'],
    defaultLimits: { cpu: 'all', memory: '1Ki', pods: 5, containerMemory: '8Mi', storage: '' },
  };
  t.same(pathsOf(checkPlatformConfig(invalidSettings)), [
    'profile',
    'appsDomain',
    'trustedProxies.0',
    'trustedProxies.2',
    'trustedProxies.3',
    ...[0, 1, 2, 3].map((index) => `allowPrivateNetworks.${index}`),
    ...[0, 1].map((index) => `notificationNetworks.${index}`),
    ...['cpu', 'memory', 'storage', 'containerMemory'].map((field) => `defaultLimits.${field}`),
  ]);
  t.same(pathsOf(checkPlatformConfig({ ...settings, cluster: 'x'.repeat(60) })), ['cluster']);
  for (const notAnObject of [undefined, null, 'x', []]) t.ok(pathsOf(checkPlatformConfig(notAnObject)).length > 0);
});

t.test('settings that hosts contain do not change', async (t) => {
  const inForce = { ...settings, appsDomain: 'apps.test', cluster: 'c1' };
  t.same(pathsOf(checkPlatformConfig({ ...settings, appsDomain: 'b.test', cluster: 'c2' }, inForce)), [
    'appsDomain',
    'cluster',
  ]);
  t.same(checkPlatformConfig({ ...settings, scheme: 'https' }, inForce), { spec: { ...settings, scheme: 'https' } });
});

t.test('the accepted settings are active, whatever the spec says; before that a valid spec is', async (t) => {
  const config = (spec: object, accepted?: object) =>
    ({ spec, ...(accepted && { status: { accepted: { generation: 1, spec: accepted } } }) }) as PlatformConfig;
  const invalidSettings = { ...settings, trustedProxies: ['x'] };
  const newer = { ...settings, profile: 'large' };
  t.equal(settingsInForce(undefined), undefined);
  t.same(settingsInForce(config(settings)), settings);
  t.equal(settingsInForce(config(invalidSettings)), undefined);
  t.same(settingsInForce(config(invalidSettings, settings)), settings);
  t.same(settingsInForce(config(newer, settings)), settings, 'the controllers have not checked it yet');
  t.same(newestGoodSettings(config(newer, settings)), newer, 'but the next change builds on it');
  t.same(newestGoodSettings(config(invalidSettings, settings)), settings);
  t.equal(newestGoodSettings(undefined), undefined);
});

t.test('memory limits of components are quantities, and the embedded cluster has only the stores', async (t) => {
  const paths = (monitoring: object) => pathsOf(checkPlatformConfig({ ...settings, monitoring }));
  const cluster = (memory: string) => paths({ mode: 'cluster', components: { 'metrics-store': { memory } } });
  t.same(cluster('640Mi'), []);
  for (const memory of ['much', '1Mi', '-1Gi', '']) {
    t.same(cluster(memory), ['monitoring.components.metrics-store.memory'], memory);
  }
  t.same(paths({ mode: 'elsewhere' }), ['monitoring.mode']);
  t.same(paths({ mode: 'cluster', ingressMetrics: 'http://x/' }), ['monitoring.ingressMetrics']);
  const components = {
    'metrics-store': { memory: '1Gi' },
    dashboards: { enabled: true },
    'log-store': { enabled: true },
  };
  t.same(paths({ mode: 'embedded', components }), [
    'monitoring.components.metrics-store.memory',
    'monitoring.components.dashboards.enabled',
  ]);
});

t.test('the embedded cluster has no generic pods', async (t) => {
  const embedded = { ...settings, monitoring: { mode: 'embedded' as const } };
  t.same(pathsOf(checkPlatformConfig({ ...embedded, warmPods: 1 })), ['warmPods']);
  t.same(pathsOf(checkPlatformConfig({ ...embedded, warmPods: 0 })), []);
  t.same(pathsOf(checkPlatformConfig({ ...settings, warmPods: 1 })), []);
  t.equal(warmPodsOf({ ...embedded, profile: 'large' }), 0, 'whatever its profile');
  t.equal(warmPodsOf({ ...settings, profile: 'large' }), 1);
  t.equal(warmPodsOf({ ...settings, profile: 'nano' }), 0);
  t.equal(warmPodsOf({ ...settings, profile: 'nano', warmPods: 2 }), 2);
});
