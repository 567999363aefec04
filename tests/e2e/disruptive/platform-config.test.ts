import t from 'tap';
import { requestThroughIngress } from '../../../infra/demo/ingress.ts';
import type { PlatformConfigView } from '../../../runtime/contracts/api/platform.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../../support/platform.ts';
import { restart } from '../../support/replicas.ts';
import { targetOf } from '../../support/target/target.ts';
import { processArguments } from '../../support/process-arguments.ts';

/** Changes the settings of a running installation. At the end they are the same as at the start. */
const platform = await runningPlatform();
const kind = 'platformconfigs.platform.svc';
const processes = ['console-api', 'svc-authz'];
/** The profile that the platform was installed with, and its limits. */
const [ownProfile, profile] = platform.info.target === 'local' ? ['nano', 'nano'] : ['default', 'small'];

interface Process {
  metadata: { name: string };
  spec: { template: { spec: { containers: { name: string; command: string[] }[] } } };
}

const set = (...flags: string[]) => platform.json<PlatformConfigView>(['platform', 'config', 'set', ...flags]);
const show = () => platform.json<PlatformConfigView>(['platform', 'config', 'show']);
const get = async <T>(...args: string[]) =>
  JSON.parse((await platform.kubectl('get', ...args, '-o', 'json')).stdout) as T;
const deployments = async () => (await get<{ items: Process[] }>('-n', 'svc-system', 'deployments')).items;

/** Each process's arguments about proxies. */
async function proxyArguments(): Promise<Record<string, string>> {
  const items = await deployments();
  return Object.fromEntries(
    items.map(({ metadata, spec }) => {
      const [container] = spec.template.spec.containers;
      return [metadata.name, processArguments(container?.command).join(' ')];
    }),
  );
}

async function rolledOut(): Promise<void> {
  for (const name of processes) {
    const status = ['-n', 'svc-system', 'rollout', 'status', `deployment/${name}`, '--timeout=25s'];
    await eventually(
      () => platform.kubectl(...status),
      ({ code }) => code === 0,
    );
    // A terminating pod still serves requests from the ingress.
    await eventually(
      () =>
        get<{ items: { metadata: { deletionTimestamp?: string } }[] }>('-n', 'svc-system', 'pods', '-l', `app=${name}`),
      ({ items }) => items.every(({ metadata }) => metadata.deletionTimestamp === undefined),
    );
  }
}

/** The templates without the arguments about proxies. */
async function templates(): Promise<unknown> {
  const items = await deployments();
  return items.map(({ metadata, spec }) => {
    const { containers, ...pod } = spec.template.spec;
    const rest = containers.map(({ command, ...container }) => ({ ...container, command: command.slice(0, 4) }));
    return [metadata.name, { ...spec.template, spec: { ...pod, containers: rest } }];
  });
}

t.teardown(async () => {
  await platform.ok([
    'platform',
    'config',
    'set',
    '--no-trusted-proxies',
    '--no-private-networks',
    '--profile',
    ownProfile,
    '--pods',
    'default',
    '--container-memory',
    'default',
  ]);
  // Restored to the output of `svc install`, so that it finds nothing to change.
  const unset = { trustedProxies: null, allowPrivateNetworks: null, defaultLimits: null };
  const patch = { spec: { ...unset, ...(ownProfile === 'default' && { profile: null }) } };
  await platform.kubectl('patch', kind, 'platform', '--type=merge', '-p', JSON.stringify(patch));
  await eventually(show, ({ status }) => status === 'accepted');
  await eventually(proxyArguments, (now) => processes.every((name) => now[name] === ''));
  await rolledOut();
});

t.test('the active settings are shown, and an invalid change is refused as a whole', async (t) => {
  const before = await show();
  t.match(before, { status: 'accepted', trustedProxies: [], profile });
  const invalidConfig = await platform.svc([
    'platform',
    'config',
    'set',
    '--profile',
    'large',
    '--trusted-proxy',
    '10.0.0.1/8',
    '--allow-private-network',
    '8.8.8.0/24',
    '--memory',
    'much',
  ]);
  t.equal(invalidConfig.code, 2);
  for (const fault of [/trustedProxies\.0: .*host bits/, /allowPrivateNetworks\.0/, /defaultLimits\.memory/]) {
    t.match(invalidConfig.stderr, fault);
  }
  t.same(await show(), before);
});

t.test('limits and private networks of environments follow', async (t) => {
  const { namespace } = await testProject(t, platform);
  interface Quota {
    spec: { hard: Record<string, string> };
  }
  const quota = () => get<Quota>('-n', namespace, 'resourcequota', 'svc-environment');
  t.equal((await quota()).spec.hard['pods'], '200');
  const servers = await get<{ items: { endpoints: { addresses: string[] }[] }[] }>(
    '-n',
    'default',
    'endpointslices',
    '-l',
    'kubernetes.io/service-name=kubernetes',
  );
  const [server = ''] = servers.items.flatMap(({ endpoints }) => endpoints.flatMap(({ addresses }) => addresses));
  await set(
    '--pods',
    '150',
    '--container-memory',
    '300Mi',
    '--allow-private-network',
    '10.0.0.0/8',
    '--allow-private-network',
    '172.16.0.0/12',
    '--allow-private-network',
    '192.168.0.0/16',
  );
  await eventually(quota, ({ spec }) => spec.hard['pods'] === '150');
  interface Limits {
    spec: { limits: { default: { memory: string } }[] };
  }
  const limits = () => get<Limits>('-n', namespace, 'limitrange', 'svc-environment');
  await eventually(limits, ({ spec }) => spec.limits[0]?.default.memory === '300Mi');
  interface Policy {
    spec: { egress: { to: { ipBlock?: { cidr: string; except?: string[] } }[] }[] };
  }
  const blocksNow = async () => {
    const policy = await get<Policy>('-n', namespace, 'networkpolicy', 'svc-environment');
    return policy.spec.egress.flatMap(({ to }) => to.flatMap(({ ipBlock }) => ipBlock ?? []));
  };
  const isPrivate = ({ cidr }: { cidr: string }) => /^(10|172|192)\./.test(cidr);
  const blocks = await eventually(blocksNow, (all) => all.some(isPrivate));
  const opened = blocks.filter(isPrivate);
  t.same(
    opened.map(({ cidr }) => cidr),
    ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
  );
  const except = blocks.flatMap((block) => block.except ?? []);
  t.ok(except.includes(`${server}/32`), 'the Kubernetes API is never opened');
  t.match(await platform.json(['environment', 'show', 'prod', '--project', namespace.replace(/-prod$/, '')]), {
    limits: { pods: 150, containerMemory: '300Mi' },
  });
});

