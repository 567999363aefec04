import t from 'tap';
import type { EndpointSlice, Service } from '../../../../infra/local/controllers/objects.ts';
import type { KubeObject } from '../../../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../../../runtime/contracts/pod.ts';
import { kinds } from '../../../../runtime/contracts/resources/kinds.ts';
import { startControllers } from '../../../support/local-controllers.ts';

const service = (name: string, spec: Partial<Service['spec']> = {}): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'default' },
  spec: { selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 'http' }], ...spec },
});
const pod = (name: string, port: number, labels: Record<string, string> = { app: 'web' }): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', labels, annotations: { 'platform.svc/container-ports': `{"8080":${port}}` } },
  spec: { containers: [{ name: 'main', ports: [{ name: 'http', containerPort: port }] }] },
});

t.test("a Service has an EndpointSlice for its pods, each with the pod's own port", async (t) => {
  const world = await startControllers(t);
  const { kube, create, all, until, set } = world;
  await create(service('web'));
  await create(service('numbered', { ports: [{ port: 80, targetPort: 8080 }] }));
  await create(pod('one', 20_001));
  await create(pod('two', 20_002));
  await create(pod('other', 20_003, { app: 'other' }));
  const of = (name: string) =>
    all<EndpointSlice>(kinds.EndpointSlice)
      .filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === name)
      .map(({ endpoints, ports }) => [endpoints[0]?.targetRef.name, ports[0]?.port, endpoints[0]?.conditions.ready])
      .toSorted(([a], [b]) => String(a).localeCompare(String(b)));
  const both = (ready: boolean) =>
    JSON.stringify([
      ['one', 20_001, ready],
      ['two', 20_002, true],
    ]);
  for (const name of ['web', 'numbered']) {
    await until(`${name} has both`, () => JSON.stringify(of(name)) === both(true) && 'yes');
  }
  const [one] = all<Pod>(kinds.Pod);
  if (one) await set(one, 'running');
  await until('one is not ready', () => JSON.stringify(of('web')) === both(false) && 'yes');
  await kube.delete({ apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'one' });
  await until('it is gone', () => JSON.stringify(of('web')) === JSON.stringify([['two', 20_002, true]]) && 'yes');
  await kube.delete({ apiVersion: 'v1', kind: 'Service', namespace: 'default', name: 'web' });
  await until('so are its slices', () => of('web').length === 0 && of('numbered').length === 1 && 'yes');
  t.pass();
});

t.test('every Service has its own address, the same one when it is created again', async (t) => {
  const { kube, create, all, until } = await startControllers(t);
  const names = Array.from({ length: 40 }, (_, index) => `s${index}`);
  await create(service('headless', { clusterIP: 'None' }));
  for (const name of names) await create(service(name));
  const addresses = () => all<Service>(kinds.Service).map(({ spec }) => spec.clusterIP);
  await until('all have one', () => addresses().every((address) => address !== undefined) && 'yes');
  t.equal(new Set(addresses()).size, 41);
  const ours = /^127\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.\d+\.\d+$/;
  t.ok(addresses().every((address) => address === 'None' || ours.test(address ?? '')));
  const addressOf = (name: string) =>
    all<Service>(kinds.Service).find(({ metadata }) => metadata.name === name)?.spec.clusterIP;
  const before = addressOf('s7');
  await kube.delete({ apiVersion: 'v1', kind: 'Service', namespace: 'default', name: 's7' });
  await create(service('s7'));
  t.equal(await until('it has one again', () => addressOf('s7')), before);
});

t.test('a Service has another address than its namesake in another installation', async (t) => {
  const installation = async (uid: string) => {
    const { kube, create, all, until } = await startControllers(t);
    kube.seed({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default', uid } });
    await create(service('web'));
    return until('it has one', () => all<Service>(kinds.Service)[0]?.spec.clusterIP);
  };
  t.not(await installation('one'), await installation('other'));
});
