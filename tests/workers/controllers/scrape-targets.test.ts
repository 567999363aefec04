import t from 'tap';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import { scrapeTargets } from '../../../workers/controllers/scrape-targets.ts';

function pod(name: string, namespace: string, status: Pod['status'], ports: Record<string, number>): Stored<Pod> {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, uid: name, resourceVersion: '1', labels: { app: name.replace(/-0$/, '') } },
    spec: {
      nodeName: 'one',
      containers: [
        { name: 'a', ports: Object.entries(ports).map(([port, containerPort]) => ({ name: port, containerPort })) },
      ],
    },
    ...(status && { status }),
  };
}

t.test('running pods with a port for metrics are targets, with their process, pod and node', async (t) => {
  const running = { phase: 'Running', podIP: '10.0.0.1' } as const;
  const pods = [
    pod('svc-authz-0', 'svc-system', running, { http: 8080, admin: 8081 }),
    pod('node-exporter-0', 'monitoring', { ...running, podIP: 'fd00::2' }, { metrics: 9100 }),
    pod('svc-redis-0', 'svc-system', running, { store: 6379 }),
    pod('starting-0', 'svc-system', { phase: 'Pending' }, { admin: 8081 }),
    pod('ended-0', 'svc-system', { phase: 'Failed', podIP: '10.0.0.9' }, { admin: 8081 }),
  ];
  t.same(scrapeTargets(pods), [
    { targets: ['10.0.0.1:8081'], labels: { job: 'platform', process: 'svc-authz', pod: 'svc-authz-0', node: 'one' } },
    {
      targets: ['[fd00::2]:9100'],
      labels: { job: 'monitoring', process: 'node-exporter', pod: 'node-exporter-0', node: 'one' },
    },
  ]);
});
