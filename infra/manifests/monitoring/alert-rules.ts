import {
  absent,
  both,
  count,
  delta,
  increase,
  max,
  min,
  only,
  promql,
  ratio,
  series,
  sum,
  until,
  type Expression,
} from './alert-expression.ts';

/** Whom an alert is about: the platform, or workloads of users, whose alerts are listed after those of the platform. */
type AlertScope = 'platform' | 'workload';

/**
 * Further text of an alert about a workload or an environment, from the samples of a metric with its labels: a label of
 * one of them, or the workloads of up to five of them.
 */
export type AlertDetail = { metric: string; label: 'line' | 'volumes' } | { metric: string; workloads: true };

/** One alert. The texts contain `{{ $labels.name }}` and `{{ $value }}`, also with a format: Prometheus fills them in. */
export interface AlertRule {
  name: string;
  scope: AlertScope;
  /** `critical`: something does not work now. Workload alerts never are: users can cause them. */
  severity: 'critical' | 'warning';
  /**
   * Its labels are the identity of the alert, so they contain nothing that a user writes freely, and their number
   * is bounded.
   */
  expr: Expression;
  /** How long the expression must hold, in seconds; absent: not at all. */
  for?: number;
  /** For the documentation: when it fires. */
  when: string;
  summary: string;
  /** What to do. */
  description: string;
  /** Further annotations, by name. */
  details?: Readonly<Record<string, AlertDetail>>;
  /** Whether it makes no sense in the embedded cluster, such as one about nodes. */
  clusterOnly?: true;
}

const minutes = (number: number) => number * 60;
const hours = (number: number) => number * 3_600;
const hostDisks = [
  ['fstype', 'none of', ['tmpfs', 'ramfs', 'overlay', 'squashfs', 'nsfs']],
  ['mountpoint', 'without', '/pods/'],
] as const;
const recentApps = (outcome: string) => max([], series('svc_recent_deployment_apps', ['outcome', '=', outcome]));
/** A process of which fewer replicas than wanted are ready. */
const replicasMissing = (is: '=' | '!=') =>
  only(
    max(['name'], series('svc_process_ready_replicas', ['name', is, 'svc-authz'])),
    '<',
    max(['name'], series('svc_process_replicas', ['name', is, 'svc-authz'])),
  );

