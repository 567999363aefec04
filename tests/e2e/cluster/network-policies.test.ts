import t from 'tap';
import { network, node, ports } from '../../../infra/testcluster/settings.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { appLabel } from '../../../runtime/domain/labels.ts';
import { createKubeClient } from '../../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../../runtime/kube/kubeconfig.ts';
import { eventually, runningPlatform, testProject, type Platform } from '../../support/platform.ts';
import { enforcePolicies } from '../../support/policy-enforcer.ts';

/**
 * The platform's network policies in the kernel's packet filter. No packet leaves this machine: the addresses are those of
 * pods, Services and the node. What policies say about others is checked in tests/infra/manifests/environment.test.ts.
 */
const platform = await runningPlatform();
const kube = createKubeClient(loadKubeConfig(platform.info.kubeconfig));
t.teardown(() => kube.close());
const hello = 'localhost:5000/svc/hello:v1';

/** Connects to each `host:port` in its arguments at once; prints which open, and why others do not. */
const probe = `
const { connect } = require('node:net');
const attempt = (address) => new Promise((resolve) => {
  const cut = address.lastIndexOf(':');
  const socket = connect({ host: address.slice(0, cut), port: Number(address.slice(cut + 1)), timeout: 4000 });
  const end = (answer) => { socket.destroy(); resolve([address, answer]); };
  socket.once('connect', () => end('open')).once('error', ({ code }) => end(code)).once('timeout', () => end('timeout'));
});
Promise.all(process.argv.slice(1).map(attempt)).then((all) => console.log(JSON.stringify(Object.fromEntries(all))));
`;

/** Every address is open without enforcement, so nothing else makes a connection wait in vain. */
const blocked = 'timeout';

interface App {
  namespace: string;
  url: string;
  pod: Pod;
  /** Its pod and its Service. */
  addresses: string[];
}

async function helloApp(name: string, { namespace, flags }: { namespace: string; flags: string[] }): Promise<App> {
  await platform.ok(['app', 'create', name, '--image', hello, ...flags]);
  const { url } = await platform.json<{ url: string }>(['app', 'show', name, ...flags]);
  const pod = (await podsOf(namespace, name))[0];
  if (!pod) throw new Error(`${name} has no pod`);
  return { namespace, url, pod, addresses: [`${pod.status?.podIP}:8080`, `${name}.${namespace}.svc:80`] };
}

async function podsOf(namespace: string, app: string): Promise<Pod[]> {
  return (await kube.list<Pod>(kinds.Pod, { namespace, labelSelector: `${appLabel}=${app}` })).items;
}

async function connections(from: App, addresses: readonly string[]): Promise<Record<string, string>> {
  const command = ['-n', from.namespace, 'exec', from.pod.metadata.name, '--', 'node', '-e', probe, ...addresses];
  const { code, stdout, stderr } = await platform.kubectl(...command);
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Record<string, string>;
}

/** Where the platform's own processes listen, with the ports that only the cluster's monitoring uses. */
async function platformAddresses({ kubectl }: Pick<Platform, 'kubectl'>): Promise<string[]> {
  const { stdout } = await kubectl('-n', 'svc-system', 'get', 'pods', '-o', 'json');
  const { items } = JSON.parse(stdout) as { items: Pod[] };
  return items
    .filter(({ status }) => status?.phase === 'Running')
    .flatMap(({ spec, status }) =>
      spec.containers.flatMap(({ ports: open = [] }) =>
        open.map(({ containerPort }) => `${status?.podIP}:${containerPort}`),
      ),
    );
}

t.test('pods of an environment reach only what its policies allow', async (t) => {
  const [shop, blog] = [await testProject(t, platform), await testProject(t, platform)];
  const [api, web] = [await helloApp('api', shop), await helloApp('web', shop)];
  const stranger = await helloApp('api', blog);
  const allowed = [...web.addresses, `${network.dnsService}:53`];
  const forbidden = [
    ...stranger.addresses,
    ...(await platformAddresses({ kubectl: (...args) => platform.kubectl(...args) })),
    'svc-redis.svc-system.svc:6379',
    'svc-postgres.svc-system.svc:5432',
    'console-api.svc-system.svc:80',
    'svc-authz.svc-system.svc:80',
    `${network.kubernetesService}:443`,
    ...[ports.apiServer, ports.kubelet, ports.registry].map((port) => `${node.address}:${port}`),
    `${node.podGateway}:${ports.apiServer}`,
  ];
  const all = [...allowed, ...forbidden];
  const everything = (answer: string) => (addresses: readonly string[]) =>
    Object.fromEntries(addresses.map((address) => [address, answer]));

  t.same(await connections(api, all), everything('open')(all), 'without enforcement, everything is reached');
  const enforcer = await enforcePolicies(kube, [shop.namespace, blog.namespace]);
  t.teardown(() => enforcer.stop());
  const expected = { ...everything('open')(allowed), ...everything(blocked)(forbidden) };
  t.same(await connections(api, all), expected);
  t.equal((await platform.request(api.url)).status, 200, 'the ingress reaches the app');

  await platform.ok(['app', 'update', 'web', '--image', 'localhost:5000/svc/hello:v2', ...shop.flags]);
  const newWeb = (await podsOf(shop.namespace, 'web')).map(({ status }) => `${status?.podIP}:8080`).slice(-1);
  await eventually(
    () => connections(api, newWeb),
    (answers) => Object.values(answers).every((answer) => answer === 'open'),
  );
  t.match(await connections(stranger, newWeb), everything(blocked)(newWeb), 'a new pod is protected, too');
});
