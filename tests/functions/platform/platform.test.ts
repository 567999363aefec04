import t from 'tap';
import { createPlatformRoutes } from '../../../functions/platform/handler.ts';
import { selfSignedCertificate } from '../../../infra/local/apiserver/certificate.ts';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { PlatformConfig } from '../../../runtime/contracts/resources/platform-config.ts';
import { createEventRecorder } from '../../../runtime/kube/events.ts';
import { platformConfigController } from '../../../workers/controllers/platform-config.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { recordingLog, silentLog } from '../../support/log.ts';
import { platformConfigObject, settings } from '../../support/objects.ts';

const path = '/api/v1/platform/config';

async function setUp(test: Parameters<typeof testApi>[0]) {
  const kube = fakeKube();
  const recorded = recordingLog();
  const { log } = recorded;
  const routes = createPlatformRoutes({
    version: '1.2.3',
    kube,
    components: {
      database: () => Promise.resolve({ status: 'on' }),
      controllers: () => Promise.resolve({ status: 'unhealthy', message: 'why' }),
      'log-store': () => Promise.resolve({ status: 'disabled' }),
      other: () => Promise.reject(new Error('down')),
    },
    nodes: () => Promise.resolve([{ name: 'n1', ready: true, addresses: ['10.0.0.1'] }]),
  });
  const api = await testApi(test, { routes, log });
  const clock = fakeClock();
  const { definition } = platformConfigController({
    kube,
    clock,
    events: createEventRecorder({ kube, component: 'svc-controllers', clock, log: silentLog }),
    onChange: () => undefined,
  });
  const stored = () => kube.all<PlatformConfig>(kinds.PlatformConfig)[0];
  return {
    kube,
    api,
    entries: () => recorded.entries.filter(({ msg }) => msg !== 'request'),
    stored,
    write: (spec: object) => kube.mergePatch({ ...platformConfigObject, name: 'platform' }, { spec }),
    /** Does what the controllers do once they see the settings. */
    runController: async () => {
      const object: Stored<PlatformConfig> | undefined = stored();
      await definition.reconcile({ name: 'platform', object, signal: new AbortController().signal, log: silentLog });
    },
  };
}

t.test('status: version, settings, and working components; 503 before the installation wrote any', async (t) => {
  const { kube, api } = await setUp(t);
  const status = () => api.call('GET', '/api/v1/platform/status');
  t.match(await status(), { status: 503, body: { code: 'unavailable' } });
  kube.seed(platformConfigObject);
  t.same((await status()).body, {
    version: '1.2.3',
    cluster: 'c1',
    appsDomain: 'apps.test',
    components: [
      { name: 'database', status: 'on' },
      { name: 'controllers', status: 'unhealthy', message: 'why' },
      { name: 'log-store', status: 'disabled' },
      { name: 'other', status: 'unhealthy' },
    ],
    nodes: [{ name: 'n1', ready: true, addresses: ['10.0.0.1'] }],
  });
  t.equal((await api.call('GET', '/api/v1/platform/status', { headers: { authorization: '' } })).status, 401);
});

t.test('config: the active settings with their defaults, and the result of the last change', async (t) => {
  const { kube, api, write, runController } = await setUp(t);
  const read = async () => (await api.call('GET', path)).body as object;
  t.match(await api.call('GET', path), { status: 503, body: { code: 'unavailable' } });
  kube.seed(platformConfigObject);
  t.match(await read(), { status: 'pending', profile: 'small' });
  await runController();
  t.same(await read(), {
    appsDomain: 'apps.test',
    cluster: 'c1',
    scheme: 'http',
    entryPoints: ['web'],
    profile: 'small',
    trustedProxies: [],
    allowPrivateNetworks: [],
    notificationNetworks: [],
    hostDomains: settings.hostDomains,
    hostProofs: true,
    defaultLimits: { cpu: '16', memory: '32Gi', storage: '200Gi', pods: 200, containerMemory: '512Mi' },
    maxLimits: { cpu: '64', memory: '128Gi', storage: '800Gi', pods: 800, containerMemory: '2Gi' },
    projectsPerUser: 20,
    warmPods: 1,
    runtimeImages: settings.runtimeImages,
    ...(settings.serviceImages && { serviceImages: settings.serviceImages }),
    status: 'accepted',
  });
  await write({ profile: 'large', trustedProxies: ['x'] });
  await runController();
  t.match(await read(), { profile: 'small', trustedProxies: [], status: 'refused', message: /trustedProxies\.0/ });
});

