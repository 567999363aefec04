import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { identify, isAlive, parseStat } from '../../infra/process-record.ts';
import { buildDigest, buildParameters, tools } from '../../infra/testcluster/binaries.ts';
import {
  certificateConfiguration,
  certificateRequests,
  opensslParameters,
} from '../../infra/testcluster/certificates.ts';
import { paths } from '../../infra/testcluster/cluster.ts';
import { components, tokenIssuer } from '../../infra/testcluster/components.ts';
import { configurationFiles, pauseImage } from '../../infra/testcluster/configuration.ts';
import { ownRules, removalScript } from '../../infra/testcluster/firewall.ts';
import { hasCondition, summarise } from '../../infra/testcluster/health.ts';
import { imageConfiguration } from '../../infra/testcluster/images.ts';
import { kubeconfig } from '../../infra/testcluster/kubeconfig.ts';
import { dnsObjects } from '../../infra/testcluster/manifests/dns.ts';
import { ingressObjects, traefikParameters } from '../../infra/testcluster/manifests/ingress.ts';
import { mountsUnder } from '../../infra/testcluster/mounts.ts';
import { contains, linkCommands } from '../../infra/testcluster/network.ts';
import { listenersAt } from '../../infra/testcluster/ports.ts';
import { requireFitMachine } from '../../infra/testcluster/preflight.ts';
import { readRecords, startDetached, stopAll } from '../../infra/testcluster/processes.ts';
import { lineProgress } from '../../infra/testcluster/progress.ts';
import { defaultHome, defaultIngressPorts, layoutOf, network, node, ports } from '../../infra/testcluster/settings.ts';

const layout = layoutOf('/home/someone/testcluster');
const machine = { resolverFile: '/etc/resolv.conf', bridgeTrafficFiltered: true };

function parametersOf(name: string): readonly string[] {
  return components(layout).find((component) => component.name === name)?.parameters ?? [];
}

function configurationOf(path: string, of = machine): Record<string, unknown> {
  const file = configurationFiles(layout, of).find((each) => each.path === path);
  return JSON.parse(file?.text ?? '{}') as Record<string, unknown>;
}

function certificateOf(name: string): string {
  const request = certificateRequests.find((each) => each.name === name);
  assert(request);
  return certificateConfiguration(request);
}

function objectThatIsReady(status: string): string {
  return JSON.stringify({ status: { conditions: [{ type: 'Ready', status }] } });
}

t.test('the home folder is the one in the environment variable, or one in the cache', async (t) => {
  t.equal(defaultHome({ SVC_TESTCLUSTER_HOME: '/data/cluster' }), '/data/cluster');
  t.match(defaultHome({ SVC_TESTCLUSTER_HOME: '' }), /\/\.cache\/svc\/testcluster$/);
});

t.test('paths are known before the cluster exists, and reading them creates nothing', async (t) => {
  const home = join(t.testdir(), 'not-there');
  t.match(paths({ home }), {
    kubeconfig: join(home, 'run', 'kubeconfig'),
    registry: 'localhost:5000',
    ingressPort: 18080,
    ingressTlsPort: 18443,
    binDir: join(home, 'run', 'bin'),
    containerdSocket: join(home, 'run', 'containerd.sock'),
  });
  t.throws(() => readFileSync(home), { code: 'ENOENT' });
});

t.test('paths contain the ports of the running cluster', async (t) => {
  const home = t.testdir({ run: { 'state.json': JSON.stringify({ ingress: { web: 81, websecure: 82, admin: 83 } }) } });
  t.match(paths({ home }), { ingressPort: 81, ingressTlsPort: 82 });
});

