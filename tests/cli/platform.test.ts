import { join } from 'node:path';
import t from 'tap';
import { selfSignedCertificate } from '../../infra/local/apiserver/certificate.ts';
import type { PlatformConfigView } from '../../runtime/contracts/api/platform.ts';
import { world } from './world.ts';

const settings: PlatformConfigView = {
  appsDomain: 'apps.example.com',
  cluster: 'home',
  scheme: 'https',
  entryPoints: ['websecure'],
  profile: 'small',
  trustedProxies: ['192.0.2.10/32'],
  allowPrivateNetworks: [],
  notificationNetworks: [],
  hostDomains: [{ domain: 'shop.example.com', projects: ['shop', 'blog'] }, { domain: 'example.org' }],
  hostProofs: true,
  defaultLimits: { cpu: '16', memory: '32Gi', storage: '200Gi', pods: 200, containerMemory: '512Mi' },
  maxLimits: { cpu: '64', memory: '128Gi', storage: '800Gi', pods: 800, containerMemory: '2Gi' },
  projectsPerUser: 20,
  warmPods: 1,
  runtimeImages: { node: 'r.example.com/f:1' },
  serviceImages: { postgres: 'r.example.com/d:1' },
  packageRegistries: { npm: 'https://npm.example.com' },
  builds: {
    image: 'r.example.com/b:1',
    registry: 'r.example.com/builds',
    gitNetworks: [],
    atOnce: 2,
    timeoutSeconds: 1500,
    keepImages: 10,
  },
  status: 'accepted',
};
const path = '/api/v1/platform/config';

t.test('config show prints the active settings, and why the last change was refused', async (t) => {
  const { run, routes } = await world(t, { [`GET ${path}`]: { body: settings } });
  const { code, stdout } = await run(['platform', 'config', 'show']);
  t.equal(code, 0);
  t.match(stdout, /Trusted proxies: +192\.0\.2\.10\/32\n/);
  t.match(stdout, /Private networks: +none\n/);
  t.match(stdout, /Host domains: +shop\.example\.com=shop,blog, example\.org\nHost proofs: +on\n/);
  t.match(stdout, /Default memory of a container: +512Mi\n/);
  t.match(stdout, /Last change: +accepted/);
  t.match(stdout, /Runtime node: +r.example.com\/f:1\nService postgres: +r.example.com\/d:1\n/);
  t.match(
    stdout,
    /npm registry: +https:\/\/npm.example.com\nPyPI index: +public\nGo proxy: +public\nCA certificates: +public\nBuilds at once: +2\n/,
  );
  t.same(JSON.parse((await run(['platform', 'config', 'show', '-o', 'json'])).stdout), settings);
  const message = 'The previous settings stay active; trustedProxies.0: "x" is not an address';
  routes[`GET ${path}`] = { body: { ...settings, status: 'refused', message } };
  t.match(
    (await run(['platform', 'config', 'show'])).stdout,
    /Last change: +refused\nMessage: .*"x" is not an address/,
  );
});

t.test('config set sends the named settings, and waits until they are active', async (t) => {
  const answers: PlatformConfigView['status'][] = ['pending', 'accepted'];
  const { run, seen } = await world(t, {
    [`PATCH ${path}`]: { body: { ...settings, status: 'pending' } },
    [`GET ${path}`]: () => ({ body: { ...settings, status: answers.shift() ?? 'accepted' } }),
  });
  const sent = async (...flags: string[]) => {
    const { code, stderr } = await run(['platform', 'config', 'set', ...flags]);
    t.equal(code, 0, stderr);
    return seen.findLast(({ method }) => method === 'PATCH')?.body;
  };
  t.same(await sent('--profile', 'large', '--trusted-proxy', '192.0.2.1', '--trusted-proxy', '10.0.0.0/8'), {
    profile: 'large',
    trustedProxies: ['192.0.2.1', '10.0.0.0/8'],
  });
  t.same(answers, [], 'it polled until the settings were accepted');
  t.same(await sent('--no-trusted-proxies', '--allow-private-network', '10.1.0.0/16'), {
    trustedProxies: [],
    allowPrivateNetworks: ['10.1.0.0/16'],
  });
  t.same(await sent('--memory', '64Gi', '--pods', '50', '--container-memory', 'default', '--no-private-networks'), {
    allowPrivateNetworks: [],
    defaultLimits: { memory: '64Gi', pods: 50, containerMemory: null },
  });
  t.same(await sent('--notification-network', '10.1.7.0/24'), { notificationNetworks: ['10.1.7.0/24'] });
  t.same(await sent('--no-notification-networks'), { notificationNetworks: [] });
  t.same(await sent('--host-domain', 'example.com=shop,blog', '--host-domain', 'example.org', '--host-proofs', 'off'), {
    hostDomains: [{ domain: 'example.com', projects: ['shop', 'blog'] }, { domain: 'example.org' }],
    hostProofs: false,
  });
  t.same(await sent('--no-host-domains'), { hostDomains: [] });
  t.same(await sent('--max-cpu', '8', '--max-pods', 'default', '--projects-per-user', '5', '--warm-pods', '2'), {
    maxLimits: { cpu: '8', pods: null },
    projectsPerUser: 5,
    warmPods: 2,
  });
  t.same(await sent('--build-timeout', '45m'), { builds: { timeoutSeconds: 2700 } });
  t.same(await sent('--keep-images', '3'), { builds: { keepImages: 3 } });
  t.same(await sent('--build-timeout', 'default'), { builds: { timeoutSeconds: null } });
  t.same(await sent('--builds-at-once', '4', '--git-network', '10.1.8.0/24', '--image-mongodb', 'mongo:8'), {
    serviceImages: { mongodb: 'mongo:8' },
    builds: { atOnce: 4, gitNetworks: ['10.1.8.0/24'] },
  });
  t.same(await sent('--builds-at-once', 'default', '--no-git-networks', '--npm-registry', 'default'), {
    packageRegistries: { npm: null },
    builds: { atOnce: null, gitNetworks: [] },
  });
  t.same(await sent('--profile', 'default', '--pods', 'default', '--no-wait'), {
    profile: null,
    defaultLimits: { pods: null },
  });
});