t.test('a change sets the named settings, null restores the default, and nothing else changes', async (t) => {
  const { kube, api, stored, runController, entries } = await setUp(t);
  kube.seed(platformConfigObject);
  const change = async (body: object) => {
    const answer = await api.call('PATCH', path, { body });
    t.equal(answer.status, 200, answer.text);
    await runController();
    return answer.body as object;
  };
  const trustedProxies = ['192.0.2.1', '10.0.0.0/8'];
  t.match(await change({ profile: 'medium', trustedProxies, defaultLimits: { pods: 20, memory: '64Gi' } }), {
    status: 'pending',
  });
  t.match((await api.call('GET', path)).body, {
    profile: 'medium',
    trustedProxies: ['192.0.2.1/32', '10.0.0.0/8'],
    defaultLimits: { pods: 20, memory: '64Gi', cpu: '16' },
    status: 'accepted',
  });
  await change({ allowPrivateNetworks: ['10.1.0.0/16'], defaultLimits: { memory: null }, appsDomain: 'apps.test' });
  await change({ profile: null, trustedProxies: null });
  t.same(stored()?.spec, { ...settings, allowPrivateNetworks: ['10.1.0.0/16'], defaultLimits: { pods: 20 } });
  await change({ defaultLimits: null, allowPrivateNetworks: [] });
  t.same(stored()?.spec, { ...settings, allowPrivateNetworks: [] });
  t.match(entries(), [{ msg: 'audit', actor: 'admin@svc.local', change: { profile: 'medium' } }]);
});

t.test('images of services, package registries and builds are set by their parts', async (t) => {
  const { kube, api, stored, runController } = await setUp(t);
  kube.seed(platformConfigObject);
  const change = (body: object) => api.call('PATCH', path, { body });
  t.match(await change({ builds: { atOnce: 4 } }), { status: 422, body: { message: /svc install --image-builder/ } });
  const builds = { image: 'r.test/b:1', registry: 'r.test/builds', baseImages: {} };
  await kube.mergePatch({ ...platformConfigObject, name: 'platform' }, { spec: { builds } });
  const npm = 'https://npm.example.com';
  t.match(
    await change({
      serviceImages: { mysql: 'r.test/m:2', redis: 'r.test/r:2' },
      packageRegistries: { npm },
      builds: { atOnce: 4, timeoutSeconds: 600, keepImages: 3, gitNetworks: ['10.20.0.1', '10.20.0.1/32'] },
    }),
    { status: 200 },
  );
  await runController();
  t.match((await api.call('GET', path)).body, {
    serviceImages: { mysql: 'r.test/m:2', redis: 'r.test/r:2' },
    packageRegistries: { npm },
    builds: {
      image: 'r.test/b:1',
      registry: 'r.test/builds',
      atOnce: 4,
      timeoutSeconds: 600,
      keepImages: 3,
      gitNetworks: ['10.20.0.1/32'],
    },
    status: 'accepted',
  });
  const unset = { atOnce: null, timeoutSeconds: null, keepImages: null };
  await change({ serviceImages: { redis: null }, packageRegistries: { npm: null }, builds: unset });
  t.match(stored()?.spec, {
    serviceImages: { mysql: 'r.test/m:2' },
    builds: { ...builds, gitNetworks: ['10.20.0.1/32'] },
  });
  t.notHas(stored()?.spec.serviceImages, 'redis');
  t.notHas(stored()?.spec.builds, 'atOnce');
  t.notHas(stored()?.spec.builds, 'timeoutSeconds');
  const before = stored();
  for (const body of [
    { serviceImages: { mysql: 'no tag' } },
    { packageRegistries: { npm: 'ftp://x' } },
    { builds: { atOnce: 0 } },
    { builds: { timeoutSeconds: 9 } },
    { builds: { keepImages: 0 } },
    { builds: { timeoutSeconds: 86_401 } },
    { builds: { gitNetworks: ['x'] } },
  ]) {
    t.match(await change(body), { status: 422, body: { code: 'invalid_value' } }, JSON.stringify(body));
  }
  t.match(await change({ builds: { image: 'r.test/b:2' } }), { status: 400 }, 'which is for svc install');
  t.same(stored(), before);
});