/** All alerts; those of spec 6.4 first (docs/how-to/alerts.md). */
export const alerts: readonly AlertRule[] = [
  {
    name: 'SvcReconcileFailing',
    scope: 'platform',
    severity: 'warning',
    expr: only(sum(['controller'], increase(series('controller_runtime_reconcile_errors_total'), hours(1))), '>=', 3),
    for: minutes(10),
    when: 'A controller recorded three or more errors within the last hour, across all its objects, for ten minutes. What it refuses users does not count.',
    summary: 'The {{ $labels.controller }} controller keeps failing.',
    description:
      'Read its errors: kubectl -n svc-system logs deploy/svc-controllers. Objects of this kind may not follow their settings.',
  },
  {
    name: 'SvcReconcileWedged',
    scope: 'platform',
    severity: 'critical',
    expr: only(
      max(['controller'], series('workqueue_longest_running_processor_seconds', ['controller', '!=', ''])),
      '>',
      300,
    ),
    when: 'One reconcile has run for over five minutes.',
    summary: 'A reconcile of the {{ $labels.controller }} controller has run for over five minutes.',
    description:
      'Read its log, then restart it: kubectl -n svc-system rollout restart deploy/svc-controllers. The object that hangs is not reconciled.',
  },
  {
    name: 'ReadOnlyFilesystem',
    scope: 'workload',
    severity: 'warning',
    expr: only(max(['namespace', 'kind', 'name'], series('svc_read_only_filesystem')), '==', 1),
    when: 'The last log of a container before its death says that its file system is read-only, and it mounts a writable persistent volume. At most three workloads of an environment have this alert at once.',
    summary: '{{ $labels.kind }} {{ $labels.name }} in {{ $labels.namespace }} crashed on a read-only file system.',
    description:
      'Check the disk of its node (svc status on that host names volumes that are mounted read-only), repair it, and delete the pod.',
    details: {
      line: { metric: 'svc_read_only_filesystem_info', label: 'line' },
      volumes: { metric: 'svc_read_only_filesystem_info', label: 'volumes' },
    },
  },
  {
    name: 'SvcGateStale',
    scope: 'platform',
    severity: 'critical',
    expr: only(max([], series('authz_cache_fresh_seconds')), '>', 60),
    when: 'A checker has not proved for a minute that its keys and plans are current. After 90 seconds it denies everything.',
    summary: 'A checker has had no current keys and plans for over a minute.',
    description: 'Check PostgreSQL and its network: kubectl -n svc-system logs deploy/svc-authz.',
  },
  {
    name: 'SvcGateUsageNotWritten',
    scope: 'platform',
    severity: 'warning',
    expr: only(increase(series('authz_rollup_flush_failures_total'), minutes(15)), '>', 0),
    when: 'A checker could not write usage within the last 15 minutes, so usage and quotas may miss requests.',
    summary: 'A checker could not write the usage of keys.',
    description: 'Check PostgreSQL: kubectl -n svc-system logs deploy/svc-authz.',
  },
  {
    name: 'SvcGateRatesNotShared',
    scope: 'platform',
    severity: 'warning',
    expr: only(min([], series('authz_rates_shared')), '==', 0),
    for: minutes(5),
    when: 'A checker could not exchange rates with the others for five minutes, so a key may get its rate from each.',
    summary: 'A checker limits rates on its own.',
    description: 'Read the logs of svc-authz and of PostgreSQL.',
  },
  {
    name: 'SvcGateMemoryFull',
    scope: 'platform',
    severity: 'warning',
    expr: only(max([], series('authz_memory_used_ratio')), '>', 0.9),
    for: minutes(10),
    when: 'A checker has used more than nine tenths of its memory for ten minutes. It holds every key in memory.',
    summary: 'A checker has used more than nine tenths of its memory.',
    description: 'Revoke keys that are not needed, or move to a larger profile than nano.',
  },
  {
    name: 'SvcDenialsNotLogged',
    scope: 'platform',
    severity: 'warning',
    expr: only(sum([], increase(series('authz_denials_not_logged_total'), minutes(15))), '>', 0),
    when: 'More requests were denied within the last 15 minutes than the checkers may log.',
    summary: 'Denied requests were not logged.',
    description:
      'A client floods a gated app: the log names those that were logged. Block the address in front of the ingress.',
  },
  {
    name: 'SvcCheckersDown',
    scope: 'platform',
    severity: 'critical',
    expr: replicasMissing('='),
    for: minutes(5),
    when: 'Fewer checkers than wanted have been ready for five minutes. Without any, gated apps answer no request.',
    summary: 'Only {{ $value }} checkers are ready.',
    description: 'Find out why: kubectl -n svc-system describe pods -l app=svc-authz.',
  },
  {
    name: 'SvcProcessDown',
    scope: 'platform',
    severity: 'critical',
    expr: replicasMissing('!='),
    for: minutes(5),
    when: 'Fewer replicas than wanted of another process or store of the platform have been ready for five minutes.',
    summary: 'Only {{ $value }} replicas of {{ $labels.name }} are ready.',
    description: 'Find out why: kubectl -n svc-system describe pods -l app={{ $labels.name }}.',
  },
  {
    name: 'SvcControllersSilent',
    scope: 'platform',
    severity: 'critical',
    expr: absent('svc_process_replicas'),
    for: minutes(5),
    when: 'The metrics of svc-controllers have been missing for five minutes, so most other alerts cannot fire.',
    summary: 'svc-controllers sends no metrics.',
    description: 'Check that it runs: kubectl -n svc-system get pods -l app=svc-controllers.',
  },
  {
    name: 'SvcQueueOld',
    scope: 'platform',
    severity: 'warning',
    expr: only(max(['queue'], series('svc_work_oldest_due_seconds')), '>', 300),
    for: minutes(5),
    when: 'Work of a queue has been due for over five minutes, for five minutes.',
    summary: 'Work of the queue {{ $labels.queue }} has waited for over five minutes.',
    description: 'Check svc-workers and Redis: kubectl -n svc-system logs deploy/svc-workers.',
  },
  {
    name: 'SvcDeploymentsFailing',
    scope: 'platform',
    severity: 'warning',
    expr: both(only(recentApps('failed'), '>=', 3), only(recentApps('failed'), '>', recentApps('succeeded'))),
    when: 'Deployments of three or more apps failed within the last 30 minutes, and of more apps than deployments succeeded. A project gets notifications of its own about each.',
    summary: 'Deployments of {{ $value }} apps failed within 30 minutes.',
    description: 'Look for a common cause, such as a registry that does not answer: svc deployment list.',
  },
  {
    name: 'SvcDiskFull',
    scope: 'platform',
    severity: 'critical',
    expr: only(
      min(
        ['instance', 'device'],
        ratio(series('node_filesystem_avail_bytes', ...hostDisks), series('node_filesystem_size_bytes', ...hostDisks)),
      ),
      '<',
      0.1,
    ),
    for: minutes(10),
    when: 'A disk of a node has had less than a tenth of its space free for ten minutes.',
    summary: 'The disk {{ $labels.device }} of {{ $labels.instance }} is nearly full.',
    description: 'Free or add space: old images, logs and volumes take most of it.',
  },
  {
    name: 'SvcStoreFull',
    scope: 'platform',
    severity: 'critical',
    expr: only(
      ratio(
        max([], series('svc_database_size_bytes')),
        max([], series('svc_store_capacity_bytes', ['store', '=', 'svc-postgres'])),
      ),
      '>',
      0.8,
    ),
    for: minutes(10),
    when: 'The data of the platform’s PostgreSQL has filled more than four fifths of its volume for ten minutes.',
    summary: 'PostgreSQL has filled {{ $value | humanizePercentage }} of its volume.',
    description: 'Expand the claim data-svc-postgres-0 in svc-system.',
    clusterOnly: true,
  },
  {
    name: 'SvcLogDrainFailing',
    scope: 'platform',
    severity: 'warning',
    expr: only(max([], series('svc_log_drain_failing_seconds')), '>', minutes(15)),
    when: 'The receiver of the log drain has accepted nothing for 15 minutes.',
    summary: 'The log drain sends no lines.',
    description: 'Run svc platform log-drain show. Lines wait in the log store for as long as it keeps them.',
  },
  {
    name: 'SvcLogDrainLosesLines',
    scope: 'platform',
    severity: 'warning',
    expr: only(sum([], increase(series('svc_log_drain_dropped_lines_total'), minutes(15))), '>', 0),
    when: 'Within the last 15 minutes, the receiver of the log drain refused lines, or the log store deleted lines before they were sent.',
    summary: 'The log drain lost lines.',
    description: 'Run svc platform log-drain show: it says how many lines were refused and deleted.',
  },
  {
    name: 'SvcCertificateEnds',
    scope: 'platform',
    severity: 'warning',
    expr: only(
      until(min(['cn'], series('traefik_tls_certs_not_after', ['cn', '!=', 'TRAEFIK DEFAULT CERT']))),
      '<',
      hours(14 * 24),
    ),
    for: hours(1),
    when: 'A certificate of the ingress ends within two weeks. Certificates that renew themselves do so earlier.',
    summary: 'The certificate of {{ $labels.cn }} ends in {{ $value | humanizeDuration }}.',
    description: 'Find out why it is not renewed: read the log of Traefik or cert-manager.',
    clusterOnly: true,
  },
  {
    name: 'SvcScheduleMissed',
    scope: 'workload',
    severity: 'warning',
    expr: count(['namespace'], only(max(['namespace', 'kind', 'name'], series('svc_schedule_missed')), '==', 1)),
    when: 'Scheduled runs of an environment’s functions or jobs did not start. It ends with their next run.',
    summary: 'Scheduled runs in {{ $labels.namespace }} did not start.',
    description: 'Check the Events and the quota of the environment, and the controller manager of the cluster.',
    details: { workloads: { metric: 'svc_schedule_missed', workloads: true } },
  },
  {
    name: 'SvcDeadLettersGrowing',
    scope: 'workload',
    severity: 'warning',
    expr: only(
      sum(['namespace'], max(['namespace', 'function'], delta(series('function_dead_letters'), hours(1)))),
      '>',
      0,
    ),
    when: 'An environment’s functions have more dead letters than an hour ago.',
    summary: 'Functions in {{ $labels.namespace }} fail to handle events.',
    description: 'List what failed and why: svc function dead-letters list <name>.',
  },
  {
    name: 'SvcNodeNotReady',
    scope: 'platform',
    severity: 'critical',
    expr: only(max(['name'], series('svc_node_ready')), '==', 0),
    for: minutes(5),
    when: 'A node of the cluster has not been ready for five minutes.',
    summary: 'The node {{ $labels.name }} is not ready.',
    description: 'Find out why: kubectl describe node {{ $labels.name }}.',
    clusterOnly: true,
  },
];

