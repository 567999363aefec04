import { getPriority } from 'node:os';
import t from 'tap';
import type { NodePod } from '../../../../infra/local/node/pod-spec.ts';
import { startNode } from '../../../support/local-node.ts';

/** Of Linux; the test may stand back itself. */
const maxNiceness = 19;

t.test('the API, the controllers, the workers and builds stand back, and what they start', async (t) => {
  const { image, kube, log, until } = await startNode(t);
  await image('tool:1', '');
  // The session gets its niceness just after the program's start.
  const waitForSession = 'for i in $(seq 100); do grep -q "nice $0$" /proc/self/autogroup && break; sleep 0.1; done';
  const script = `nice; sh -c nice; if [ -e /proc/self/autogroup ]; then ${waitForSession}; cat /proc/self/autogroup; fi`;
  const cases: [namespace: string, app: string, niceness: number][] = [
    ['svc-system', 'console-api', 3],
    ['svc-system', 'svc-controllers', 5],
    ['svc-system', 'svc-workers', 10],
    ['svc-system', 'svc-authz', 0],
    ['svc-system', 'svc-interceptor', 0],
    ['svc-builds', 'shop', 5],
    ['shop-prod', 'console-api', 0],
  ];
  for (const [namespace, app, niceness] of cases) {
    const name = `${namespace}-${app}`;
    const pod = await kube.create<NodePod>({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace, labels: { app } },
      spec: {
        restartPolicy: 'Never',
        containers: [{ name: 'main', image: 'tool:1', command: ['sh', '-c', script, String(niceness)] }],
      },
    });
    await until(name, ({ status }) => status?.phase === 'Succeeded');
    const [own, ofChild, session] = (await log(pod, 'main')).split('\n');
    const expected = String(Math.min(maxNiceness, getPriority() + niceness));
    t.same([own, ofChild], [expected, expected], `${app} in ${namespace}`);
    if (session) t.match(session, new RegExp(`nice ${niceness}$`), 'its session, where sessions share the processors');
  }
});
