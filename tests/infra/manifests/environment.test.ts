import t from 'tap';
import {
  environmentPolicy,
  functionsPolicy,
  namespaceInAddress,
  servicesPolicy,
  type EnvironmentNetwork,
} from '../../../infra/manifests/environment-network.ts';
import { boundServicesPolicy } from '../../../infra/manifests/function-network.ts';
import { podLabels } from '../../../runtime/domain/labels.ts';
import { passes, type End } from '../../support/network-policy.ts';
import { environmentId } from '../../support/objects.ts';

const namespace = (name: string, labels: Record<string, string> = {}) => ({
  name,
  labels: { 'kubernetes.io/metadata.name': name, ...labels },
});
const environment = (name: string) => namespace(name, { 'platform.svc/environment-id': environmentId });
const workload = { kind: 'Function' as const, name: 'hello', id: environmentId };
const helloId = '0190a0a0-0000-7000-8000-00000000000a';
const hello: End = { namespace: environment('shop-prod'), labels: podLabels({ ...workload, id: helloId }, 'serve') };
const neighbour: End = { namespace: environment('shop-prod'), labels: { app: 'api' } };
const other: End = { namespace: environment('shop-prod'), labels: podLabels({ ...workload, name: 'other' }, 'serve') };
const serviceOf = (name: string): End => ({
  namespace: environment('shop-prod'),
  labels: podLabels({ kind: 'Service', name, id: environmentId }, 'serve'),
});
const stranger: End = { namespace: environment('blog-prod'), labels: { app: 'api' } };
/** Labels of a workload that impersonates another component. */
const disguised: End = {
  namespace: environment('blog-prod'),
  labels: { app: 'svc-interceptor', 'app.kubernetes.io/name': 'traefik', 'k8s-app': 'kube-dns' },
};
const system = (app: string): End => ({ namespace: namespace('svc-system'), labels: { app } });
const traefik: End = { namespace: namespace('kube-system'), labels: { 'app.kubernetes.io/name': 'traefik' } };
const dns: End = { namespace: namespace('kube-system'), labels: { 'k8s-app': 'kube-dns' } };
const apiServers = ['1.2.3.4', '2606:4700::7'];

const flows: [what: string, from: End, to: End, port: number, passes: boolean][] = [
  ['the ingress reaches an app', traefik, neighbour, 8080, true],
  ['an interceptor reaches a function', system('svc-interceptor'), hello, 8080, true],
  ['the gate’s probe reaches an app', system('svc-controllers'), neighbour, 8080, true],
  ['a store of the platform does not', system('svc-postgres'), neighbour, 8080, false],
  ['pods of one environment reach each other', neighbour, serviceOf('db'), 5432, true],
  ['a function reaches an app of its environment', hello, neighbour, 8080, true],
  ['a function is reached by no other pod of its environment', neighbour, hello, 8080, false],
  ['nor by another function', other, hello, 8080, false],
  ['nor by the ingress itself', traefik, hello, 8080, false],
  ['nor by the platform’s other processes', system('svc-workers'), hello, 8080, false],
  ['a function reaches a service that it is bound to', hello, serviceOf('db'), 5432, true],
  ['and no other service', hello, serviceOf('cache'), 6379, false],
  ['nor does a function that is not bound to it', other, serviceOf('db'), 5432, false],
  ['the workers make users in services', system('svc-workers'), serviceOf('db'), 5432, true],
  ['another environment is not reached', hello, stranger, 8080, false],
  ['another environment does not reach this one', stranger, hello, 8080, false],
  ['labels of the platform’s pods have no effect elsewhere', disguised, hello, 8080, false],
  ['nor is such a pod taken for DNS or the ingress', hello, disguised, 53, false],
  ['names are resolved', hello, dns, 53, true],
  ['nothing else of the system’s namespace is reached', hello, dns, 9153, false],
  ['the ingress is reached, for public hosts that lead back', hello, traefik, 8443, true],
  ['the platform’s database is not reached', hello, system('svc-postgres'), 5432, false],
  ['the platform’s queue is not reached', hello, system('svc-redis'), 6379, false],
  ['the management API’s pods are not reached', hello, system('console-api'), 8080, false],
  ['a function’s sidecar gets events', hello, system('console-api'), 8082, true],
  ['the server of a service sends its events', serviceOf('files'), system('console-api'), 8082, true],
  ['and reaches nothing else of the platform', serviceOf('files'), system('console-api'), 8080, false],
  ['nor any other process of it', serviceOf('files'), system('svc-workers'), 8082, false],
  ['an app does not get at events', neighbour, system('console-api'), 8082, false],
  ['the internet is reached', hello, { address: '93.184.216.34' }, 443, true],
  ['the internet is reached over IPv6', hello, { address: '2606:4700::1111' }, 443, true],
  ['the Kubernetes API is not reached by its Service', hello, { address: '10.43.0.1' }, 443, false],
  ['the Kubernetes API is not reached at its public address', hello, { address: '1.2.3.4' }, 6443, false],
  ['the Kubernetes API is not reached at its public IPv6 address', hello, { address: '2606:4700::7' }, 6443, false],
  ['the credentials of a cloud’s machine are not reached', hello, { address: '169.254.169.254' }, 80, false],
  ['nor at Azure’s public address', hello, { address: '168.63.129.16' }, 80, false],
  ['nor through NAT64', hello, { address: '64:ff9b::a9fe:a9fe' }, 80, false],
  ['the internet is reached through NAT64', hello, { address: '64:ff9b::808:808' }, 443, true],
  ['the node’s own DNS cache is reached', hello, { address: '169.254.20.10' }, 53, true],
  ['nodes and private networks are not reached', hello, { address: '192.168.1.10' }, 10_250, false],
  ['nor over IPv6', hello, { address: 'fd00::1' }, 10_250, false],
];

