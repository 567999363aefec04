import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import t from 'tap';
import { createGateMetrics } from '../../../../gate/authz/metrics.ts';
import { createInterceptorMetrics } from '../../../../gate/interceptor/metrics.ts';
import type { ComponentName } from '../../../../infra/manifests/monitoring/component.ts';
import { monitoringComponents } from '../../../../infra/manifests/monitoring/components.ts';
import { dashboardDefinitions } from '../../../../infra/manifests/monitoring/dashboard-definitions.ts';
import { toGrafana } from '../../../../infra/manifests/monitoring/grafana-dashboard.ts';
import { createBusMetrics } from '../../../../runtime/bus/metrics.ts';
import type { KubeObject } from '../../../../runtime/contracts/kubernetes.ts';
import { systemClock } from '../../../../runtime/domain/clock.ts';
import { createControllerMetrics } from '../../../../runtime/kube/controller-metrics.ts';
import { createRequestMetrics } from '../../../../runtime/kube/request-metrics.ts';
import { createMetrics } from '../../../../runtime/process/metrics.ts';
import { freePort, untilListening } from '../../../support/servers.ts';
import { missingProgram } from '../../../support/test-programs.ts';

const root = join(import.meta.dirname, '../../../..');
const queries = dashboardDefinitions.flatMap(({ id, panels }) =>
  panels.flatMap((panel) => panel.queries.map(({ expr }) => ({ id, expr }))),
);

/** Metrics of modules that need a database or routes; a test finds them in the source by these names. */
const standIns = {
  counters: {
    http_requests_total: { status: '200' },
    webhook_requests_total: { verdict: 'accepted' },
    svc_workload_cpu_seconds_total: { namespace: 'shop-prod', kind: 'app', name: 'api' },
    svc_workload_restarts_total: { namespace: 'shop-prod', kind: 'app', name: 'api' },
    svc_workload_oom_kills_total: { namespace: 'shop-prod', kind: 'app', name: 'api' },
  },
  gauges: {
    function_events_backlog: { namespace: 'shop-prod', function: 'f' },
    function_dead_letters: { namespace: 'shop-prod', function: 'f' },
    svc_workload_ready_replicas: { namespace: 'shop-prod', kind: 'app', name: 'api' },
    svc_workload_memory_bytes: { namespace: 'shop-prod', kind: 'app', name: 'api' },
  },
  histograms: { http_request_duration_seconds: { route: '/apps' } },
} as const;

/** The metrics of workloads, by their agreed names, which `docs/reference/metrics.md` has. */
const workloadMetric = /^svc_workload_/;

/** The registries of the platform's processes; each call is work that they do. */
function exporters(): { processes: Record<string, Registry>; work: () => void } {
  const api = createMetrics();
  const workers = createMetrics();
  const controllers = createMetrics();
  const authz = createMetrics();
  const interceptor = createMetrics();
  const bus = createBusMetrics(workers);
  const reconciles = createControllerMetrics(controllers);
  reconciles.register('App', { depth: () => 1, longestRunningMs: () => 2 });
  const requests = createRequestMetrics(controllers);
  const gate = createGateMetrics(authz, {
    view: { ageMs: () => 5, size: () => ({ keys: 1, plans: 1, apps: 1 }) },
    rates: { shared: () => true },
    clock: systemClock,
  });
  const calls = createInterceptorMetrics(interceptor, { inflight: () => 1, waiting: () => 0 });
  const registers = [api];
  const counters = Object.entries(standIns.counters).map(([name, labels]) => {
    const counter = new Counter({ name, help: name, labelNames: Object.keys(labels), registers });
    return () => counter.inc(labels as Record<string, string>);
  });
  for (const [name, labels] of Object.entries(standIns.gauges)) {
    new Gauge({ name, help: name, labelNames: Object.keys(labels), registers }).set(
      labels as Record<string, string>,
      1,
    );
  }
  const histograms = Object.entries(standIns.histograms).map(([name, labels]) => {
    const histogram = new Histogram({ name, help: name, labelNames: Object.keys(labels), registers });
    return () => histogram.observe(labels, 0.1);
  });
  return {
    processes: {
      'console-api': api,
      'svc-workers': workers,
      'svc-controllers': controllers,
      'svc-authz': authz,
      'svc-interceptor': interceptor,
    },
    work() {
      for (const count of [...counters, ...histograms]) count();
      bus.handedOver('rollouts', 1);
      bus.attempted('rollouts', 'done', 0.1);
      reconciles.observe('App', 'error', 0.1);
      requests.count('GET', '/api/v1/pods', 200);
      gate.decided('allow');
      gate.decided('deny_key');
      gate.polled('current' as Parameters<typeof gate.polled>[0]);
      gate.flushFailed();
      const call = calls.of({ namespace: 'shop-prod', name: 'f' });
      call.ended('answered', 500, 0.1);
      call.coldStart(1);
    },
  };
}

function argumentsOf(name: ComponentName): string[] {
  const objects = monitoringComponents({})[name]?.objects({ image: 'x', memory: '64Mi' }) ?? [];
  const workload = objects.at(-1) as KubeObject & {
    spec: { template: { spec: { containers: { args: string[] }[] } } };
  };
  return workload.spec.template.spec.containers[0]?.args ?? [];
}

