import t from 'tap';
import { isPodReady } from '../../../../runtime/contracts/pod.ts';
import { kinds } from '../../../../runtime/contracts/resources/kinds.ts';
import type { KubeObject } from '../../../../runtime/contracts/kubernetes.ts';
import type { NodePod } from '../../../../infra/local/node/pod-spec.ts';
import { startNode, timeFactor } from '../../../support/local-node.ts';

const main = (pod: NodePod) => pod.status?.containerStatuses?.find(({ name }) => name === 'main');
const ports = [{ name: 'http', containerPort: 8080 }];

t.test('readiness follows the probe; a container that fails its liveness probe is restarted', async (t) => {
  const { image, pod, until } = await startNode(t);
  const source = `
import { createServer } from 'node:http';
const states = { '/ready': 200, '/live': 200 };
createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://x');
  if (searchParams.has('set')) states[pathname] = Number(searchParams.get('set'));
  response.writeHead(searchParams.has('set') ? 200 : states[pathname]).end();
}).listen(process.env.PORT);
`;
  await image('moody:1', source);
  const probe = (path: string) => ({ httpGet: { path, port: 'http' }, periodSeconds: 0.2, failureThreshold: 2 });
  await pod('moody', {
    containers: [
      {
        name: 'main',
        image: 'moody:1',
        ports,
        startupProbe: { tcpSocket: { port: 'http' }, periodSeconds: 1, failureThreshold: 30 },
        readinessProbe: probe('/ready'),
        livenessProbe: probe('/live'),
      },
    ],
  });
  const first = await until('moody', isPodReady);
  const at = `http://127.0.0.1:${first.spec.containers[0]?.ports?.[0]?.containerPort}`;
  await fetch(`${at}/ready?set=503`);
  const unready = await until('moody', (each) => !isPodReady(each));
  t.equal(main(unready)?.restartCount, 0, 'a failed readiness probe restarts nothing');
  await fetch(`${at}/ready?set=200`);
  await until('moody', isPodReady);
  await fetch(`${at}/live?set=500`);
  const restartedPod = await until('moody', (each) => main(each)?.restartCount === 1 && isPodReady(each));
  t.equal(main(restartedPod)?.lastState?.terminated?.exitCode, 143, 'terminated first');
});

t.test('a program that exceeds its memory limit is killed with all its children', async (t) => {
  const { image, pod, until } = await startNode(t);
  await image('tool:1', '');
  const greedy = `const all = []; setInterval(() => all.push(Buffer.alloc(16 * 1024 * 1024, 1)), 20)`;
  await pod('greedy', {
    restartPolicy: 'Never',
    containers: [
      {
        name: 'main',
        image: 'tool:1',
        // The child leaves the group, as PostgreSQL's do.
        command: ['sh', '-c', `setsid node -e '${greedy}' & wait`],
        resources: { limits: { memory: '128Mi' } },
      },
    ],
  });
  const killed = await until('greedy', ({ status }) => status?.phase === 'Failed');
  t.match(main(killed)?.state?.terminated, { exitCode: 137, reason: 'OOMKilled' });
});

t.test('an image that ignores its port is reported', async (t) => {
  const { image, pod, until, kube } = await startNode(t);
  await image('deaf:1', `import { createServer } from 'node:net'; createServer().listen(0, '127.0.0.1');`);
  await pod('deaf', {
    containers: [{ name: 'main', image: 'deaf:1', ports, readinessProbe: { tcpSocket: { port: 'http' } } }],
  });
  const deafPod = await until('deaf', ({ status }) =>
    Boolean(status?.conditions?.some(({ type, message }) => type === 'Ready' && message?.includes('variable PORT'))),
  );
  t.notOk(isPodReady(deafPod));
  const events = kube.all<KubeObject & { reason: string }>(kinds.Event);
  t.ok(events.some(({ reason }) => reason === 'PortIgnored'));
});

t.test('a program that ignores SIGTERM is killed after its grace period', async (t) => {
  const { image, pod, until, untilGone, kube } = await startNode(t);
  await image(
    'stubborn:1',
    `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); (await import('node:fs')).writeFileSync('up', '');`,
  );
  const readinessProbe = { exec: { command: ['test', '-f', 'up'] } };
  await pod('stubborn', {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'main', image: 'stubborn:1', readinessProbe }],
  });
  await until('stubborn', isPodReady);
  const deletedAt = performance.now();
  await kube.delete({ apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'stubborn' });
  await untilGone('stubborn');
  t.ok((performance.now() - deletedAt) * timeFactor >= 900, 'it had its grace period');
});
