import t from 'tap';
import { createLocalAlerts, type LocalAlerts } from '../../../../infra/local/alerts/alerts.ts';
import { createAlertSamples, type Sample } from '../../../../infra/local/alerts/samples.ts';
import { alerts } from '../../../../infra/manifests/monitoring/alert-rules.ts';
import { alertCases, type AlertCase } from '../../manifests/monitoring/alert-cases.ts';

/** The values of a series in promtool's notation; NaN where there is none. */
function valuesOf(text: string): number[] {
  return text.split(' ').flatMap((part) => {
    const [, value = '', step = '', times = '0'] = /^(-?[\d.]+|_)([+-][\d.]+)?(?:x(\d+))?$/.exec(part) ?? [];
    if (value === '') throw new Error(`"${part}" is not in promtool's notation`);
    const count = value === '_' ? Math.max(1, Number(times)) : Number(times) + 1;
    return Array.from({ length: count }, (_, index) => (value === '_' ? NaN : Number(value) + Number(step) * index));
  });
}

/** Adds what each target exports, once a minute, and evaluates as often as Prometheus. @returns the alerts at the end */
function play(local: LocalAlerts, series: AlertCase['series'], minutes: number) {
  const parsed = Object.entries(series).map(([name, values]) => {
    const [, instance = 'x'] = /instance="([^"]*)"/.exec(name) ?? [];
    const text = name.replace(/,?instance="[^"]*"/, '').replace('{,', '{');
    return { instance, text, values: valuesOf(values) };
  });
  const names = [...new Set(parsed.map(({ instance }) => instance))];
  for (let second = 0; second <= minutes * 60; second += 15) {
    if (second % 60 === 0) {
      for (const name of names) {
        const lines = parsed.flatMap(({ instance, text, values }) => {
          const value = values[second / 60] ?? NaN;
          return instance === name && !Number.isNaN(value) ? [`${text} ${value}\n`] : [];
        });
        local.add({ name }, lines.join(''), second);
      }
    }
    local.evaluate(second);
  }
  return local.firing();
}

const sorted = (list: readonly object[]) => list.map((entry) => JSON.stringify(entry)).toSorted();

t.test('every alert fires in the embedded cluster when it fires in Prometheus', (t) => {
  for (const rule of alerts) {
    for (const { what, series, at, fires } of alertCases[rule.name] ?? []) {
      const firing = play(createLocalAlerts([rule]), series, Number.parseInt(at));
      const { name: alertname, severity, scope } = rule;
      const expected = fires.map((labels) => ({ ...labels, alertname, severity, scope }));
      t.same(sorted(firing.map(({ labels }) => labels)), sorted(expected), `${rule.name}: ${what}`);
    }
  }
  t.end();
});

t.test('the texts are complete, and what a program wrote is no template', (t) => {
  const line = 'open /data/{{ $value }}: Read-only file system';
  const workload = 'namespace="shop-prod",kind="App",name="api"';
  const firing = play(
    createLocalAlerts(),
    {
      [`svc_read_only_filesystem{${workload}}`]: '1x9',
      [`svc_read_only_filesystem_info{${workload},line="${line}",volumes="data, files"}`]: '1x9',
      'svc_read_only_filesystem_info{namespace="x",kind="App",name="api",line="other",volumes="z"}': '1x9',
      'svc_schedule_missed{namespace="shop-prod",kind="Job",name="report"}': '1x9',
      'svc_schedule_missed{namespace="other",kind="Job",name="x"}': '0x9',
      svc_process_replicas: '1x9',
    },
    1,
  );
  t.match(sorted(firing.map(({ labels: { alertname }, annotations }) => ({ alertname, annotations }))), [
    /"ReadOnlyFilesystem".*"App api in shop-prod crashed.*"line":"open \/data\/\{\{ \$value \}\}: Read-only file system","volumes":"data, files"/,
    /"SvcScheduleMissed".*"workloads":"Job report "/,
  ]);
  const rules = alerts.filter(({ clusterOnly }) => !clusterOnly);
  for (const { name, summary, description } of rules) {
    const rest = (summary + description).replaceAll(/\{\{ \$(labels\.\w+|value) \}\}/g, '');
    t.notMatch(rest, /\{\{/, `${name} needs nothing else of Prometheus' templates`);
  }
  t.end();
});

t.test('an alert begins anew after it has ended, and keeps its start while only its texts change', (t) => {
  const local = createLocalAlerts(alerts.filter(({ name }) => name === 'SvcGateStale'));
  const at = (second: number, age: number) => {
    local.add({ name: 'svc-authz-1' }, `authz_cache_fresh_seconds ${age}\n`, second);
    local.evaluate(second);
    return local.firing().map(({ startsAt }) => startsAt);
  };
  t.same([at(0, 70), at(15, 85), at(30, 0), at(45, 61)], [[0], [0], [], [45]]);
  local.remove({ name: 'svc-authz-1' });
  local.evaluate(60);
  t.same(local.firing(), [], 'a process that does not answer has no metrics');
  t.end();
});

t.test('a counter that begins again after a restart still counts', (t) => {
  const failures = 'controller_runtime_reconcile_errors_total{controller="App"}';
  const fires = (values: string) => play(createLocalAlerts(), { [failures]: values, svc_process_replicas: '1x60' }, 40);
  t.match(fires('5x3 6x3 0x3 2x60'), [{ labels: { alertname: 'SvcReconcileFailing', controller: 'App' } }]);
  t.same(fires('5x3 6x3 0x3 1x60'), []);
  t.end();
});

t.test('one namespace with very many functions takes a bounded place, and keeps out no other', (t) => {
  const metric = 'function_dead_letters';
  const samples = createAlertSamples(new Map([[metric, 3_600]]));
  const evil = Array.from({ length: 5_000 }, (_, index) => `${metric}{namespace="evil-prod",function="f${index}"} 0\n`);
  for (const at of [0, 60, 120]) {
    samples.add({ name: 'svc-workers-1' }, `${evil.join('')}${metric}{namespace="shop-prod",function="a"} ${at}\n`, at);
  }
  const namespaces = (list: readonly Sample[]) => Map.groupBy(list, ({ labels }) => labels['namespace']);
  const [latest, changes] = [samples.latest(metric), samples.changes(metric, 'delta', 3_600, 120)].map(namespaces);
  t.equal(latest?.get('evil-prod')?.length, 200);
  t.equal(changes?.get('evil-prod')?.length, 200);
  t.match(changes?.get('shop-prod'), [{ value: 120 }]);
  t.end();
});