t.test('every component keeps its files under the home folder and listens only on this machine', async (t) => {
  t.strictSame(
    components(layout).map(({ name }) => name),
    [
      'etcd',
      'containerd',
      'registry',
      'kube-apiserver',
      'kube-controller-manager',
      'kube-scheduler',
      'kubelet',
      'kube-proxy',
      'volume-provisioner',
    ],
  );
  const all = components(layout).flatMap(({ parameters }) => parameters);
  for (const [, path = ''] of all.map((each) => /^(?:--[a-z-]+=)?(\/.*)$/.exec(each) ?? [])) {
    if (path !== '') t.ok(path.startsWith(layout.run), path);
  }
  t.ok(parametersOf('etcd').includes('--listen-client-urls=https://127.0.0.1:2379'));
  t.ok(parametersOf('etcd').includes('--client-cert-auth=true'));
  for (const name of ['kube-controller-manager', 'kube-scheduler']) {
    t.ok(parametersOf(name).includes('--bind-address=127.0.0.1'), name);
    t.ok(parametersOf(name).includes('--leader-elect=false'), name);
  }
});

t.test('the API server uses roles, verifies kubelets, and issues tokens for an audience', async (t) => {
  const parameters = parametersOf('kube-apiserver');
  t.ok(parameters.includes('--authorization-mode=Node,RBAC'));
  t.ok(parameters.includes(`--kubelet-certificate-authority=${layout.pki}/ca.crt`));
  t.ok(parameters.includes(`--service-account-issuer=${tokenIssuer}`));
  t.notOk(parameters.some((each) => each.includes('token-auth-file') || each.includes('AlwaysAllow')));
});

t.test('the kubelet requires a certificate or token', async (t) => {
  t.match(configurationOf('kubelet.yaml'), {
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true } },
    authorization: { mode: 'Webhook' },
    readOnlyPort: 0,
    clusterDNS: [network.dnsService],
    resolvConf: machine.resolverFile,
    podLogsDir: '/var/log/pods',
  });
});

t.test('pod traffic is masqueraded when answers would bypass the firewall', async (t) => {
  t.match(configurationOf('proxy.yaml'), { iptables: { masqueradeAll: false } });
  const unfiltered = { ...machine, bridgeTrafficFiltered: false };
  t.match(configurationOf('proxy.yaml', unfiltered), { iptables: { masqueradeAll: true } });
});