t.test('CA certificates are stored without the text around them, and anything else is refused', async (t) => {
  const { kube, api, stored, runController, entries } = await setUp(t);
  kube.seed(platformConfigObject);
  const change = (caCertificates: string | null) => api.call('PATCH', path, { body: { caCertificates } });
  const own = selfSignedCertificate('Own Root', { names: [], addresses: [] }, new Date('2026-01-01T00:00:00Z'));
  const pem = own.certificate;
  t.match(await change(`subject: Own Root\n${pem}\n`), { status: 200, body: { caCertificates: pem } });
  t.equal(stored()?.spec.caCertificates, pem);
  await runController();
  t.match((await api.call('GET', path)).body, { caCertificates: pem, status: 'accepted' });
  t.match(entries(), [{ change: { caCertificates: [/^CN=Own Root \(expires 2036-01-01\)$/] } }]);
  const before = stored();
  for (const [text, message] of [
    ['nonsense', /caCertificates: contains no certificate in PEM form/],
    [`${own.key}${pem}`, /contains a private key/],
    [pem.slice(0, 200), /the certificate cannot be read/],
    [`${pem}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`, /certificate 2 of 2 cannot be read/],
    [`${pem}${' '.repeat(65_536)}`, /more than 64 KiB|65536|Too big/],
  ] as const) {
    t.match(await change(text), { status: 422, body: { code: 'invalid_value', message } });
  }
  t.same(stored(), before);
  t.match(await change(null), { status: 200 });
  t.notHas(stored()?.spec, 'caCertificates');
});

t.test('422 names every bad setting, and nothing is written', async (t) => {
  const { kube, api, stored, runController } = await setUp(t);
  kube.seed(platformConfigObject);
  await runController();
  const before = stored();
  const answer = await api.call('PATCH', path, {
    body: {
      profile: 'huge',
      trustedProxies: ['192.0.2.1', '0.0.0.0/0'],
      allowPrivateNetworks: ['8.8.8.8'],
      defaultLimits: { cpu: 'all', pods: 0 },
      appsDomain: 'other.test',
      cluster: 'c1',
    },
  });
  t.match(answer, { status: 422, body: { code: 'invalid_value' } });
  const paths = (answer.body as { details: { issues: { path: string }[] } }).details.issues.map(({ path: at }) => at);
  t.same(paths.sort(), [
    'allowPrivateNetworks.0',
    'appsDomain',
    'defaultLimits.cpu',
    'defaultLimits.pods',
    'profile',
    'trustedProxies.1',
  ]);
  t.same(stored(), before);
  for (const body of [undefined, {}, { scheme: 'http' }, { trustedProxies: 'x' }, { defaultLimits: { gpu: '1' } }]) {
    t.match(await api.call('PATCH', path, body && { body }), { status: 400, body: { code: 'invalid_request' } });
  }
  t.same(stored(), before);
});

