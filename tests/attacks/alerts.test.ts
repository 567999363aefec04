import { Registry } from 'prom-client';
import t from 'tap';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import { podLabels } from '../../runtime/domain/labels.ts';
import { alerts } from '../../infra/manifests/monitoring/alert-rules.ts';
import { exportState } from '../../workers/controllers/state-metrics.ts';
import { fakeClock } from '../support/clock.ts';

const now = new Date('2026-11-01T12:00:00Z');

function crash(namespace: string, name: string, message: string): Stored<Pod> {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      uid: `${namespace}/${name}`,
      resourceVersion: '1',
      labels: podLabels({ kind: 'App', name, id: '019a0000-0000-7000-8000-0000000000a1' }, 'serve'),
    },
    spec: {
      containers: [{ name: 'app', volumeMounts: [{ name: 'v', mountPath: '/data' }] }],
      volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }],
    },
    status: {
      containerStatuses: [
        {
          name: 'app',
          ready: false,
          restartCount: 1,
          lastState: { terminated: { exitCode: 1, message, finishedAt: now.toISOString() } },
        },
      ],
    },
  };
}

async function scrape(pods: readonly Stored<Pod>[]): Promise<string[]> {
  const registry = new Registry();
  const none = () => [];
  const state = { pods: () => [...pods], cronJobs: none, deployments: none, statefulSets: none, nodes: none };
  exportState(registry, state, fakeClock(now));
  return (await registry.metrics()).split('\n').filter((line) => line.startsWith('svc_read_only'));
}

t.test('many crash lines of one tenant make three alerts, and none less for another tenant', async (t) => {
  const flood = Array.from({ length: 500 }, (_, at) =>
    crash('evil-prod', `app-${String(at).padStart(3, '0')}`, `Read-only file system ${at}`),
  );
  const series = await scrape([...flood, crash('shop-prod', 'api', 'Read-only file system')]);
  const alertsOf = (namespace: string) =>
    series.filter((line) => line.startsWith('svc_read_only_filesystem{') && line.includes(`"${namespace}"`));
  t.equal(alertsOf('evil-prod').length, 3);
  t.equal(alertsOf('shop-prod').length, 1);
  t.equal(series.length, 8, 'and as many lines');
  t.same(
    (await scrape(flood.toReversed())).filter((line) => line.startsWith('svc_read_only_filesystem{')),
    [...alertsOf('evil-prod')],
  );
});

t.test('another line at each crash is the same alert', async (t) => {
  const identities = new Set<string>();
  for (let round = 0; round < 20; round++) {
    const series = await scrape([crash('shop-prod', 'api', `Read-only file system ${round}`)]);
    for (const line of series) if (line.startsWith('svc_read_only_filesystem{')) identities.add(line);
  }
  t.equal(identities.size, 1);
});

t.test('odd text in a line cannot end the label, hide or bend the text, and is short', async (t) => {
  const lines = [
    'a"} 1\nsvc_read_only_filesystem{namespace="x",kind="App",name="forged"} 1 Read-only file system',
    `${'x'.repeat(100_000)}Read-only file system${'y'.repeat(100_000)}`,
    '\u202EmetsyS\u202C \u0000\u001B[31m Read-only file system \u2028\u200B\\',
    `Read-only file system ${'\u{1F600}'.repeat(200)}`,
  ];
  for (const line of lines) {
    const series = await scrape([crash('shop-prod', 'api', line)]);
    t.equal(series.length, 2, 'one alert and its line');
    const info = series.find((entry) => entry.startsWith('svc_read_only_filesystem_info{')) ?? '';
    const [, quoted = ''] = /,line="((?:[^"\\]|\\.)*)",volumes="data"\} 1$/.exec(info) ?? [];
    t.match(quoted, /Read-only file system/);
    t.ok(quoted.length <= 220 && quoted.isWellFormed());
    t.notMatch(quoted, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  }
});

t.test('no alert that users can cause is critical', (t) => {
  t.same(
    alerts.filter(({ scope, severity }) => scope === 'workload' && severity === 'critical'),
    [],
  );
  t.end();
});
