import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Pool } from 'pg';
import { Registry, type Metric } from 'prom-client';
import t from 'tap';
import { createGateMetrics } from '../../../../gate/authz/metrics.ts';
import { alertRules, alerts } from '../../../../infra/manifests/monitoring/alert-rules.ts';
import { createBusMetrics } from '../../../../runtime/bus/metrics.ts';
import { systemClock } from '../../../../runtime/domain/clock.ts';
import { createLogDrainMetrics } from '../../../../workers/log-drain/metrics.ts';
import { createControllerMetrics } from '../../../../runtime/kube/controller-metrics.ts';
import { exportState } from '../../../../workers/controllers/state-metrics.ts';
import { watchEvents } from '../../../../workers/events/metrics.ts';
import { watchPlatform } from '../../../../workers/housekeeping/metrics.ts';
import { missingProgram } from '../../../support/test-programs.ts';
import { alertCases } from './alert-cases.ts';

const run = promisify(execFile);
const skip = missingProgram('prometheus');

/** Writes the rules and a file of promtool's unit tests. @returns promtool's output, or its error */
async function promtool(folder: string, tests: object[]): Promise<string> {
  writeFileSync(join(folder, 'alerts.yaml'), JSON.stringify(alertRules()));
  const file = join(folder, 'tests.yaml');
  writeFileSync(file, JSON.stringify({ rule_files: ['alerts.yaml'], evaluation_interval: '15s', tests }));
  const ended = await run('promtool', ['test', 'rules', file], { cwd: folder }).catch((error: unknown) => error);
  const { stdout, stderr } = ended as { stdout: string; stderr: string };
  return stdout + stderr;
}

const inputOf = (series: Readonly<Record<string, string>>) =>
  Object.entries(series).map(([name, values]) => ({ series: name, values }));
const selectorOf = (labels: Readonly<Record<string, string>>) =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(',');

t.test('every alert fires for its cause and not for less', { skip }, async (t) => {
  t.same(Object.keys(alertCases).sort(), alerts.map(({ name }) => name).sort(), 'every alert has cases');
  for (const { name, scope, severity } of alerts) {
    const cases = alertCases[name] ?? [];
    t.ok(cases.some(({ fires }) => fires.length > 0) && cases.some(({ fires }) => fires.length === 0), name);
    const tests = cases.map(({ what, series, at, fires }) => ({
      name: `${name}: ${what}`,
      interval: '1m',
      input_series: inputOf(series),
      promql_expr_test: [
        {
          expr: `ALERTS{alertname="${name}",alertstate="firing"}`,
          eval_time: at,
          exp_samples: fires.map((labels) => ({
            labels: `ALERTS{${selectorOf({ alertname: name, alertstate: 'firing', severity, scope, ...labels })}}`,
            value: 1,
          })),
        },
      ],
    }));
    t.match(await promtool(t.testdir(), tests), /SUCCESS/, name);
  }
});

t.test('an alert quotes the last line and the volumes, and foreign text is no template', { skip }, async (t) => {
  const line = 'open /data/{{ query "up" }}: "Read-only file system" \\ {{ .Labels }} <b>\u00e9</b>';
  const workload = { namespace: 'shop-prod', kind: 'App', name: 'api' };
  const [rule] = alertRules().groups[0]?.rules.filter(({ alert }) => alert === 'ReadOnlyFilesystem') ?? [];
  const info = selectorOf({ ...workload, line, volumes: 'data, files' });
  const tests = [
    {
      interval: '1m',
      input_series: inputOf({
        [`svc_read_only_filesystem{${selectorOf(workload)}}`]: '1x9',
        [`svc_read_only_filesystem_info{${info}}`]: '1x9',
      }),
      alert_rule_test: [
        {
          alertname: 'ReadOnlyFilesystem',
          eval_time: '5m',
          exp_alerts: [
            {
              exp_labels: { ...workload, severity: 'warning', scope: 'workload' },
              exp_annotations: {
                summary: 'App api in shop-prod crashed on a read-only file system.',
                description: rule?.annotations['description'],
                line,
                volumes: 'data, files',
              },
            },
          ],
        },
      ],
    },
  ];
  t.match(await promtool(t.testdir(), tests), /SUCCESS/);
});

