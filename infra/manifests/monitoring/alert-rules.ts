/** Whom an alert is about: the platform, or workloads of users, whose alerts are listed after those of the platform. */
type AlertScope = 'platform' | 'workload';

/** One alert. What the texts name in `{{ }}` Prometheus fills in. */
export interface AlertRule {
  name: string;
  scope: AlertScope;
  /** `critical`: something does not work now. Workload alerts never are: users can cause them. */
  severity: 'critical' | 'warning';
  /**
   * PromQL. Its labels are the identity of the alert, so they contain nothing that a user writes freely, and their number
   * is bounded.
   */
  expr: string;
  /** How long the expression must hold, such as `10m`; absent: not at all. */
  for?: string;
  /** For the documentation: when it fires. */
  when: string;
  summary: string;
  /** What to do. */
  description: string;
  /** Further annotations. */
  annotations?: Readonly<Record<string, string>>;
}

/** Bounds how long the list of names in a text becomes. */
const names = (query: string) => `{{ range query (printf ${query}) }}{{ .Labels.kind }} {{ .Labels.name }} {{ end }}`;
const readOnlyInfo = (label: string) =>
  `{{ with query (printf "svc_read_only_filesystem_info{namespace=%q,kind=%q,name=%q}" ` +
  `$labels.namespace $labels.kind $labels.name) }}{{ . | first | label "${label}" }}{{ end }}`;
const hostDisks = 'fstype!~"tmpfs|ramfs|overlay|squashfs|nsfs",mountpoint!~".*/pods/.*"';

