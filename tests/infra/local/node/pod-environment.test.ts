import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { KubeObject } from '../../../../runtime/contracts/kubernetes.ts';
import type { NodePod } from '../../../../infra/local/node/pod-spec.ts';
import { startNode } from '../../../support/local-node.ts';

const phase = (expected: string) => (pod: NodePod) => pod.status?.phase === expected;
const waitingFor = (reason: string) => (pod: NodePod) =>
  pod.status?.containerStatuses?.some(({ state }) => state?.waiting?.reason === reason) ?? false;
const base64 = (text: string) => Buffer.from(text).toString('base64');
const inDefault = (kind: string, name: string, fields: object): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: 'default' },
  ...fields,
});
const secret = inDefault('Secret', 'keys', { data: { TOKEN: base64('s3cret'), OTHER: base64('other') } });
const settings = inDefault('ConfigMap', 'settings', { data: { 'app.json': '{"a":1}', LEVEL: 'debug' } });

t.test('a container sees its variables as Kubernetes orders and expands them', async (t) => {
  const { image, pod, until, log, kube } = await startNode(t);
  kube.seed(secret, settings);
  const source = `
const names = ['PLAIN', 'BOTH', 'OTHER', 'TOKEN', 'LEVEL', 'NAME', 'IP', 'LABEL', 'LITERAL', 'FROM_IMAGE', 'SVC_HOME', 'HOME'];
console.log(JSON.stringify(Object.fromEntries(names.map((name) => [name, process.env[name]]))));
`;
  await image('env:1', source, { env: { FROM_IMAGE: 'yes', PLAIN: 'image' } });
  await pod('variables', {
    restartPolicy: 'Never',
    containers: [
      {
        name: 'main',
        image: 'env:1',
        envFrom: [{ secretRef: { name: 'keys' } }, { configMapRef: { name: 'settings' } }],
        env: [
          { name: 'PLAIN', value: 'a' },
          { name: 'BOTH', value: '$(PLAIN)-$(TOKEN)-$(NOBODY)' },
          { name: 'LITERAL', value: '$$(PLAIN)' },
          { name: 'OTHER', valueFrom: { secretKeyRef: { name: 'keys', key: 'TOKEN' } } },
          { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
          { name: 'LABEL', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
        ],
      },
    ],
  });
  const ended = await until('variables', phase('Succeeded'));
  const variables = JSON.parse(await log(ended, 'main')) as Record<string, string>;
  const { HOME: home = '', ...rest } = variables;
  t.same(rest, {
    PLAIN: 'a',
    BOTH: 'a-s3cret-$(NOBODY)',
    LITERAL: '$(PLAIN)',
    OTHER: 's3cret',
    TOKEN: 's3cret',
    LEVEL: 'debug',
    NAME: 'variables',
    IP: '127.0.0.1',
    LABEL: 'variables',
    FROM_IMAGE: 'yes',
  });
  t.match(home, ended.metadata.uid, 'nothing of the node itself');
});

t.test('programs of an image come before those of the node, and before those of the machine', async (t) => {
  const { images, folder, pod, until, log } = await startNode(t);
  const context = join(folder, 'programs');
  mkdirSync(join(context, 'bin'), { recursive: true });
  writeFileSync(join(context, 'bin/node'), '#!/bin/sh\necho of the image: "$@"\n', { mode: 0o755 });
  const configuration = { workingDir: '/runtime', programs: '/runtime/bin' };
  await images.add(context, 'own:1', { ...configuration, entrypoint: ['tini', '--', 'node', 'main.mjs'] });
  await pod('own', { restartPolicy: 'Never', containers: [{ name: 'main', image: 'own:1' }] });
  const ended = await until('own', phase('Succeeded'));
  t.equal(await log(ended, 'main'), 'of the image: main.mjs\n');
});

t.test('a variable of a kind that the platform does not write is refused', async (t) => {
  const { image, pod, until } = await startNode(t);
  await image('tool:1', '');
  const env = [{ name: 'HOST', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } }];
  await pod('unsupported', { containers: [{ name: 'main', image: 'tool:1', command: ['true'], env }] });
  const refused = await until('unsupported', waitingFor('CreateContainerConfigError'));
  t.match(refused.status?.containerStatuses?.[0]?.state?.waiting?.message, /status.hostIP.* is not supported/);
});

t.test('a pod waits for a missing image, Secret or volume, and reports which', async (t) => {
  const { image, pod, until, kube } = await startNode(t);
  const env = [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'keys', key: 'TOKEN' } } }];
  await pod('waiting', {
    restartPolicy: 'Never',
    volumes: [{ name: 'settings', configMap: { name: 'settings' } }],
    containers: [{ name: 'main', image: 'later:1', env }],
  });
  kube.seed(settings);
  const imageless = await until('waiting', waitingFor('ErrImageNeverPull'));
  t.match(imageless.status?.containerStatuses?.[0]?.state?.waiting?.message, /svc image build DIR -t later:1/);
  await image('later:1', 'process.exit(process.env.TOKEN === "s3cret" ? 0 : 1)');
  const secretless = await until('waiting', waitingFor('CreateContainerConfigError'));
  t.equal(secretless.status?.containerStatuses?.[0]?.state?.waiting?.message, 'secret "keys" not found');
  kube.seed(secret);
  await until('waiting', phase('Succeeded'));
});

t.test('volumes are mounted at their paths, and a claim outlives its pod', async (t) => {
  const { image, pod, until, log, kube, folder, untilGone } = await startNode(t);
  kube.seed(secret, settings, inDefault('PersistentVolumeClaim', 'data', { spec: {} }));
  const script = `
set -e
cat /etc/keys/TOKEN; cat $SETTINGS; cat token
cat /var/run/secrets/kubernetes.io/serviceaccount/token
echo; [ -f /data/kept ] && cat /data/kept || echo none
echo kept >/data/kept; echo temporary >/tmp/x; cat /tmp/x
`;
  await image('tool:1', '');
  const spec: Parameters<typeof pod>[1] = {
    restartPolicy: 'Never',
    serviceAccountName: 'runner',
    volumes: [
      { name: 'keys', secret: { secretName: 'keys', defaultMode: 0o440 } },
      { name: 'settings', configMap: { name: 'settings' } },
      { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
      { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 'poll', audience: 'poll' } }] } },
    ],
    containers: [
      {
        name: 'main',
        image: 'tool:1',
        command: ['sh', '-c', script.replace('cat token', 'cat /app/tokens/poll')],
        env: [{ name: 'SETTINGS', value: '/etc/settings/app.json' }],
        volumeMounts: [
          { name: 'keys', mountPath: '/etc/keys' },
          { name: 'settings', mountPath: '/etc/settings' },
          { name: 'data', mountPath: '/data' },
          { name: 'token', mountPath: '/app/tokens' },
        ],
      },
    ],
  };
  const expectedLog = (kept: string) =>
    `s3cret{"a":1}token of runner for polltoken of runner for api\n${kept}\ntemporary\n`;
  await pod('first', spec);
  const first = await until('first', phase('Succeeded'));
  t.equal(await log(first, 'main'), expectedLog('none'));
  const volumes = join(folder, 'node/pods', first.metadata.uid, 'volumes');
  t.equal(readFileSync(join(volumes, 'keys/TOKEN'), 'utf8'), 's3cret');
  await kube.delete({ apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'first' });
  await untilGone('first');
  await pod('second', spec);
  t.equal(await log(await until('second', phase('Succeeded')), 'main'), expectedLog('kept'));
});
