import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import t from 'tap';
import { isPodReady } from '../../../../runtime/contracts/pod.ts';
import type { NodePod } from '../../../../infra/local/node/pod-spec.ts';
import { startNode } from '../../../support/local-node.ts';

const stateOf = (pod: NodePod, container: string) =>
  [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])].find(
    ({ name }) => name === container,
  );
const phase = (expected: string) => (pod: NodePod) => pod.status?.phase === expected;

const server = `
import { createServer } from 'node:http';
import { hostname } from 'node:os';
console.log('listening at', process.env.PORT);
createServer((request, response) => response.end(hostname() + ' ' + request.url)).listen(Number(process.env.PORT));
process.on('SIGTERM', () => { console.log('asked to go'); process.exit(0); });
`;
const probe = { tcpSocket: { port: 'http' }, periodSeconds: 1 };
const ports = [{ name: 'http', containerPort: 8080 }];

t.test('a pod gets its own port, is ready when it listens, and ends when it is deleted', async (t) => {
  const { image, pod, until, untilGone, kube } = await startNode(t);
  await image('web:1', server);
  for (const name of ['one', 'two']) {
    await pod(name, { containers: [{ name: 'web', image: 'web:1', ports, readinessProbe: probe }] });
  }
  const pods = await Promise.all(['one', 'two'].map((name) => until(name, isPodReady)));
  const numbers = pods.map(({ spec }) => spec.containers[0]?.ports?.[0]?.containerPort);
  t.equal(new Set([...numbers, 8080]).size, 3);
  for (const [index, { metadata, status, spec }] of pods.entries()) {
    t.equal(spec.nodeName, 'local');
    t.equal(metadata.annotations?.['platform.svc/container-ports'], `{"8080":${numbers[index]}}`);
    const response = await fetch(`http://${status?.podIP}:${numbers[index]}/x`);
    t.equal(await response.text(), `${metadata.name} /x`, 'a pod has a name of its own');
    await t.rejects(fetch(`http://127.0.0.2:${numbers[index]}/x`), 'it listens at no other address');
  }
  await kube.delete({ apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'one' });
  await untilGone('one');
  await t.rejects(fetch(`http://127.0.0.1:${numbers[0]}/`), 'nothing listens there any longer');
  t.equal((await fetch(`http://127.0.0.1:${numbers[1]}/`)).status, 200, 'the other pod still runs');
});

t.test('init containers run first, one after the other; sidecars before and after the main ones', async (t) => {
  const { image, pod, until, folder } = await startNode(t);
  const touch = (text: string) => ['sh', '-c', `echo ${text} >>/shared/order`];
  await image('tool:1', '');
  const volumeMounts = [{ name: 'shared', mountPath: '/shared' }];
  const common = { image: 'tool:1', volumeMounts };
  await pod('ordered', {
    restartPolicy: 'Never',
    volumes: [{ name: 'shared', emptyDir: {} }],
    initContainers: [
      { name: 'first', ...common, command: touch('first') },
      {
        name: 'side',
        ...common,
        restartPolicy: 'Always',
        command: [
          'sh',
          '-c',
          'trap "echo side >>/shared/order; exit 0" TERM; echo up >>/shared/order; while :; do sleep 0.05; done',
        ],
        startupProbe: { exec: { command: ['grep', '-q', 'up', '/shared/order'] }, periodSeconds: 1 },
      },
      { name: 'last', ...common, command: touch('last') },
    ],
    containers: [{ name: 'main', ...common, command: touch('main') }],
  });
  const ended = await until('ordered', phase('Succeeded'));
  const order = readFileSync(`${folder}/node/pods/${ended.metadata.uid}/volumes/shared/order`, 'utf8');
  t.same(order.split('\n').filter(Boolean), ['first', 'up', 'last', 'main', 'side']);
});

t.test('a failed container is restarted with growing delays, and the reason is reported', async (t) => {
  const { image, pod, until, log } = await startNode(t);
  await image('bad:1', `console.error('no, ' + process.env.WHY); process.exit(3);`);
  await pod('failing', {
    containers: [
      {
        name: 'main',
        image: 'bad:1',
        env: [{ name: 'WHY', value: 'because' }],
        terminationMessagePolicy: 'FallbackToLogsOnError',
      },
    ],
  });
  const waiting = await until(
    'failing',
    (each) => stateOf(each, 'main')?.state?.waiting?.reason === 'CrashLoopBackOff',
  );
  t.match(stateOf(waiting, 'main')?.lastState?.terminated, { exitCode: 3, reason: 'Error', message: 'no, because' });
  const later = await until('failing', (each) => (stateOf(each, 'main')?.restartCount ?? 0) >= 3);
  t.equal(later.status?.phase, 'Running');
  t.equal(await log(later, 'main', { previous: true }), 'no, because\n');
});

t.test('the restart policies Never and OnFailure are followed', async (t) => {
  const { image, pod, until } = await startNode(t);
  await image('exit:1', 'process.exit(Number(process.env.CODE))');
  const withCode = (code: number) => [{ name: 'main', image: 'exit:1', env: [{ name: 'CODE', value: String(code) }] }];
  await pod('never-fails', { restartPolicy: 'Never', containers: withCode(0) });
  await pod('never', { restartPolicy: 'Never', containers: withCode(4) });
  await pod('on-failure', { restartPolicy: 'OnFailure', containers: withCode(5) });
  t.match(stateOf(await until('never-fails', phase('Succeeded')), 'main')?.state?.terminated, { reason: 'Completed' });
  const failed = await until('never', phase('Failed'));
  t.equal(stateOf(failed, 'main')?.state?.terminated?.exitCode, 4);
  await until('on-failure', (each) => (stateOf(each, 'main')?.restartCount ?? 0) >= 2);
});

t.test('a program gets another port when its port is used before it listens', async (t) => {
  const { image, pod, until } = await startNode(t);
  const declared = 8080;
  const numbered = { tcpSocket: { port: declared }, periodSeconds: 1 };
  const container = { name: 'main', image: 'late:1', ports: [{ containerPort: declared }], readinessProbe: numbered };
  await pod('late', { containers: [container] });
  const portOf = ({ spec }: NodePod) => spec.containers[0]?.ports?.[0]?.containerPort;
  const bound = await until('late', (seen) => portOf(seen) !== declared);
  const thief = createServer().listen(portOf(bound), '127.0.0.1');
  t.teardown(() => thief.close());
  await once(thief, 'listening');
  await image('late:1', `(await import('node:http')).createServer().listen(Number(process.env.PORT), '127.0.0.1')`);
  // The other process answers the probe of the first port too.
  const ready = await until('late', (seen) => portOf(seen) !== portOf(bound) && isPodReady(seen));
  t.equal(ready.spec.containers[0]?.readinessProbe?.tcpSocket?.port, portOf(ready), 'probes of the named port follow');
});
