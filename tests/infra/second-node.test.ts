import t from 'tap';
import { certificateConfiguration, certificateRequests } from '../../infra/testcluster/certificates.ts';
import { kubeletParameters, provisionerParameters, secondNodeNames } from '../../infra/testcluster/components.ts';
import { nodeConfigurationFiles } from '../../infra/testcluster/configuration.ts';
import { ownRules } from '../../infra/testcluster/firewall.ts';
import { inspectSecondNode } from '../../infra/testcluster/health.ts';
import { dnsObjects } from '../../infra/testcluster/manifests/dns.ts';
import { ingressObjects } from '../../infra/testcluster/manifests/ingress.ts';
import { contains, linkCommands } from '../../infra/testcluster/network.ts';
import { cableCommands, podBridgeCommands, routeCommands } from '../../infra/testcluster/node-network.ts';
import {
  defaultIngressPorts,
  layoutOf,
  network,
  node,
  secondNode,
  secondNodeLayout,
} from '../../infra/testcluster/settings.ts';

const layout = layoutOf('/home/someone/testcluster');
const own = secondNodeLayout(layout);
const machine = { resolverFile: '/etc/resolv.conf', bridgeTrafficFiltered: true };
const settings = { ...secondNode, certificate: 'kubelet-2', registryHost: node.address, controlGroup: '/kubepods/two' };
const files = new Map(nodeConfigurationFiles(own, machine, settings).map(({ path, text }) => [path, text]));

t.test('the nodes have addresses of their own in the range of the cluster', async (t) => {
  for (const { podRange, podGateway } of [node, secondNode]) {
    t.ok(contains(podRange, podGateway));
    t.ok(contains(network.podRange, podGateway));
  }
  t.notOk(contains(node.podRange, secondNode.podGateway));
  t.notOk(contains(secondNode.podRange, node.podGateway));
  const gateways = [linkCommands(), podBridgeCommands(secondNode)].map((commands) => commands[1]?.[2]);
  t.strictSame(gateways, ['10.244.0.1/24', '10.244.1.1/24']);
});

t.test('a cable leads to the second node and its pods, and from it to everything else', async (t) => {
  t.strictSame(cableCommands(), [
    ['link', 'add', 'svcnode2', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', 'svc-testcluster-2'],
    ['link', 'set', 'svcnode2', 'up'],
    ['route', 'add', '10.97.0.2', 'dev', 'svcnode2', 'src', '10.97.0.1'],
    ['route', 'add', '10.244.1.0/24', 'via', '10.97.0.2', 'src', '10.97.0.1'],
  ]);
  t.strictSame(routeCommands().at(-1), ['route', 'add', 'default', 'via', '10.97.0.1', 'src', '10.97.0.2']);
});

t.test(
  'pods of both nodes reach each other with their own addresses, and other networks with the machine’s',
  async (t) => {
    const rules = ownRules(defaultIngressPorts).split('\n');
    t.ok(rules.includes('-A SVC-TESTCLUSTER -s 10.244.0.0/23 ! -d 10.244.0.0/23 -j MASQUERADE'));
    for (const link of ['svc0', 'svcnode2']) {
      t.ok(rules.includes(`-I FORWARD -i ${link} -j SVC-TESTCLUSTER`), link);
      const accept = rules.indexOf(`-A SVC-TESTCLUSTER -i ${link} -j ACCEPT`);
      const reject = rules.findIndex((rule) => rule.endsWith('-j REJECT'));
      t.ok(accept > 0 && accept < reject, `${link} may use the API server and the registry`);
    }
  },
);

t.test('the second node keeps its files apart from those of the first', async (t) => {
  const text = [...files.values(), ...kubeletParameters(own, secondNode), ...provisionerParameters(own, secondNode)];
  const paths = text.flatMap((each) => each.match(/\/home\/someone\/testcluster\/run\/[\w./-]+/g) ?? []);
  t.ok(paths.length > 0);
  const shared = [`${layout.pki}/`, `${layout.run}/node-2.sock`];
  for (const path of paths)
    t.ok(
      [`${own.run}/`, ...shared].some((place) => path.startsWith(place)),
      path,
    );
  t.ok(
    own.containerdSocket.length <= layout.containerdSocket.length,
    'the limit of a socket’s path is that of the first',
  );
});

t.test('the second node has a name, addresses, a certificate and a control group of its own', async (t) => {
  const read = (path: string): unknown => JSON.parse(files.get(path) ?? '{}');
  t.match(read('kubelet.yaml'), {
    address: '10.97.0.2',
    cgroupRoot: '/kubepods/two',
    tlsCertFile: `${layout.pki}/kubelet-2.crt`,
  });
  t.match(read('proxy.yaml'), {
    hostnameOverride: 'testcluster-2',
    bindAddress: '10.97.0.2',
    clusterCIDR: '10.244.0.0/23',
  });
  t.match(read('cni/10-pods.conflist'), {
    plugins: [{ ipam: { ranges: [[{ subnet: '10.244.1.0/24', gateway: '10.244.1.1' }]] } }],
  });
  const certificates = certificateRequests.filter(({ name }) => name.endsWith('-2')).map(certificateConfiguration);
  t.equal(certificates.length, 2);
  for (const text of certificates) t.match(text, /^O = system:nodes\nCN = system:node:testcluster-2$/m);
  t.match(certificates.join(''), 'subjectAltName = DNS:testcluster-2, IP:10.97.0.2');
});

t.test('it pulls images from the registry of the first', async (t) => {
  for (const path of ['registries/_default/hosts.toml', 'registries/localhost:5000/hosts.toml'])
    t.strictSame(new Set(files.get(path)?.match(/https?:\/\/[^"]+/g)), new Set(['http://10.97.0.1:5000']));
});

t.test('DNS and the ingress stay on the first node, which has their images and ports', async (t) => {
  const pods = [dnsObjects('image:1'), ingressObjects('image:1', defaultIngressPorts)].map((objects) =>
    objects.find(({ kind }) => kind === 'Deployment'),
  );
  for (const pod of pods)
    t.match(pod, { spec: { template: { spec: { nodeSelector: { 'kubernetes.io/hostname': 'testcluster' } } } } });
});

t.test('the second node is part of the status only where there is one', async (t) => {
  const state = (nodes: number) => t.testdir({ run: { 'state.json': JSON.stringify({ nodes }) } });
  t.strictSame(await inspectSecondNode(layoutOf(state(1))), []);
  const parts = await inspectSecondNode(layoutOf(state(2)));
  t.strictSame(
    parts.map(({ name, state: health }) => [name, health]),
    [...secondNodeNames.map((name) => [name, 'stopped']), ['node 2 ready', 'failing']],
  );
});