t.test('config set prints every error of the platform, and refuses impossible values itself', async (t) => {
  const issues = [
    { path: 'profile', message: 'Invalid option' },
    { path: 'trustedProxies.0', message: '"x" is not an address' },
  ];
  const apiFailure = { code: 'invalid_value', message: 'The settings are not valid: profile: …', details: { issues } };
  const { run, seen } = await world(t, { [`PATCH ${path}`]: { status: 422, body: apiFailure } });
  t.match(await run(['platform', 'config', 'set', '--trusted-proxy', 'x']), {
    code: 2,
    stderr: /not valid: profile.*\nhint: also trustedProxies\.0: "x" is not an address/,
  });
  const before = seen.length;
  for (const [flags, stderr] of [
    [[], /Nothing to change/],
    [['--pods', 'many'], /--pods must be a whole number from 1 to 10000, not "many"/],
    [['--builds-at-once', 'many'], /--builds-at-once must be a whole number from 1 to 100, not "many"/],
    [['--keep-images', '0'], /--keep-images must be a whole number from 1 to 500, not "0"/],
    [['--build-timeout', 'long'], /--build-timeout must be a duration from 10s to 1d, such as .*, not "long"/],
    [['--build-timeout', '5s'], /--build-timeout must be a duration from 10s to 1d, such as .*, not "5s"/],
    [['--build-timeout', '25h'], /--build-timeout must be a duration from 10s to 1d, such as .*, not "25h"/],
    [['--npm-registry', ''], /--npm-registry needs a value, but the value is empty/],
    [['--host-domain', 'example.com='], /--host-domain takes <domain>=<project>,…, not "example.com="/],
    [['--git-network', ''], /--git-network needs a value, but the value is empty/],
    [['--trusted-proxy', '10.0.0.1', '--no-trusted-proxies'], /set and clear the same list/],
  ] as const) {
    t.match(await run(['platform', 'config', 'set', ...flags]), { code: 2, stderr });
  }
  t.equal(seen.length, before);
});

t.test('config set ends with 1 when the controllers refuse the new settings', async (t) => {
  const { run } = await world(t, {
    [`PATCH ${path}`]: { body: { ...settings, status: 'pending' } },
    [`GET ${path}`]: { body: { ...settings, status: 'refused', message: 'The previous settings stay active; …' } },
  });
  t.match(await run(['platform', 'config', 'set', '--profile', 'large']), { code: 1, stderr: /stay active/ });
});

t.test('config set sends the CA certificates of a file, and refuses one without', async (t) => {
  const { run, seen } = await world(t, { [`PATCH ${path}`]: { body: settings }, [`GET ${path}`]: { body: settings } });
  const { certificate, key } = selfSignedCertificate('Own Root', { names: [], addresses: [] }, new Date());
  const folder = t.testdir({ 'ca.pem': `# our root\n${certificate}`, 'key.pem': key });
  const set = (file: string) => run(['platform', 'config', 'set', '--ca-file', file]);
  t.equal((await set(join(folder, 'ca.pem'))).code, 0);
  t.equal((await set('default')).code, 0);
  t.same(
    seen.filter(({ method }) => method === 'PATCH').map(({ body }) => body),
    [{ caCertificates: certificate }, { caCertificates: null }],
  );
  t.match(await set(join(folder, 'key.pem')), { code: 2, stderr: /--ca-file .*key\.pem: contains a private key/ });
  t.match(await set(join(folder, 'none.pem')), { code: 2, stderr: /Cannot read .*none\.pem/ });
});
