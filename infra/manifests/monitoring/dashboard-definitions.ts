/** The id of Grafana's datasource for the metrics store. */
export const datasourceId = 'metrics';

/** One line, or one line for each combination of labels, in a chart. */
interface Query {
  /** PromQL. */
  expr: string;
  /** With labels in double braces. */
  legend: string;
}

export interface Panel {
  title: string;
  /** Grafana's name of the unit, such as `reqps`, `s`, `bytes`, `percentunit` or `short`. */
  unit: string;
  queries: readonly Query[];
}

export interface Dashboard {
  id: string;
  title: string;
  panels: readonly Panel[];
}

const panel = (title: string, unit: string, ...queries: [expr: string, legend: string][]): Panel => ({
  title,
  unit,
  queries: queries.map(([expr, legend]) => ({ expr, legend })),
});

/** The interval of rates: four scrapes, so that a lost one leaves no gap. */
const range = '1m';
const workload = 'namespace, kind, name';
const workloadName = '{{namespace}} {{kind}} {{name}}';

/** A quantile of a histogram. */
function quantile(share: number, metric: string, by = ''): string {
  const labels = by === '' ? 'le' : `le, ${by}`;
  return `histogram_quantile(${share}, sum by (${labels}) (rate(${metric}_bucket[${range}])))`;
}

const platform: Dashboard = {
  id: 'platform',
  title: 'Platform',
  panels: [
    panel('Processes', 'short', ['sum by (process) (up{job="platform"})', '{{process}}']),
    panel('API requests', 'reqps', [
      `sum by (status) (rate(http_requests_total{process="console-api"}[${range}]))`,
      '{{status}}',
    ]),
    panel(
      'API latency',
      's',
      [quantile(0.5, 'http_request_duration_seconds'), 'p50'],
      [quantile(0.99, 'http_request_duration_seconds'), 'p99'],
    ),
    panel('CPU', 'short', [
      `sum by (process) (rate(process_cpu_seconds_total{job="platform"}[${range}]))`,
      '{{process}}',
    ]),
    panel('Memory', 'bytes', ['max by (process) (process_resident_memory_bytes{job="platform"})', '{{process}}']),
    panel('Event loop lag, p99', 's', [
      'max by (process) (nodejs_eventloop_lag_p99_seconds{job="platform"})',
      '{{process}}',
    ]),
    panel('Webhooks', 'reqps', [`sum by (verdict) (rate(webhook_requests_total[${range}]))`, '{{verdict}}']),
    panel('Kubernetes API requests', 'reqps', [
      `sum by (process, code) (rate(rest_client_requests_total[${range}]))`,
      '{{process}} {{code}}',
    ]),
    panel('Monitoring', 'short', ['sum by (process) (up{job="monitoring"})', '{{process}}']),
  ],
};

const gate: Dashboard = {
  id: 'gate',
  title: 'Gate',
  panels: [
    panel('Decisions', 'reqps', [`sum by (decision) (rate(authz_requests_total[${range}]))`, '{{decision}}']),
    panel('Share of denials', 'percentunit', [
      `sum(rate(authz_requests_total{decision=~"deny_.*|unavailable"}[${range}])) / sum(rate(authz_requests_total[${range}]))`,
      'denied',
    ]),
    panel('Age of keys and plans', 's', ['max by (pod) (authz_cache_fresh_seconds)', '{{pod}}']),
    panel('Usage batches that failed', 'short', [
      'sum by (pod) (increase(authz_rollup_flush_failures_total[15m]))',
      '{{pod}}',
    ]),
    panel('Polls of the change feed', 'reqps', [
      `sum by (outcome) (rate(authz_feed_polls_total[${range}]))`,
      '{{outcome}}',
    ]),
    panel('Checkers', 'short', ['sum(up{process="svc-authz"})', 'up']),
  ],
};

