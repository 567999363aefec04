import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { alertRules } from '../../../../infra/manifests/monitoring/alert-rules.ts';
import type { Stored } from '../../../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../../../runtime/contracts/pod.ts';
import { kinds } from '../../../../runtime/contracts/resources/kinds.ts';
import { systemClock } from '../../../../runtime/domain/clock.ts';
import { podLabels } from '../../../../runtime/domain/labels.ts';
import { Problem } from '../../../../runtime/domain/problem.ts';
import { createManager } from '../../../../runtime/kube/manager.ts';
import { createAdminServer } from '../../../../runtime/process/admin-server.ts';
import { createAlertStore, type Alert } from '../../../../runtime/services/alert-store.ts';
import { exportState } from '../../../../workers/controllers/state-metrics.ts';
import { fakeKube } from '../../../support/fake-kube.ts';
import { silentLog } from '../../../support/log.ts';
import { freePort } from '../../../support/servers.ts';
import { missingProgram } from '../../../support/test-programs.ts';

const skip = missingProgram('prometheus');

/** The rules with short times: a test cannot wait for an hour. Their thresholds and labels stay. */
function quickRules(): string {
  return JSON.stringify(alertRules())
    .replaceAll('[3600s]', '[1m]')
    .replaceAll('"for":"600s"', '"for":"2s"')
    .replaceAll('> 300', '> 3')
    .replaceAll('"interval":"15s"', '"interval":"1s"');
}

async function startPrometheus(t: Test, target: number): Promise<string> {
  const folder = t.testdir();
  mkdirSync(join(folder, 'data'));
  writeFileSync(join(folder, 'alerts.yaml'), quickRules());
  const configuration = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: [join(folder, 'alerts.yaml')],
    scrape_configs: [{ job_name: 'platform', static_configs: [{ targets: [`127.0.0.1:${target}`] }] }],
  };
  writeFileSync(join(folder, 'prometheus.yaml'), JSON.stringify(configuration));
  const port = await freePort();
  const program = execFile('prometheus', [
    `--config.file=${join(folder, 'prometheus.yaml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]);
  const ended = once(program, 'exit');
  t.teardown(async () => {
    program.kill('SIGKILL');
    await ended;
  });
  return `http://127.0.0.1:${port}`;
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 250));
const app = (name: string) => ({
  apiVersion: 'platform.svc/v1',
  kind: 'App',
  metadata: { name, namespace: 'shop-prod' },
  spec: {},
});

t.test('the real Prometheus fires the alerts of real causes in the controllers', { skip }, async (t) => {
  const registry = new Registry();
  const kube = fakeKube();
  for (const name of ['hanging', 'refused']) kube.seed(app(name));
  // Many, because each is retried with a back-off of its own, and all count.
  for (let count = 0; count < 10; count++) kube.seed(app(`failing-${count}`));
  const manager = createManager({
    kube,
    clock: systemClock,
    log: silentLog,
    registry,
    endProcess: () => undefined,
    lease: { namespace: 'svc-system', name: 'svc-controllers', identity: 'a' },
  });
  const hang = Promise.withResolvers<void>();
  /** One controller for each kind of object, so that each alert has one cause. */
  const controller = (name: string, prefix: string, reconcile: () => Promise<void>) =>
    manager.add({
      name,
      kind: kinds.App,
      reconcile: (request) => (request.name.startsWith(prefix) ? reconcile() : Promise.resolve()),
    });
  controller('Failing', 'failing', () => Promise.reject(new Error('broken')));
  controller('Hanging', 'hanging', () => hang.promise);
  controller('Refused', 'refused', () => Promise.reject(new Problem('name_taken', 'The name is taken.')));
  const line = 'EROFS: read-only file system, open "/data/x"';
  const terminated = { exitCode: 1, message: `starting\n${line}\n`, finishedAt: new Date().toISOString() };
  const pod: Stored<Pod> = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'api-1',
      namespace: 'shop-prod',
      uid: 'u',
      resourceVersion: '1',
      labels: podLabels({ kind: 'App', name: 'api', id: '019a0000-0000-7000-8000-0000000000a1' }, 'serve'),
    },
    spec: {
      containers: [{ name: 'app', volumeMounts: [{ name: 'v', mountPath: '/data' }] }],
      volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'uploads' } }],
    },
    status: { containerStatuses: [{ name: 'app', ready: false, restartCount: 1, lastState: { terminated } }] },
  };
  const none = () => [];
  exportState(
    registry,
    { pods: () => [pod], cronJobs: none, deployments: none, statefulSets: none, nodes: none },
    systemClock,
  );
  const port = await freePort();
  const admin = createAdminServer({ port, registry, ready: () => true });
  await admin.start();
  t.teardown(() => admin.stop());

  // First, because the controllers' first errors come in quick succession, and only an increase counts.
  const store = createAlertStore({ metricsStore: await startPrometheus(t, port) });
  while ((await store.list().catch(() => undefined)) === undefined) await pause();
  manager.start();
  t.teardown(async () => {
    hang.resolve();
    await manager.stop();
  });
  const expected = ['ReadOnlyFilesystem', 'SvcReconcileFailing', 'SvcReconcileWedged'];
  let alerts: Alert[] = [];
  const named = (name: string) => alerts.filter(({ labels }) => labels['alertname'] === name);
  while (!expected.every((name) => named(name).length > 0)) {
    await pause();
    alerts = await store.list();
  }
  t.same(
    named('SvcReconcileFailing').map(({ labels }) => labels['controller']),
    ['Failing'],
    'what a user asked for and was refused fires nothing',
  );
  t.same(
    named('SvcReconcileWedged').map(({ labels }) => labels['controller']),
    ['Hanging'],
  );
  t.match(named('ReadOnlyFilesystem'), [
    {
      labels: { namespace: 'shop-prod', kind: 'App', name: 'api', scope: 'workload' },
      annotations: { line, volumes: 'uploads' },
    },
  ]);
});