/** All alerts; those of spec 6.4 first (docs/how-to/alerts.md). */
export const alerts: readonly AlertRule[] = [
  {
    name: 'SvcReconcileFailing',
    scope: 'platform',
    severity: 'warning',
    expr: 'sum by (controller) (increase(controller_runtime_reconcile_errors_total[1h])) >= 3',
    for: '10m',
    when: 'A controller recorded three or more errors within the last hour, across all its objects, for ten minutes. What it refuses users does not count.',
    summary: 'The {{ $labels.controller }} controller keeps failing.',
    description:
      'Read its errors: kubectl -n svc-system logs deploy/svc-controllers. Objects of this kind may not follow their settings.',
  },
  {
    name: 'SvcReconcileWedged',
    scope: 'platform',
    severity: 'critical',
    expr: 'max by (controller) (workqueue_longest_running_processor_seconds{controller!=""}) > 300',
    when: 'One reconcile has run for over five minutes.',
    summary: 'A reconcile of the {{ $labels.controller }} controller has run for over five minutes.',
    description:
      'Read its log, then restart it: kubectl -n svc-system rollout restart deploy/svc-controllers. The object that hangs is not reconciled.',
  },
  {
    name: 'ReadOnlyFilesystem',
    scope: 'workload',
    severity: 'warning',
    expr: 'max by (namespace, kind, name) (svc_read_only_filesystem) == 1',
    when: 'The last log of a container before its death says that its file system is read-only, and it mounts a writable persistent volume. At most three workloads of an environment have this alert at once.',
    summary: '{{ $labels.kind }} {{ $labels.name }} in {{ $labels.namespace }} crashed on a read-only file system.',
    description:
      'Check the disk of its node (svc status on that host names volumes that are mounted read-only), repair it, and delete the pod.',
    annotations: { line: readOnlyInfo('line'), volumes: readOnlyInfo('volumes') },
  },
  {
    name: 'SvcGateStale',
    scope: 'platform',
    severity: 'critical',
    expr: 'max(authz_cache_fresh_seconds) > 60',
    when: 'A checker has not proved for a minute that its keys and plans are current. After 90 seconds it denies everything.',
    summary: 'A checker has had no current keys and plans for over a minute.',
    description: 'Check PostgreSQL and its network: kubectl -n svc-system logs deploy/svc-authz.',
  },
  {
    name: 'SvcGateUsageNotWritten',
    scope: 'platform',
    severity: 'warning',
    expr: 'increase(authz_rollup_flush_failures_total[15m]) > 0',
    when: 'A checker could not write usage within the last 15 minutes, so usage and quotas may miss requests.',
    summary: 'A checker could not write the usage of keys.',
    description: 'Check PostgreSQL: kubectl -n svc-system logs deploy/svc-authz.',
  },
  {
    name: 'SvcDenialsNotLogged',
    scope: 'platform',
    severity: 'warning',
    expr: 'sum(increase(authz_denials_not_logged_total[15m])) > 0',
    when: 'More requests were denied within the last 15 minutes than the checkers may log.',
    summary: 'Denied requests were not logged.',
    description:
      'A client floods a gated app: the log names those that were logged. Block the address in front of the ingress.',
  },
  {
    name: 'SvcCheckersDown',
    scope: 'platform',
    severity: 'critical',
    expr:
      'max by (name) (svc_process_ready_replicas{name="svc-authz"})' +
      ' < max by (name) (svc_process_replicas{name="svc-authz"})',
    for: '5m',
    when: 'Fewer checkers than wanted have been ready for five minutes. Without any, gated apps answer no request.',
    summary: 'Only {{ $value }} checkers are ready.',
    description: 'Find out why: kubectl -n svc-system describe pods -l app=svc-authz.',
  },
  {
    name: 'SvcProcessDown',
    scope: 'platform',
    severity: 'critical',
    expr:
      'max by (name) (svc_process_ready_replicas{name!="svc-authz"})' +
      ' < max by (name) (svc_process_replicas{name!="svc-authz"})',
    for: '5m',
    when: 'Fewer replicas than wanted of another process or store of the platform have been ready for five minutes.',
    summary: 'Only {{ $value }} replicas of {{ $labels.name }} are ready.',
    description: 'Find out why: kubectl -n svc-system describe pods -l app={{ $labels.name }}.',
  },
  {
    name: 'SvcControllersSilent',
    scope: 'platform',
    severity: 'critical',
    expr: 'absent(svc_process_replicas)',
    for: '5m',
    when: 'The metrics of svc-controllers have been missing for five minutes, so most other alerts cannot fire.',
    summary: 'svc-controllers sends no metrics.',
    description: 'Check that it runs: kubectl -n svc-system get pods -l app=svc-controllers.',
  },
  {
    name: 'SvcQueueOld',
    scope: 'platform',
    severity: 'warning',
    expr: 'max by (queue) (svc_work_oldest_due_seconds) > 300',
    for: '5m',
    when: 'Work of a queue has been due for over five minutes, for five minutes.',
    summary: 'Work of the queue {{ $labels.queue }} has waited for over five minutes.',
    description: 'Check svc-workers and Redis: kubectl -n svc-system logs deploy/svc-workers.',
  },
  {
    name: 'SvcDeploymentsFailing',
    scope: 'platform',
    severity: 'warning',
    expr:
      'max(svc_recent_deployment_apps{outcome="failed"}) >= 3' +
      ' and max(svc_recent_deployment_apps{outcome="failed"}) > max(svc_recent_deployment_apps{outcome="succeeded"})',
    when: 'Deployments of three or more apps failed within the last 30 minutes, and of more apps than deployments succeeded. A project gets notifications of its own about each.',
    summary: 'Deployments of {{ $value }} apps failed within 30 minutes.',
    description: 'Look for a common cause, such as a registry that does not answer: svc deployment list.',
  },
  {
    name: 'SvcDiskFull',
    scope: 'platform',
    severity: 'critical',
    expr:
      `min by (instance, device) (node_filesystem_avail_bytes{${hostDisks}}` +
      ` / node_filesystem_size_bytes{${hostDisks}}) < 0.1`,
    for: '10m',
    when: 'A disk of a node has had less than a tenth of its space free for ten minutes.',
    summary: 'The disk {{ $labels.device }} of {{ $labels.instance }} is nearly full.',
    description: 'Free or add space: old images, logs and volumes take most of it.',
  },
  {
    name: 'SvcStoreFull',
    scope: 'platform',
    severity: 'critical',
    expr: 'max(svc_database_size_bytes) / max(svc_store_capacity_bytes{store="svc-postgres"}) > 0.8',
    for: '10m',
    when: 'The data of the platform’s PostgreSQL has filled more than four fifths of its volume for ten minutes.',
    summary: 'PostgreSQL has filled {{ $value | humanizePercentage }} of its volume.',
    description: 'Expand the claim data-svc-postgres-0 in svc-system.',
  },
  {
    name: 'SvcCertificateEnds',
    scope: 'platform',
    severity: 'warning',
    expr: 'min by (cn) (traefik_tls_certs_not_after{cn!="TRAEFIK DEFAULT CERT"}) - time() < 14 * 86400',
    for: '1h',
    when: 'A certificate of the ingress ends within two weeks. Certificates that renew themselves do so earlier.',
    summary: 'The certificate of {{ $labels.cn }} ends in {{ $value | humanizeDuration }}.',
    description: 'Find out why it is not renewed: read the log of Traefik or cert-manager.',
  },
  {
    name: 'SvcScheduleMissed',
    scope: 'workload',
    severity: 'warning',
    expr: 'count by (namespace) (max by (namespace, kind, name) (svc_schedule_missed) == 1)',
    when: 'Scheduled runs of an environment’s functions or jobs did not start. It ends with their next run.',
    summary: 'Scheduled runs in {{ $labels.namespace }} did not start.',
    description: 'Check the Events and the quota of the environment, and the controller manager of the cluster.',
    annotations: {
      workloads: names('"topk(5, max by (kind, name) (svc_schedule_missed{namespace=%q}) == 1)" $labels.namespace'),
    },
  },
  {
    name: 'SvcDeadLettersGrowing',
    scope: 'workload',
    severity: 'warning',
    expr: 'sum by (namespace) (max by (namespace, function) (delta(function_dead_letters[1h]))) > 0',
    when: 'An environment’s functions have more dead letters than an hour ago.',
    summary: 'Functions in {{ $labels.namespace }} fail to handle events.',
    description: 'List what failed and why: svc function events <name> --dead.',
  },
  {
    name: 'SvcNodeNotReady',
    scope: 'platform',
    severity: 'critical',
    expr: 'max by (name) (svc_node_ready) == 0',
    for: '5m',
    when: 'A node of the cluster has not been ready for five minutes.',
    summary: 'The node {{ $labels.name }} is not ready.',
    description: 'Find out why: kubectl describe node {{ $labels.name }}.',
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

/** All {@link alerts} in Prometheus' form. Pure. */
export function alertRules(): PrometheusRuleFile {
  const rules = alerts.map((alert) => ({
    alert: alert.name,
    expr: alert.expr,
    ...(alert.for !== undefined && { for: alert.for }),
    labels: { severity: alert.severity, scope: alert.scope },
    annotations: { summary: alert.summary, description: alert.description, ...alert.annotations },
  }));
  return { groups: [{ name: 'svc', interval: '15s', rules }] };
}