t.test('images are pulled only from our own registry', async (t) => {
  const files = configurationFiles(layout, machine).filter(({ path }) => path.endsWith('hosts.toml'));
  t.strictSame(
    files.map(({ path }) => path),
    ['registries/_default/hosts.toml', 'registries/localhost:5000/hosts.toml'],
  );
  for (const { text } of files) {
    t.strictSame(new Set(text.match(/https?:\/\/[^"]+/g)), new Set(['http://localhost:5000']));
  }
  const containerd = configurationFiles(layout, machine).find(({ path }) => path === 'containerd.toml')?.text ?? '';
  t.match(containerd, `sandbox_image = "${pauseImage}"`);
  t.match(configurationOf('registry.yaml'), {
    storage: { delete: { enabled: true } },
    // Builds push to it; the cluster's rules block all other clients.
    http: { addr: ':5000' },
  });
});

t.test('certificates have the names that Kubernetes expects', async (t) => {
  t.match(certificateOf('node'), /^O = system:nodes\nCN = system:node:testcluster$/m);
  t.match(certificateOf('admin'), /^O = system:masters$/m);
  const names = /^subjectAltName = (.*)$/m.exec(certificateOf('apiserver'))?.[1]?.split(', ') ?? [];
  for (const name of ['DNS:kubernetes.default.svc', 'IP:10.96.0.1', 'IP:127.0.0.1']) t.ok(names.includes(name), name);
  t.notMatch(certificateOf('admin'), /serverAuth|CA:TRUE/);
});

t.test('a certificate is signed by an authority, and an authority by itself', async (t) => {
  const signed = opensslParameters('/pki', 'admin', 'ca');
  t.strictSame(signed.slice(-4), ['-CA', '/pki/ca.crt', '-CAkey', '/pki/ca.key']);
  t.notOk(opensslParameters('/pki', 'ca').includes('-CA'));
});

t.test('a kubeconfig contains everything that it needs', async (t) => {
  const input = {
    server: 'https://127.0.0.1:6443',
    user: 'admin',
    authority: 'AUTHORITY',
    certificate: 'CERT',
    key: 'KEY',
  };
  const text = kubeconfig(input);
  t.match(text, '      server: https://127.0.0.1:6443\n');
  for (const [field, value] of Object.entries({
    'certificate-authority-data': 'AUTHORITY',
    'client-certificate-data': 'CERT',
    'client-key-data': 'KEY',
  })) {
    t.match(text, `      ${field}: ${Buffer.from(value).toString('base64')}\n`);
  }
  t.notMatch(text, 'insecure');
});

t.test('the client of Kubernetes is the same in all tools, so that it is compiled once', async (t) => {
  const modules = [
    ...['api', 'apimachinery', 'client-go', 'kube-openapi', 'utils'].map((name) => `k8s.io/${name}`),
    ...['json', 'structured-merge-diff/v6'].map((name) => `sigs.k8s.io/${name}`),
    ...['net', 'oauth2', 'sys', 'term', 'text', 'time'].map((name) => `golang.org/x/${name}`),
    ...['google.golang.org/protobuf', 'go.yaml.in/yaml/v2', 'github.com/json-iterator/go', 'github.com/go-logr/logr'],
  ];
  const versionsOf = (tool: string) => {
    const folder = join(import.meta.dirname, '../../infra/testcluster/build', tool);
    const lines = readFileSync(join(folder, 'go.mod'), 'utf8').split('\n');
    return modules.map((module) => lines.find((line) => line.startsWith(`\t${module} `))?.split(' ', 2)[1]);
  };
  const expected = versionsOf('kubernetes');
  t.notOk(expected.includes(undefined));
  for (const tool of ['coredns', 'traefik']) t.same(versionsOf(tool), expected, tool);
});

t.test('a build receives the inputs of the binary, and its digest changes with each part', async (t) => {
  const [tool] = tools.filter(({ name }) => name === 'kubernetes');
  assert(tool);
  t.match(buildParameters(tool, '/out').join(' '), /-mod=readonly .*gitVersion=v1\.34\.4 .*-o \/out \.$/);
  const sources = t.testdir({ 'go.mod': 'module one', 'main.go': 'package main' });
  const before = buildDigest(tool, sources, 'x64');
  t.equal(buildDigest(tool, sources, 'x64'), before);
  t.not(buildDigest(tool, sources, 'arm64'), before);
  t.not(buildDigest({ ...tool, variables: {} }, sources, 'x64'), before);
  t.not(buildDigest({ ...tool, patchedModule: { module: 'm', versionFile: 'v' } }, sources, 'x64'), before);
  t.not(buildDigest({ ...tool, stubs: [{ module: 'm', package: 'p', source: 's' }] }, sources, 'x64'), before);
  writeFileSync(join(sources, 'go.mod'), 'module two');
  t.not(buildDigest(tool, sources, 'x64'), before);
});

t.test('an image runs its one program', async (t) => {
  t.match(imageConfiguration('pause', 'abc', 'x64'), {
    architecture: 'amd64',
    config: { Entrypoint: ['/pause'] },
    rootfs: { diff_ids: ['sha256:abc'] },
  });
});

t.test('DNS answers at its fixed address, from an image that is never pulled', async (t) => {
  const objects = dnsObjects('image:1');
  t.match(
    objects.find(({ kind }) => kind === 'Service'),
    { spec: { clusterIP: '10.96.0.10' } },
  );
  t.match(
    objects.find(({ kind }) => kind === 'Deployment'),
    {
      spec: {
        template: { spec: { dnsPolicy: 'Default', containers: [{ image: 'image:1', imagePullPolicy: 'Never' }] } },
      },
    },
  );
});

t.test('Traefik listens for the machine and pods only, and allows nothing that k3s does not', async (t) => {
  const parameters = traefikParameters({ ...defaultIngressPorts, web: 8000 });
  t.ok(parameters.includes('--entryPoints.web.address=0.0.0.0:8000'));
  t.ok(parameters.includes(`--entryPoints.traefik.address=127.0.0.1:${defaultIngressPorts.admin}`));
  t.ok(parameters.includes(`--entryPoints.metrics.address=${node.address}:${ports.ingressMetrics}`));
  const routes = readFileSync('docs/how-to/install-in-a-cluster.md', 'utf8');
  for (const setting of ['forwardingTimeouts.dialTimeout', 'providersThrottleDuration']) {
    const parameter = parameters.find((each) => each.includes(setting));
    t.ok(routes.includes(`\`${parameter}\``), `${setting} is as the page recommends`);
  }
  const monitoring = readFileSync('docs/how-to/run-monitoring.md', 'utf8');
  const buckets = parameters.find((each) => each.startsWith('--metrics.prometheus.buckets='));
  t.ok(monitoring.includes(`\`${buckets}\``), 'durations are counted as on the page');
  const page = readFileSync('docs/how-to/deploy-from-ci.md', 'utf8');
  const logged = parameters.filter((each) => each.startsWith('--accesslog.'));
  t.ok(logged.length > 0 && page.includes(`\`${logged.join(' ')}\``), 'its log has no path, as on the page');
  const rules = ownRules({ ...defaultIngressPorts, web: 8000 }).split('\n');
  for (const port of [6443, 8000, defaultIngressPorts.websecure, ports.ingressMetrics]) {
    t.ok(rules.includes(`-I INPUT -p tcp -m tcp --dport ${port} -j SVC-TESTCLUSTER`));
    t.ok(rules.includes(`-A SVC-TESTCLUSTER -p tcp -m tcp --dport ${port} -j REJECT`));
  }
  const service = ingressObjects('image:1', defaultIngressPorts).find(({ kind }) => kind === 'Service');
  t.match(service, {
    metadata: { labels: { 'app.kubernetes.io/name': 'traefik' } },
    spec: {
      ports: [
        { name: 'web', port: 80 },
        { name: 'websecure', port: 443 },
      ],
    },
  });
  t.notOk(parameters.some((each) => /allowCrossNamespace|allowExternalName/i.test(each)));
  const role = ingressObjects('image:1', defaultIngressPorts).find(({ kind }) => kind === 'ClusterRole');
  t.notMatch(JSON.stringify(role), /"(create|update|patch|delete|\*)"/);
});

t.test('removing firewall rules keeps all other rules', async (t) => {
  const saved = `# Generated
*nat
:PREROUTING ACCEPT [0:0]
:DOCKER - [0:0]
:KUBE-SERVICES - [0:0]
:SVC-TESTCLUSTER - [0:0]
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER
-A POSTROUTING -j SVC-TESTCLUSTER
-A KUBE-SERVICES -j KUBE-NODEPORTS
-A DOCKER -j RETURN
COMMIT
*filter
:INPUT ACCEPT [0:0]
:SVC-TESTCLUSTER-POLICY - [0:0]
-A INPUT -j SVC-TESTCLUSTER-POLICY
-A INPUT -j ACCEPT
COMMIT
`;
  t.equal(
    removalScript(saved),
    `*nat
:KUBE-SERVICES - [0:0]
:SVC-TESTCLUSTER - [0:0]
-D PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-D POSTROUTING -j SVC-TESTCLUSTER
-X KUBE-SERVICES
-X SVC-TESTCLUSTER
COMMIT
*filter
:SVC-TESTCLUSTER-POLICY - [0:0]
-D INPUT -j SVC-TESTCLUSTER-POLICY
-X SVC-TESTCLUSTER-POLICY
COMMIT
`,
  );
  t.equal(removalScript(''), '');
});

t.test('service addresses without a rule end on an empty bridge', async (t) => {
  t.strictSame(linkCommands().at(-1), ['route', 'add', '10.96.0.0/16', 'dev', 'svcnull']);
});

t.test('an address is in a range by its leading bits', async (t) => {
  t.ok(contains('10.96.0.0/16', '10.96.255.1'));
  t.notOk(contains('10.96.0.0/16', '10.97.0.1'));
  t.ok(contains('192.168.1.1/32', '192.168.1.1'));
  t.notOk(contains('192.168.1.1/32', '192.168.1.2'));
  t.ok(contains('0.0.0.0/0', '203.0.113.9'));
});

t.test('mounts below a folder are listed in the order of unmounting', async (t) => {
  const mountinfo = [
    '22 1 0:5 / / rw - ext4 /dev/vda rw',
    '30 22 0:6 / /home/x/run/a rw - tmpfs tmpfs rw',
    '31 30 0:7 / /home/x/run/a/with\\040space rw - tmpfs tmpfs rw',
    '32 22 0:8 / /home/x/runner rw - tmpfs tmpfs rw',
  ].join('\n');
  t.strictSame(mountsUnder(mountinfo, '/home/x/run'), ['/home/x/run/a/with space', '/home/x/run/a']);
});

t.test('the process that listens at a port is read from the kernel', async (t) => {
  const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1388 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0
   1: 0100007F:1388 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 100 0 0 10 0
   2: 0100007F:1389 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1 0 100 0 0 10 0
`;
  t.strictSame(listenersAt(table, 5000), ['4711']);
});

t.test('a process is identified by its start time, whatever its name', async (t) => {
  const fields = ['S', ...Array.from({ length: 18 }, (_, index) => String(index)), '987654', '0', '12'];
  t.strictSame(parseStat(`42 (a) odd (name) ${fields.join(' ')}`), {
    state: 'S',
    parent: 0,
    group: 1,
    cpuTicks: 46,
    startTicks: '987654',
    residentPages: 12,
  });
  t.equal(parseStat(''), undefined);
});

t.test('an id that another process has now is not alive, and is not stopped', { skip: onLinux() }, async (t) => {
  const self = identify('self', process.pid);
  assert(self);
  t.ok(isAlive(self));
  const recycled = { ...self, startTicks: '1' };
  t.notOk(isAlive(recycled));
  t.notOk(isAlive({ ...self, bootId: 'another' }));
  await stopAll([recycled], 100);
});

t.test('a started process is recorded, and ends when it is stopped', { skip: onLinux() }, async (t) => {
  const folder = t.testdir();
  const logFile = join(folder, 'logs', 'it.log');
  const program = { name: 'it', path: process.execPath, parameters: ['-e', 'setInterval(() => {}, 1000)'] };
  const record = await startDetached({ ...program, environment: {}, logFile }, join(folder, 'processes'));
  t.strictSame(readRecords(join(folder, 'processes')), [record]);
  await stopAll([record], 5000);
  t.notOk(isAlive(record));
  await t.rejects(startDetached({ ...program, path: '/no/such', environment: {}, logFile }, folder), /Cannot start/);
});

function onLinux(): string | false {
  return process.platform === 'linux' ? false : 'it reads /proc';
}

t.test('a cluster is up when all parts work, down when nothing runs', async (t) => {
  const ok = { name: 'a', state: 'ok', detail: '' } as const;
  const stopped = { name: 'b', state: 'stopped', detail: '' } as const;
  t.equal(summarise([ok, ok]).state, 'up');
  t.equal(summarise([stopped]).state, 'down');
  t.equal(summarise([ok, stopped]).state, 'degraded');
});

t.test('a condition holds only when its status is True', async (t) => {
  t.ok(hasCondition(objectThatIsReady('True'), 'Ready'));
  t.notOk(hasCondition(objectThatIsReady('Unknown'), 'Ready'));
  t.notOk(hasCondition('{}', 'Ready'));
});

t.test('progress reports the result of each stage', async (t) => {
  const lines: string[] = [];
  const progress = lineProgress((line) => lines.push(line));
  t.equal(await progress.stage('one', () => Promise.resolve(1)), 1);
  await t.rejects(progress.stage('two', () => Promise.reject(new Error('no'))));
  t.match(lines, ['one ...', /^one: \d/, 'two ...', /^two: failed after \d/]);
});

t.test('every blocker of the start is reported before anything is built', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const ingress = { ...defaultIngressPorts, web: port };
  const message = new RegExp(`port ${port} \\(Traefik's web\\) is in use by `);
  await t.rejects(requireFitMachine(layoutOf(t.testdir()), ingress), message);
});
