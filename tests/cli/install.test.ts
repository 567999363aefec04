import t from 'tap';
import { world } from './world.ts';
import { processArguments } from '../support/process-arguments.ts';

interface Manifest {
  kind: string;
  metadata: { name: string };
  spec: {
    replicas?: number;
    ingressAddress?: string;
    profile?: string;
    trustedProxies?: string[];
    template: { spec: { containers: { command: string[] }[] } };
  };
}

const install = [
  'install',
  '--apps-domain',
  'apps.example.com',
  '--cluster',
  'home',
  '--registry',
  'r.example.com',
  '--dry-run',
];

t.test('flags about the ingress and the proxies are in the manifests', async (t) => {
  const { run } = await world(t);
  const printManifests = async (...flags: string[]) => {
    const { code, stdout, stderr } = await run([...install, '-o', 'json', ...flags]);
    t.equal(code, 0, stderr);
    const { items } = JSON.parse(stdout) as { items: Manifest[] };
    const find = (kind: string, name: string) =>
      items.find((item) => item.kind === kind && item.metadata.name === name);
    return {
      settings: find('PlatformConfig', 'platform')?.spec,
      command: processArguments(find('Deployment', 'svc-authz')?.spec.template.spec.containers[0]?.command),
      checkers: find('Deployment', 'svc-authz')?.spec.replicas,
      scraped: find('PodMonitor', 'svc-authz') !== undefined,
      stderr,
    };
  };
  t.match(await printManifests(), {
    settings: { ingressAddress: undefined },
    command: [],
    scraped: false,
    stderr: /--ingress-address/,
  });
  const output = await printManifests(
    '--ingress-address',
    'http://traefik.traefik.svc:80/',
    '--scrape',
    '--profile',
    'nano',
    '--trusted-proxy',
    '10.0.0.0/8',
    '--trusted-proxy',
    '2001:DB8::7',
    '--trusted-proxy',
    '10.0.0.0/8',
  );
  t.match(output, { scraped: true, stderr: '' });
  t.match(output.settings, { ingressAddress: 'http://traefik.traefik.svc:80', profile: 'nano' });
  t.equal(output.checkers, 2, 'also with the smallest profile');
  t.same(output.settings?.trustedProxies, ['10.0.0.0/8', '2001:db8::7/128']);
  t.same(output.command, ['--trusted-proxy', '10.0.0.0/8', '--trusted-proxy', '2001:db8::7/128']);
});

t.test('the address of the metrics store is in the environment of console-api', async (t) => {
  const { run } = await world(t);
  const addressWith = async (...flags: string[]) => {
    const { stdout } = await run([...install, '-o', 'json', ...flags]);
    return /"METRICS_STORE_URL",\s*"value": "([^"]*)"/.exec(stdout)?.[1];
  };
  t.equal(await addressWith(), 'http://prometheus.monitoring.svc:9090');
  for (const url of ['http://victoria.monitoring.svc:8428/prometheus', 'ring+http://127.0.0.1:15100']) {
    t.equal(await addressWith('--metrics-store-url', url), url);
  }
});

t.test('impossible settings are refused before anything is done', async (t) => {
  const { run } = await world(t);
  const cases: [string[], RegExp][] = [
    [['--ingress-address', 'traefik.traefik.svc'], /--ingress-address takes the address .*\nhint: such as http:/],
    [['--ingress-address', 'http://traefik/path'], /--ingress-address takes/],
    [['--ingress-address', 'ftp://traefik'], /--ingress-address takes/],
    [['--trusted-proxy', '10.0.0.1/8'], /--trusted-proxy 10.0.0.1\/8: .*the network is 10.0.0.0\/8/],
    [['--trusted-proxy', 'proxy.example.com'], /is not an address/],
    [['--trusted-proxy', '0.0.0.0/0'], /trustedProxies\.0: .*matches all addresses/],
    [['--metrics-store-url', 'prometheus:9090'], /--metrics-store-url takes the address .*\nhint: such as http:/],
    [['--metrics-store-url', 'http://admin:pass@prometheus:9090'], /--metrics-store-url takes/],
    [['--metrics-store-url', 'http://prometheus:9090/?x'], /--metrics-store-url takes/],
    [['--profile', 'huge'], /--profile must be one of nano, small/],
  ];
  for (const [flags, stderr] of cases) {
    t.match(await run([...install, ...flags]), { code: 2, stdout: '', stderr }, flags.join(' '));
  }
});

t.test('settings that only builds use are refused without builds, naming the command', async (t) => {
  const { run } = await world(t);
  const images = ['platform', 'function-node', 'postgres', 'redis'].flatMap((name) => [
    `--image-${name}`,
    'r.test/x:1',
  ]);
  for (const flags of [
    ['--builds-at-once', '4'],
    ['--build-timeout', '1h'],
  ]) {
    const ran = await run(['install', '--apps-domain', 'a.test', '--cluster', 'c', ...images, ...flags]);
    t.match(ran, { code: 2, stderr: /require an image and a registry.*svc platform config set/s });
  }
});
