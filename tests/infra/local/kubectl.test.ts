import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { kubectl, noKubectl } from '../../support/kubectl.ts';
import { noCluster } from '../../support/kubernetes.ts';
import { startApi } from '../../support/local-api.ts';

/** kubectl's output for the real API server (Kubernetes 1.34); see conformance.test.ts. */
const recordedFile = join(import.meta.dirname, 'conformance/kubectl.json');

const objects = {
  apiVersion: 'v1',
  kind: 'List',
  items: [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'settings', labels: { app: 'web' } },
      data: { colour: 'blue' },
    },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'token' }, stringData: { a: 'x', b: 'yy' } },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', labels: { app: 'web' } },
      spec: { clusterIP: 'None', selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
    },
    {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: { name: 'nightly' },
      spec: {
        schedule: '0 3 * * *',
        suspend: true,
        jobTemplate: {
          spec: {
            template: {
              spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'registry.example/x:1' }] },
            },
          },
        },
      },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: { name: 'web' },
      spec: {
        replicas: 0,
        selector: { matchLabels: { app: 'web' } },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: { containers: [{ name: 'web', image: 'registry.example/web:1' }] },
        },
      },
    },
  ],
};
const changed = { ...objects.items[0], data: { colour: 'green' } };

/** Command lines, with their standard input. */
const commands: readonly { args: string; input?: object }[] = [
  { args: 'create -f -', input: objects },
  { args: 'create -f -', input: objects.items[0] ?? {} },
  { args: 'create -f -', input: { ...objects.items[0], metadata: { name: 'other' }, dat: { a: 'b' } } },
  { args: 'get configmap settings -o yaml' },
  { args: 'get configmaps,secrets -l app=web' },
  { args: 'get services' },
  { args: 'get cronjobs,replicasets' },
  { args: 'get secret token -o jsonpath={.data}' },
  { args: 'get configmap none' },
  // Tests beside this one have resources of other names on the same cluster.
  { args: 'get unicorns' },
  { args: 'describe configmap settings' },
  { args: 'describe secret token' },
  { args: 'describe service web' },
  { args: 'describe cronjob nightly' },
  { args: 'replace -f -', input: changed },
  { args: 'label configmap settings tier=a' },
  { args: 'label configmap settings tier=b' },
  { args: 'label configmap settings tier=b --overwrite' },
  { args: 'annotate configmap settings note=hello' },
  { args: 'patch configmap settings --type=merge -p {"data":{"size":"1"}}' },
  { args: 'get configmap settings -o json' },
  { args: 'scale replicaset web --replicas=0' },
  { args: 'scale replicaset web --current-replicas=4 --replicas=0' },
  { args: 'wait configmap/settings --for=jsonpath={.data.size}=1 --timeout=10s' },
  { args: 'wait configmap/settings --for=jsonpath={.data.size}=2 --timeout=0.1s' },
  { args: 'events' },
  { args: 'logs web' },
  { args: 'delete configmap settings' },
  { args: 'delete configmap settings' },
  { args: 'delete configmap settings --ignore-not-found' },
  { args: 'wait configmap/settings --for=delete --timeout=10s' },
  { args: 'delete services,cronjobs,replicasets,secrets --all' },
  { args: 'get all' },
];

/** Runs them all in a separate namespace. */
async function transcript(kubeconfig: string): Promise<string[]> {
  const namespace = `kubectl-${randomBytes(4).toString('hex')}`;
  const run = async (args: readonly string[], input?: object): Promise<string> => {
    const { stdout, stderr } = await kubectl(kubeconfig, ['-n', namespace, ...args], input && JSON.stringify(input));
    return plain(stdout + stderr, namespace);
  };
  await run(['create', '-f', '-'], { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  const output: string[] = [];
  for (const { args, input } of commands) output.push(`$ kubectl ${args}\n${await run(args.split(' '), input)}`);
  await run(['delete', 'namespace', namespace, '--wait=false']);
  return output;
}

/** Without the values that differ each time. Column widths depend on their content, so white space does not count. */
function plain(text: string, namespace: string): string {
  return (
    text
      .replaceAll(namespace, '{ns}')
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '{uid}')
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, '{time}')
      .replaceAll(/(resourceVersion"?: )"\d+"/g, '$1{version}')
      .replaceAll(/\b\d+[smh](\d+s)?\b(?= |$)/gm, '{age}')
      // Later kubectls print the origin.
      .replaceAll(/(deleted) from \{ns\} namespace/g, '$1')
      // The controllers decide which slices exist.
      .replaceAll(/^Endpoints:.*$/gm, 'Endpoints:')
      .replaceAll(/ {2,}/g, ' ')
      .replaceAll(/ +$/gm, '')
      // The data of a Secret is a map of Go, which has no order.
      .replaceAll(/(?:^\S+: \d+ bytes\n)+/gm, (lines) =>
        lines
          .split(/(?<=\n)/)
          .sort()
          .join(''),
      )
  );
}

const recorded = (): string[] => JSON.parse(readFileSync(recordedFile, 'utf8')) as string[];

t.test('kubectl and the real API server', { skip: noKubectl || noCluster, timeout: 180_000 }, async (t) => {
  const output = await transcript(process.env['SVC_TEST_KUBECONFIG'] ?? '');
  if (process.env['SVC_RECORD_CONFORMANCE']) writeFileSync(recordedFile, `${JSON.stringify(output, undefined, 1)}\n`);
  for (const [index, expected] of recorded().entries()) t.equal(output[index], expected, commands[index]?.args ?? '');
});

t.test('kubectl prints the same for the embedded one', { skip: noKubectl, timeout: 180_000 }, async (t) => {
  const { server } = await startApi(t);
  const output = await transcript(server.kubeconfig);
  for (const [index, expected] of recorded().entries()) t.equal(output[index], expected, commands[index]?.args ?? '');
});