const networks: [string, EnvironmentNetwork['ingressNamespace']][] = [
  ['with the ingress known', 'kube-system'],
  ['with the ingress unknown', undefined],
];

for (const [name, ingressNamespace] of networks) {
  t.test(`allowed connections, ${name}`, async (t) => {
    const monitoring: End = { namespace: namespace('monitoring'), labels: {} };
    const policies = ['shop-prod', 'blog-prod'].flatMap((home) => {
      const network = { namespace: home, ingressNamespace, apiServers, allowPrivateNetworks: [] };
      return [environmentPolicy(network), functionsPolicy(network), servicesPolicy(network)];
    });
    policies.push(boundServicesPolicy({ id: helloId, name: 'hello', namespace: 'shop-prod' }, ['db']));
    for (const [what, from, to, port, allowed] of flows) {
      // Without a known ingress every address outside the environments may connect, including the platform's stores.
      if (ingressNamespace === undefined && from === flows[3]?.[1]) continue;
      const protocol = port === 53 ? 'UDP' : 'TCP';
      t.equal(passes(policies, { from, to, port, protocol }), allowed, what);
    }
    t.notOk(passes(policies, { from: monitoring, to: hello, port: 8080 }), 'only the interceptors reach a function');
    t.equal(
      passes(policies, { from: monitoring, to: neighbour, port: 8080 }),
      ingressNamespace === undefined,
      'only the ingress’s namespace may connect, if it is known',
    );
  });
}

t.test(
  'private networks are reached where the installation allows it, but never the Kubernetes API in them',
  async (t) => {
    const policyFor = (allowPrivateNetworks: string[], servers: string[]) =>
      functionsPolicy({
        namespace: 'shop-prod',
        ingressNamespace: 'kube-system',
        apiServers: servers,
        allowPrivateNetworks,
      });
    const servers = ['10.20.0.1', '10.20.0.2', 'fd00:1::1', '1.2.3.4'];
    const policy = policyFor(['10.20.0.0/16', 'fd00:1::/32', '192.168.7.7/32'], servers);
    const reaches = (address: string) => passes([policy], { from: hello, to: { address }, port: 5432 });
    for (const address of ['10.20.3.4', 'fd00:1::7', '192.168.7.7', '93.184.216.34']) t.ok(reaches(address), address);
    for (const address of [...servers, '10.21.0.1', 'fd00:2::1', '192.168.7.8', '169.254.169.254']) {
      t.notOk(reaches(address), address);
    }
    const { spec } = policyFor(['10.20.0.1/32'], servers);
    t.same(
      spec.egress,
      policyFor([], servers).spec.egress,
      'a network that contains only the API server opens nothing',
    );
  },
);

t.test('the namespace of an address inside the cluster', async (t) => {
  t.equal(namespaceInAddress('http://traefik.kube-system.svc:80'), 'kube-system');
  t.equal(namespaceInAddress('https://traefik.edge.svc.cluster.local'), 'edge');
  for (const other of [undefined, 'http://10.0.0.1', 'https://example.com', 'http://traefik.edge.svcs', 'traefik']) {
    t.equal(namespaceInAddress(other), undefined, String(other));
  }
});