t.test('each dashboard is complete for Grafana, with ids that do not change', (t) => {
  t.same(
    dashboardDefinitions.map(({ id }) => id),
    ['platform', 'gate', 'workloads', 'queues', 'nodes'],
  );
  for (const definition of dashboardDefinitions) {
    const { panels, uid } = toGrafana(definition) as {
      uid: string;
      panels: { id: number; gridPos: { x: number; y: number; w: number }; targets: { refId: string }[] }[];
    };
    t.equal(uid, `svc-${definition.id}`);
    t.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
    t.equal(new Set(panels.map(({ gridPos }) => `${gridPos.x} ${gridPos.y}`)).size, panels.length);
    for (const { gridPos, targets } of panels) {
      t.ok(gridPos.x + gridPos.w <= 24 && targets.length > 0);
    }
  }
  t.end();
});

t.test('the platform has every metric that the stand-ins of this test stand for', (t) => {
  const sources = ['runtime', 'functions', 'workers', 'gate'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(root, folder, name), 'utf8')),
  );
  const names = Object.values(standIns).flatMap((metrics) => Object.keys(metrics));
  const missing = names.filter(
    (name) => !workloadMetric.test(name) && !sources.some((text) => text.includes(`'${name}'`)),
  );
  t.same(missing, []);
  t.end();
});

const missing = missingProgram('prometheus') || missingProgram('prometheus-node-exporter');

t.test('Prometheus accepts the configuration', { skip: missing }, (t) => {
  const [, configMap] =
    monitoringComponents({ ingressMetrics: 'traefik.kube-system.svc:9100' })['metrics-store']?.objects({
      image: 'x',
      memory: '1Gi',
    }) ?? [];
  const { data } = configMap as unknown as { data: Record<string, string> };
  const folder = t.testdir({ 'prometheus.yaml': data['prometheus.yaml'] ?? '' });
  const file = join(folder, 'prometheus.yaml');
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'config', '--syntax-only', file], {
    encoding: 'utf8',
  });
  t.equal(status, 0, `${stdout}${stderr}`);
  t.end();
});

t.test(
  'every query of the dashboards shows something on the series of the real processes',
  { skip: missing },
  async (t) => {
    const { processes, work } = exporters();
    work();
    const server = createServer((request, response) => {
      const registry = processes[request.url?.slice(1) ?? ''];
      if (registry) work();
      registry?.metrics().then(
        (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
        () => response.writeHead(500).end(),
      );
      if (!registry) response.writeHead(404).end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(() => {
      server.close();
      server.closeAllConnections();
    });
    const target = `127.0.0.1:${(server.address() as AddressInfo).port}`;

    const run = (program: string, parameters: string[]) => {
      const child = spawn(program, parameters, { stdio: 'ignore' });
      t.teardown(async () => {
        child.kill('SIGKILL');
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      });
      return child;
    };
    const nodePort = await freePort();
    // A test has no volume at /node-disk, so the root file system stands for it.
    const own = argumentsOf('node-exporter').filter((word) => !/listen-address|mount-points-exclude/.test(word));
    const exporter = run('prometheus-node-exporter', [
      ...own,
      `--web.listen-address=127.0.0.1:${nodePort}`,
      '--collector.filesystem.mount-points-exclude=^/.+',
      '--collector.filesystem.fs-types-exclude=^$',
    ]);
    await untilListening(nodePort, exporter);

    const port = await freePort();
    const folder = t.testdir({});
    const scrape = (job: string, labels: object, address: string, path: string) => ({
      job_name: `${job}${path}`,
      metrics_path: path,
      static_configs: [{ targets: [address], labels: { job, pod: 'p', node: 'n', ...labels } }],
      metric_relabel_configs: [
        { source_labels: ['mountpoint'], regex: '/', target_label: 'mountpoint', replacement: '/node-disk' },
      ],
    });
    const configuration = {
      global: { scrape_interval: '1s', scrape_timeout: '1s' },
      scrape_configs: [
        ...Object.keys(processes).map((process) => scrape('platform', { process }, target, `/${process}`)),
        scrape('monitoring', { process: 'node-exporter' }, `127.0.0.1:${nodePort}`, '/metrics'),
      ],
    };
    writeFileSync(join(folder, 'prometheus.yaml'), JSON.stringify(configuration));
    const store = run('prometheus', [
      `--config.file=${join(folder, 'prometheus.yaml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ]);
    await untilListening(port, store);
    // It listens before it has read its data, and answers 503 until then.
    while (!(await fetch(`http://127.0.0.1:${port}/-/ready`)).ok) await systemClock.sleep(50);

    const ask = async (expr: string) => {
      const response = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expr)}`);
      return (await response.json()) as { status: string; error?: string; data?: { result: object[] } };
    };
    // Statistics that the kernel of this machine may not have.
    const optional = [
      { metric: /node_pressure/, available: existsSync('/proc/pressure/io') },
      { metric: /node_disk/, available: /\b(?:[sv]d[a-z]|nvme\d+n\d+) /.test(readFileSync('/proc/diskstats', 'utf8')) },
    ];
    for (const { id, expr } of queries) {
      if (optional.some(({ metric, available }) => metric.test(expr) && !available)) continue;
      for (;;) {
        const { status, error, data } = await ask(expr);
        if (status !== 'success') {
          t.fail(`${id}: ${expr}: ${error}`);
          break;
        }
        if ((data?.result.length ?? 0) > 0) {
          t.pass(`${id}: ${expr}`);
          break;
        }
        await systemClock.sleep(250);
      }
    }
  },
);