interface PrometheusRule {
  alert: string;
  expr: string;
  for?: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

/** A file of Prometheus' `rule_files`. As JSON it is also YAML. */
export interface PrometheusRuleFile {
  groups: { name: string; interval: string; rules: PrometheusRule[] }[];
}

/** A detail in Prometheus' language of templates. */
function detailTemplate(detail: AlertDetail): string {
  if ('label' in detail) {
    const query = `printf "${detail.metric}{namespace=%q,kind=%q,name=%q}" $labels.namespace $labels.kind $labels.name`;
    return `{{ with query (${query}) }}{{ . | first | label "${detail.label}" }}{{ end }}`;
  }
  const query = `printf "topk(5, max by (kind, name) (${detail.metric}{namespace=%q}) == 1)" $labels.namespace`;
  return `{{ range query (${query}) }}{{ .Labels.kind }} {{ .Labels.name }} {{ end }}`;
}

/** All {@link alerts} in Prometheus' form. Pure. */
export function alertRules(): PrometheusRuleFile {
  const rules = alerts.map(({ name, expr, for: seconds, severity, scope, summary, description, details = {} }) => ({
    alert: name,
    expr: promql(expr),
    ...(seconds !== undefined && { for: `${seconds}s` }),
    labels: { severity, scope },
    annotations: {
      summary,
      description,
      ...Object.fromEntries(Object.entries(details).map(([key, detail]) => [key, detailTemplate(detail)])),
    },
  }));
  return { groups: [{ name: 'svc', interval: '15s', rules }] };
}