t.test('trusted proxies restart the processes that use the client’s address, and take effect', async (t) => {
  const { flags } = await testProject(t, platform);
  await platform.ok(['app', 'create', 'api', '--image', 'localhost:5000/svc/hello:v1', ...flags]);
  await platform.ok(['app', 'gate', 'enable', 'api', ...flags]);
  await platform.ok(['plan', 'create', 'wide', '--rate', '1000', '--burst', '1000', ...flags]);
  const key = await platform.ok(['key', 'create', '--plan', 'wide', '--allow', '203.0.113.0/24', ...flags]);
  const { url } = await platform.json<{ url: string }>(['app', 'show', 'api', ...flags]);
  const trusting = await targetOf(platform).trustingIngress(t);
  const account = `${uniqueName('nobody')}@example.com`;
  const signIn = async (client: string) => {
    const answer = await requestThroughIngress(trusting, `${platform.info.api}/api/v1/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'X-Forwarded-For': client },
      body: JSON.stringify({ email: account, password: 'not the password' }),
    });
    return answer.status;
  };
  const call = async (client: string) => {
    const headers = { 'X-Forwarded-For': client, 'X-API-Key': key };
    return (await requestThroughIngress(trusting, url, { headers }).catch(() => ({ status: 0 }))).status;
  };
  await eventually(
    () => call('203.0.113.7'),
    (status) => status === 401,
  );

  const before = await templates();
  await set('--trusted-proxy', '127.0.0.1');
  const argument = '--trusted-proxy 127.0.0.1/32';
  t.same(await eventually(proxyArguments, (now) => processes.every((name) => now[name] === argument)), {
    ...(await proxyArguments()),
    'svc-workers': '',
    'svc-controllers': '',
    'svc-interceptor': '',
  });
  t.same(await templates(), before, 'only the argument changed');
  await rolledOut();
  t.equal(
    await eventually(
      () => call('203.0.113.7'),
      (status) => status === 200,
    ),
    200,
    'the checkers see the client',
  );
  t.equal(await call('198.51.100.1'), 401);
  t.equal(await call('203.0.113.7, 198.51.100.1'), 401, 'and not an address that it invents');

  for (let attempt = 1; attempt <= 10; attempt++) t.equal(await signIn('198.51.100.7'), 401);
  t.equal(await signIn('198.51.100.7'), 429, 'one client is limited');
  t.equal(await signIn('203.0.113.99, 198.51.100.7'), 429, 'for any address that it claims to forward');
  t.equal(await signIn('198.51.100.8'), 401, 'and another client is not');
});

t.test('an invalid edit changes nothing, and the last valid settings survive a restart', async (t) => {
  const before = await show();
  t.same(before.trustedProxies, ['127.0.0.1/32']);
  const patch = { spec: { profile: 'large', trustedProxies: ['10.0.0.1/8'], appsDomain: 'other.example.com' } };
  await platform.kubectl('patch', kind, 'platform', '--type=merge', '-p', JSON.stringify(patch));
  const refused = await eventually(show, ({ status }) => status === 'refused');
  t.match(refused.message, /appsDomain: .*cannot be changed to/);
  t.match(refused.message, /trustedProxies\.0: .*host bits/);
  t.match({ ...refused, status: before.status, message: before.message }, before);
  const events = ['-n', 'default', 'events', '--field-selector', 'reason=SettingsRefused'];
  await eventually(
    () => get<{ items: object[] }>(...events),
    ({ items }) => items.length > 0,
  );

  await restart(platform, 'svc-controllers');
  await eventually(
    () => platform.kubectl('-n', 'svc-system', 'rollout', 'status', '--timeout=25s', 'deployment/svc-controllers'),
    ({ code }) => code === 0,
  );
  await eventually(
    () => platform.request(`${platform.info.api}/health/controllers`),
    ({ status }) => status === 200,
  );
  // The new process is ready to create a project's environment with the active settings.
  const { namespace } = await testProject(t, platform);
  const quota = await get<{ spec: { hard: object } }>('-n', namespace, 'resourcequota', 'svc-environment');
  t.match(quota.spec.hard, { pods: '150' });
  t.match((await proxyArguments())['svc-authz'], /^--trusted-proxy 127\.0\.0\.1\/32$/);
  t.match(await show(), { status: 'refused', trustedProxies: ['127.0.0.1/32'], profile });

  t.match(await set('--profile', 'medium'), { status: 'accepted', profile: 'medium' }, 'a valid change replaces it');
  t.same((await show()).trustedProxies, ['127.0.0.1/32']);
});