const workloads: Dashboard = {
  id: 'workloads',
  title: 'Workloads',
  panels: [
    panel('Requests of functions', 'reqps', [
      `sum by (namespace, function) (rate(function_requests_total[${range}]))`,
      '{{namespace}} {{function}}',
    ]),
    panel('Errors of functions', 'reqps', [
      `sum by (namespace, function) (rate(function_requests_total{status="5xx"}[${range}]))`,
      '{{namespace}} {{function}}',
    ]),
    panel('Latency of functions, p95', 's', [
      quantile(0.95, 'function_request_duration_seconds', 'namespace, function'),
      '{{namespace}} {{function}}',
    ]),
    panel('Cold starts, p95', 's', [
      quantile(0.95, 'function_cold_start_seconds', 'namespace, function'),
      '{{namespace}} {{function}}',
    ]),
    panel('Held requests', 'short', ['sum(interceptor_held_requests)', 'held']),
    panel('Ready replicas', 'short', [`sum by (${workload}) (svc_workload_ready_replicas)`, workloadName]),
    panel('CPU', 'short', [`sum by (${workload}) (rate(svc_workload_cpu_seconds_total[${range}]))`, workloadName]),
    panel('Memory', 'bytes', [`sum by (${workload}) (svc_workload_memory_bytes)`, workloadName]),
    panel(
      'Restarts and kills for memory in the last hour',
      'short',
      [`sum by (${workload}) (increase(svc_workload_restarts_total[1h])) > 0`, `restarts ${workloadName}`],
      [`sum by (${workload}) (increase(svc_workload_oom_kills_total[1h])) > 0`, `kills ${workloadName}`],
    ),
  ],
};

const queues: Dashboard = {
  id: 'queues',
  title: 'Queues and controllers',
  panels: [
    panel('Attempts', 'reqps', [
      `sum by (queue, outcome) (rate(svc_work_attempts_total[${range}]))`,
      '{{queue}} {{outcome}}',
    ]),
    panel('Duration of attempts, p95', 's', [
      quantile(0.95, 'svc_work_attempt_duration_seconds', 'queue'),
      '{{queue}}',
    ]),
    panel('Work handed over', 'reqps', [`sum by (queue) (rate(svc_work_handed_over_total[${range}]))`, '{{queue}}']),
    panel('Reconciles', 'reqps', [
      `sum by (controller, result) (rate(controller_runtime_reconcile_total[${range}]))`,
      '{{controller}} {{result}}',
    ]),
    panel('Reconcile errors in the last hour', 'short', [
      'sum by (controller) (increase(controller_runtime_reconcile_errors_total[1h]))',
      '{{controller}}',
    ]),
    panel('Duration of reconciles, p99', 's', [
      quantile(0.99, 'controller_runtime_reconcile_time_seconds', 'controller'),
      '{{controller}}',
    ]),
    panel('Depth of the controllers’ queues', 'short', ['max by (controller) (workqueue_depth)', '{{controller}}']),
    panel('Longest running reconcile', 's', [
      'max by (controller) (workqueue_longest_running_processor_seconds)',
      '{{controller}}',
    ]),
    panel('Events that wait', 'short', [
      'sum by (namespace, function) (function_events_backlog)',
      '{{namespace}} {{function}}',
    ]),
    panel('Dead letters', 'short', [
      'sum by (namespace, function) (function_dead_letters)',
      '{{namespace}} {{function}}',
    ]),
  ],
};

const disk = '{mountpoint="/node-disk"}';

const nodes: Dashboard = {
  id: 'nodes',
  title: 'Nodes',
  panels: [
    panel('CPU in use', 'percentunit', [
      `1 - avg by (node) (rate(node_cpu_seconds_total{mode="idle"}[${range}]))`,
      '{{node}}',
    ]),
    panel('Memory in use', 'percentunit', [
      '1 - max by (node) (node_memory_MemAvailable_bytes) / max by (node) (node_memory_MemTotal_bytes)',
      '{{node}}',
    ]),
    panel('Disk in use', 'percentunit', [
      `1 - max by (node) (node_filesystem_avail_bytes${disk}) / max by (node) (node_filesystem_size_bytes${disk})`,
      '{{node}}',
    ]),
    panel('Load per core', 'short', [
      'max by (node) (node_load5) / count by (node) (node_cpu_seconds_total{mode="idle"})',
      '{{node}}',
    ]),
    panel(
      'Waiting for memory and disks',
      'percentunit',
      [`max by (node) (rate(node_pressure_memory_waiting_seconds_total[${range}]))`, 'memory {{node}}'],
      [`max by (node) (rate(node_pressure_io_waiting_seconds_total[${range}]))`, 'disk {{node}}'],
    ),
    panel(
      'Disk reads and writes',
      'Bps',
      [`sum by (node) (rate(node_disk_read_bytes_total[${range}]))`, 'read {{node}}'],
      [`sum by (node) (rate(node_disk_written_bytes_total[${range}]))`, 'written {{node}}'],
    ),
  ],
};

/** The dashboards that are shipped with the platform. */
export const dashboardDefinitions: readonly Dashboard[] = [platform, gate, workloads, queues, nodes];