t.test('a change replaces an edit that was refused, and builds on one that is not checked yet', async (t) => {
  const { kube, api, stored, write, runController } = await setUp(t);
  kube.seed(platformConfigObject);
  await runController();
  await write({ profile: 'large', trustedProxies: ['x'] });
  await runController();
  t.match(await api.call('PATCH', path, { body: { defaultLimits: { pods: 7 } } }), { status: 200 });
  t.same(stored()?.spec, { ...settings, defaultLimits: { pods: 7 } });
  await write({ profile: 'large' });
  t.match(await api.call('PATCH', path, { body: { allowPrivateNetworks: ['10.0.0.0/8'] } }), { status: 200 });
  t.match(stored()?.spec, { profile: 'large', allowPrivateNetworks: ['10.0.0.0/8'] });
});

t.test('two concurrent changes are both applied', async (t) => {
  const { kube, api, stored, write } = await setUp(t);
  kube.seed(platformConfigObject);
  kube.intercept = async ({ verb }) => {
    if (verb !== 'replace') return;
    kube.intercept = undefined;
    await write({ profile: 'large' });
  };
  t.match(await api.call('PATCH', path, { body: { trustedProxies: ['192.0.2.1'] } }), { status: 200 });
  t.match(stored()?.spec, { profile: 'large', trustedProxies: ['192.0.2.1/32'] });
});

t.test('409: a request that names the lists that it replaces keeps what others made of them', async (t) => {
  const { kube, api, stored, write, runController, entries } = await setUp(t);
  kube.seed(platformConfigObject);
  const builds = { image: 'r.test/b:1', registry: 'r.test/builds', baseImages: {} };
  await write({ builds });
  await runController();
  const seen = { trustedProxies: [], hostDomains: settings.hostDomains ?? [], builds: { gitNetworks: [] } };
  const change = (body: object, replaces: object) => api.call('PATCH', path, { body: { ...body, replaces } });
  t.match(await change({ trustedProxies: ['192.0.2.1', '192.0.2.2'], profile: 'medium' }, seen), { status: 200 });
  // It is not active yet, so a reader still sees the list before it.
  const refused = (message: RegExp) => ({ status: 409, body: { code: 'conflict', message } });
  t.match(await change({ trustedProxies: ['192.0.2.3'] }, seen), refused(/trustedProxies.*svc platform config show/));
  await runController();
  const { trustedProxies } = (await api.call('GET', path)).body as { trustedProxies: string[] };
  t.match(await change({ hostDomains: [] }, { hostDomains: seen.hostDomains }), { status: 200 }, 'others may differ');
  t.match(
    await change({ hostDomains: [{ domain: 'x.test' }] }, { hostDomains: seen.hostDomains }),
    refused(/hostDomains/),
  );
  t.match(await change({ builds: { gitNetworks: ['10.20.0.1'] } }, { builds: seen.builds }), { status: 200 });
  t.match(await change({ builds: { gitNetworks: [] } }, { builds: seen.builds }), refused(/builds\.gitNetworks/));
  t.match(await change({}, { trustedProxies }), { status: 400 }, 'it changes nothing');
  // Another admin removes a proxy while this request is under way.
  kube.intercept = async ({ verb }) => {
    if (verb !== 'replace') return;
    kube.intercept = undefined;
    await write({ trustedProxies: ['192.0.2.2/32'] });
  };
  t.match(
    await change({ trustedProxies: [...trustedProxies, '192.0.2.3'] }, { trustedProxies }),
    refused(/trustedProxies/),
  );
  t.same(stored()?.spec, {
    ...settings,
    profile: 'medium',
    trustedProxies: ['192.0.2.2/32'],
    hostDomains: [],
    builds: { ...builds, gitNetworks: ['10.20.0.1/32'] },
  });
  t.notMatch(JSON.stringify(entries()), 'replaces');
});

t.test('409 when concurrent writers do not stop', async (t) => {
  const { kube, api, stored, write } = await setUp(t);
  kube.seed(platformConfigObject);
  let pods = 1;
  kube.intercept = async ({ verb }) => {
    if (verb === 'replace') await write({ defaultLimits: { pods: (pods += 1) } });
  };
  t.match(await api.call('PATCH', path, { body: { profile: 'large' } }), { status: 409, body: { code: 'conflict' } });
  t.notHas(stored()?.spec, 'profile');
});
