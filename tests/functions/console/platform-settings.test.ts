import t from 'tap';
import {
  changedMeanwhile,
  settingGroups,
  settingsChange,
  settingText,
  type Setting,
} from '../../../functions/console/ui/platform/settings-change.ts';
import { platformConfigUpdate, type PlatformConfigView } from '../../../runtime/contracts/api/platform.ts';

const all: readonly Setting[] = Object.values(settingGroups).flat();
const config = {
  profile: 'small',
  trustedProxies: ['192.0.2.1', '192.0.2.2'],
  hostDomains: [{ domain: 'example.com', projects: ['shop', 'blog'] }, { domain: 'example.org' }],
  hostProofs: false,
  defaultLimits: { cpu: '4', pods: 20 },
  builds: { atOnce: 2, timeoutSeconds: 60, gitNetworks: [] },
} as unknown as PlatformConfigView;
const before = Object.fromEntries(all.map((setting) => [setting.path, settingText(config, setting)]));
const change = (after: Record<string, string>) => settingsChange(all, before, { ...before, ...after }, config);

t.test('settings are texts, and a list has one item on each line', (t) => {
  t.match(before, {
    profile: 'small',
    trustedProxies: '192.0.2.1\n192.0.2.2',
    hostDomains: 'example.com=shop,blog\nexample.org',
    hostProofs: 'off',
    'defaultLimits.pods': '20',
    'serviceImages.redis': '',
    'builds.gitNetworks': '',
  });
  t.end();
});

t.test('only what differs is sent, as the command line does it', (t) => {
  t.same(change({}), { body: {}, flags: [] });
  t.same(change({ trustedProxies: '192.0.2.1\n192.0.2.2\n' }), { body: {}, flags: [] }, 'a line break is no change');
  t.same(change({ 'defaultLimits.cpu': '', 'defaultLimits.pods': ' 30 ', 'builds.timeoutSeconds': '90' }), {
    body: { defaultLimits: { cpu: null, pods: 30 }, builds: { timeoutSeconds: 90 } },
    flags: ['--cpu', 'default', '--pods', '30', '--build-timeout', '90s'],
  });
  t.same(change({ trustedProxies: '', hostDomains: 'example.net = shop, blog\nexample.org', hostProofs: 'on' }), {
    body: {
      trustedProxies: [],
      hostDomains: [{ domain: 'example.net', projects: ['shop', 'blog'] }, { domain: 'example.org' }],
      hostProofs: true,
      replaces: { trustedProxies: config.trustedProxies, hostDomains: config.hostDomains },
    },
    flags: [
      ...['--no-trusted-proxies', '--host-domain', 'example.net=shop,blog', '--host-domain', 'example.org'],
      ...['--host-proofs', 'on'],
    ],
  });
  t.end();
});

t.test('a list names the list that the user has seen last, and another setting names nothing', (t) => {
  const seen = { ...config, trustedProxies: ['192.0.2.2'], profile: 'large' };
  const after = {
    ...before,
    trustedProxies: '192.0.2.2\n192.0.2.3',
    'builds.gitNetworks': '10.0.0.1',
    hostProofs: 'on',
  };
  t.same(settingsChange(all, before, after, seen).body, {
    trustedProxies: ['192.0.2.2', '192.0.2.3'],
    builds: { gitNetworks: ['10.0.0.1'] },
    hostProofs: true,
    replaces: { trustedProxies: ['192.0.2.2'], builds: { gitNetworks: [] } },
  });
  t.same(
    changedMeanwhile(all, before, seen).map(({ path }) => path),
    ['profile', 'trustedProxies'],
  );
  t.same(changedMeanwhile(all, before, config), []);
  t.end();
});

t.test('a second equals sign stays, so that the API refuses it', (t) => {
  t.same(change({ hostDomains: 'example.com=shop=blog' }).body, {
    hostDomains: [{ domain: 'example.com', projects: ['shop=blog'] }],
    replaces: { hostDomains: config.hostDomains },
  });
  t.end();
});

t.test('the API knows every setting of the form', (t) => {
  const empty = Object.fromEntries(all.map(({ path }) => [path, '']));
  const filled = Object.fromEntries(all.map(({ path }) => [path, '1']));
  for (const after of [empty, filled]) {
    const { body } = settingsChange(all, after === empty ? filled : empty, after, config);
    t.same(platformConfigUpdate.safeParse(body).error, undefined);
  }
  t.end();
});