t.test('the texts of an alert about schedules name the workloads', { skip }, async (t) => {
  const tests = [
    {
      interval: '1m',
      input_series: inputOf({
        'svc_schedule_missed{namespace="shop-prod",kind="Job",name="report"}': '1x9',
        'svc_schedule_missed{namespace="other",kind="Job",name="x"}': '1x9',
      }),
      alert_rule_test: [
        {
          alertname: 'SvcScheduleMissed',
          eval_time: '5m',
          exp_alerts: ['shop-prod', 'other'].map((namespace) => ({
            exp_labels: { namespace, severity: 'warning', scope: 'workload' },
            exp_annotations: {
              summary: `Scheduled runs in ${namespace} did not start.`,
              description: alerts.find(({ name }) => name === 'SvcScheduleMissed')?.description,
              workloads: namespace === 'other' ? 'Job x ' : 'Job report ',
            },
          })),
        },
      ],
    },
  ];
  t.match(await promtool(t.testdir(), tests), /SUCCESS/);
});

t.test('every metric of a rule, with its labels, is exported by a process', (t) => {
  const registry = new Registry();
  const none = () => [];
  createControllerMetrics(registry);
  createGateMetrics(registry, {
    view: { ageMs: () => 0, size: () => ({ keys: 1, plans: 1, apps: 1 }) },
    rates: { shared: () => true },
    clock: systemClock,
  });
  const pool = { query: async () => ({ rows: [] }) } as unknown as Pool;
  createBusMetrics(registry).watch(pool, []);
  createLogDrainMetrics(registry, pool);
  watchEvents(registry, pool);
  watchPlatform(registry, pool);
  exportState(
    registry,
    { pods: none, cronJobs: none, deployments: none, statefulSets: none, nodes: none },
    systemClock,
  );
  const own = new Map(
    registry.getMetricsAsArray().map((metric) => {
      const { name, labelNames = [] } = metric as unknown as Metric & { name: string; labelNames?: string[] };
      return [name, new Set(labelNames)] as const;
    }),
  );
  for (const [metric, labels] of own) {
    const scraped = ['process', 'pod', 'node', 'instance', 'job'].filter((label) => labels.has(label));
    t.same(scraped, [], `${metric} has no label that Prometheus sets for what it scrapes`);
  }
  /** Of node exporter and Traefik. */
  const foreign = new Set(['node_filesystem_avail_bytes', 'node_filesystem_size_bytes', 'traefik_tls_certs_not_after']);
  const keywords = /^(?:sum|max|min|count|topk|by|and|or|absent|time|increase|delta|printf|range|query|end)$/;
  const rules = alertRules().groups[0]?.rules ?? [];
  t.equal(rules.length, alerts.length);
  for (const { alert: name, expr, annotations } of rules) {
    const { line = '', volumes = '', workloads = '' } = annotations;
    const selectors = [expr, line, volumes, workloads].flatMap((text) => [
      ...text.matchAll(/\b([a-z][a-z0-9_]*_[a-z0-9_]+)(?:\{([^}]*)\})?/g),
    ]);
    const metrics = selectors.filter(([, metric = '']) => !keywords.test(metric));
    t.ok(metrics.length > 0, name);
    for (const [, metric = '', labels = ''] of metrics) {
      if (foreign.has(metric)) continue;
      const exported = own.get(metric);
      t.ok(exported, `${name}: ${metric} is exported`);
      for (const [, label = ''] of labels.matchAll(/([a-z_]+)(?:=|!=|=~|!~)["%]/g)) {
        t.ok(exported?.has(label), `${name}: ${metric} has the label ${label}`);
      }
    }
    const [first] = metrics;
    for (const [, list = ''] of expr.matchAll(/by \(([^)]*)\)/g)) {
      if (foreign.has(first?.[1] ?? '')) continue;
      for (const label of list.split(', ')) {
        t.ok(own.get(first?.[1] ?? '')?.has(label), `${name}: ${first?.[1]} has the label ${label}`);
      }
    }
  }
  t.end();
});

t.test('the documentation lists every alert', (t) => {
  const page = readFileSync(join(import.meta.dirname, '../../../../docs/how-to/alerts.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `(\w+)` +\| (.*?) *\|$/gm)].map(([, name, when]) => `${name}: ${when}`);
  t.same(
    rows,
    alerts.map(({ name, when }) => `${name}: ${when}`),
  );
  const embedded = page.slice(page.indexOf('The embedded cluster has no nodes'));
  for (const { name, clusterOnly } of alerts)
    t.equal(embedded.includes(`\`${name}\``), clusterOnly === true || name === 'SvcDiskFull', name);
  t.end();
});
