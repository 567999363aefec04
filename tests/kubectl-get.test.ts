import t from 'tap';
import { createKubectlGet } from './support/kubectl-get.ts';
import { kubectl, noKubectl } from './support/kubectl.ts';
import { startApi } from './support/local-api.ts';

const pod = (name: string, app: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', labels: { app } },
  spec: { containers: ['first', 'second'].map((container) => ({ name: container, image: container })) },
});

const ownCalls = [
  'get pods -o name',
  'get pod one -o json',
  'get pod one two -o json',
  'get pod -o name -l app=a',
  '-n default get pods --selector app=none -o json',
  'get pods,cm -A -o json',
  'get -o name deploy,configmaps,statefulset',
  'get deployments.apps web -o name',
  'get ns default -o name',
  'get namespaces missing -o name',
  'get pod one missing -o name',
  'get pod missing -o name --ignore-not-found',
  'get deployment missing -o json',
  'get pods -n nowhere -o name',
  'get pod one -o jsonpath={.spec.containers[1].name}',
  'get pod one -o jsonpath={.metadata.deletionTimestamp}',
  'get deployment web -o jsonpath={.spec.replicas}',
  'get pods -o jsonpath={.items[*].spec.containers[*].name}',
];

const kubectlCalls = [
  'get pods',
  'get pods -o yaml',
  'get pods -o wide',
  'get jobs -o name',
  'get po/one -o name',
  'get pods -w -o name',
  'get --raw /api',
  'delete pod one',
  'get pods -o jsonpath={range .items[*]}{.metadata.name}{end}',
];

void t.test('kubectl get in this process prints what kubectl prints', { skip: noKubectl }, async (t) => {
  const { kube, server } = await startApi(t);
  await kube.create(pod('one', 'a'));
  await kube.create(pod('two', 'b'));
  await kube.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'default' } });
  const selector = { matchLabels: { app: 'web' } };
  const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'a' }] } };
  await kube.create({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'default' },
    spec: { replicas: 2, selector, template },
  } as never);
  const get = createKubectlGet(server.kubeconfig);
  for (const line of ownCalls) {
    const args = line.split(' ');
    const own = await get(args);
    const expected = await kubectl(server.kubeconfig, args);
    t.match(own, { code: expected.code, stderr: expected.stderr }, line);
    t.same(valueOf(own?.stdout), valueOf(expected.stdout), line);
  }
  for (const line of kubectlCalls) t.equal(await get(line.split(' ')), undefined, `${line}: for kubectl itself`);
});

void t.test('without an API server, the answer is a failure', async (t) => {
  const { server } = await startApi(t);
  const get = createKubectlGet(server.kubeconfig);
  await server.stop();
  t.match(await get(['get', 'pods', '-o', 'name']), {
    code: 1,
    stdout: '',
    stderr: /^Unable to connect to the server: /,
  });
});

function valueOf(output = ''): unknown {
  return output.startsWith('{') ? JSON.parse(output) : output;
}
