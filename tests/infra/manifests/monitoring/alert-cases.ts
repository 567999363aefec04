/** Series in promtool's notation (`0+1x10`), and when an alert about them fires. */
export interface AlertCase {
  what: string;
  series: Readonly<Record<string, string>>;
  /** The time of the evaluation, such as `20m`. */
  at: string;
  /** The labels of the alerts that fire then, without severity and scope. */
  fires: Readonly<Record<string, string>>[];
}

const errors = 'controller_runtime_reconcile_errors_total';
const longest = 'workqueue_longest_running_processor_seconds';
const replicas = (process: string, ready: string, desired = '2x40') => ({
  [`svc_process_ready_replicas{name="${process}",instance="a"}`]: ready,
  [`svc_process_replicas{name="${process}",instance="a"}`]: desired,
});
const disk = (labels: string, available: string) => ({
  [`node_filesystem_avail_bytes{instance="n1",${labels}}`]: available,
  [`node_filesystem_size_bytes{instance="n1",${labels}}`]: '100x60',
});
const workload = 'namespace="shop-prod",kind="App",name="api"';
const apps = (failed: number, succeeded: number) => ({
  'svc_recent_deployment_apps{outcome="failed"}': `${failed}x20`,
  'svc_recent_deployment_apps{outcome="succeeded"}': `${succeeded}x20`,
});

/** For each alert at least one case that fires and one that does not; the interval of the series is one minute. */
export const alertCases: Readonly<Record<string, readonly AlertCase[]>> = {
  SvcReconcileFailing: [
    {
      what: 'three errors of two processes',
      series: {
        [`${errors}{controller="App",instance="a"}`]: '0x5 1x5 2x60',
        [`${errors}{controller="App",instance="b"}`]: '0x8 1x60',
        [`${errors}{controller="Job",instance="a"}`]: '0x60',
      },
      at: '25m',
      fires: [{ controller: 'App' }],
    },
    {
      what: 'three errors that have not lasted ten minutes',
      series: { [`${errors}{controller="App"}`]: '0x5 3x60' },
      at: '15m',
      fires: [],
    },
    { what: 'two errors', series: { [`${errors}{controller="App"}`]: '0x5 1x10 2x60' }, at: '40m', fires: [] },
    {
      what: 'three errors more than an hour ago',
      series: { [`${errors}{controller="App"}`]: '0x5 3x120' },
      at: '80m',
      fires: [],
    },
    {
      what: 'many refusals',
      series: {
        'controller_runtime_reconcile_total{controller="App",result="refused"}': '0+5x60',
        [`${errors}{controller="App"}`]: '0x60',
      },
      at: '40m',
      fires: [],
    },
  ],
  SvcReconcileWedged: [
    {
      what: 'one reconcile over five minutes',
      series: {
        [`${longest}{controller="App",name="App",instance="a"}`]: '0 60 120 180 240 300 360',
        [`${longest}{controller="Job",name="Job",instance="a"}`]: '0x10',
      },
      at: '6m',
      fires: [{ controller: 'App' }],
    },
    {
      what: 'one of exactly five minutes, and queues of other programs',
      series: {
        [`${longest}{controller="App",name="App"}`]: '0 60 120 180 240 300',
        [`${longest}{name="x"}`]: '900x9',
      },
      at: '5m',
      fires: [],
    },
  ],
  ReadOnlyFilesystem: [
    {
      what: 'a crash, whatever its line is',
      series: {
        [`svc_read_only_filesystem{${workload},instance="a"}`]: '1x10',
        [`svc_read_only_filesystem_info{${workload},line="a",volumes="data",instance="a"}`]: '1x4',
        [`svc_read_only_filesystem_info{${workload},line="b",volumes="data",instance="a"}`]: '_x4 1x6',
      },
      at: '9m',
      fires: [{ namespace: 'shop-prod', kind: 'App', name: 'api' }],
    },
    { what: 'no crash any more', series: { [`svc_read_only_filesystem{${workload}}`]: '1x3' }, at: '12m', fires: [] },
  ],
  SvcGateStale: [
    {
      what: 'one stale replica of two',
      series: { 'authz_cache_fresh_seconds{instance="a"}': '1x9', 'authz_cache_fresh_seconds{instance="b"}': '61x9' },
      at: '3m',
      fires: [{}],
    },
    {
      what: 'fresh ones and one that just starts',
      series: { 'authz_cache_fresh_seconds{instance="a"}': '60x9', 'authz_cache_fresh_seconds{instance="b"}': '-1x9' },
      at: '3m',
      fires: [],
    },
  ],
  SvcGateRatesNotShared: [
    {
      what: 'one of two checkers',
      series: { 'authz_rates_shared{instance="a"}': '1x20', 'authz_rates_shared{instance="b"}': '1x5 0x15' },
      at: '12m',
      fires: [{}],
    },
    { what: 'a short time', series: { 'authz_rates_shared{instance="a"}': '1x5 0x3 1x10' }, at: '10m', fires: [] },
  ],
  SvcGateMemoryFull: [
    {
      what: 'one of two checkers',
      series: { 'authz_memory_used_ratio{instance="a"}': '0.2x20', 'authz_memory_used_ratio{instance="b"}': '0.95x20' },
      at: '15m',
      fires: [{}],
    },
    {
      what: 'checkers with room',
      series: { 'authz_memory_used_ratio{instance="a"}': '0.89x20' },
      at: '15m',
      fires: [],
    },
  ],
  SvcGateUsageNotWritten: [
    {
      what: 'a batch that failed',
      series: { 'authz_rollup_flush_failures_total{instance="a"}': '0x5 1x20' },
      at: '10m',
      fires: [{ instance: 'a' }],
    },
    {
      what: 'one that failed long ago',
      series: { 'authz_rollup_flush_failures_total{instance="a"}': '0x5 1x60' },
      at: '30m',
      fires: [],
    },
  ],
  SvcDenialsNotLogged: [
    { what: 'some', series: { 'authz_denials_not_logged_total{instance="a"}': '0x5 9x20' }, at: '10m', fires: [{}] },
    { what: 'none', series: { 'authz_denials_not_logged_total{instance="a"}': '9x30' }, at: '10m', fires: [] },
  ],
  SvcCheckersDown: [
    { what: 'one of two', series: replicas('svc-authz', '2x5 1x30'), at: '12m', fires: [{ name: 'svc-authz' }] },
    { what: 'a short rollout', series: replicas('svc-authz', '2x5 1x3 2x30'), at: '12m', fires: [] },
  ],
  SvcProcessDown: [
    {
      what: 'Redis is down',
      series: { ...replicas('svc-redis', '0x30', '1x30'), ...replicas('svc-authz', '0x30') },
      at: '12m',
      fires: [{ name: 'svc-redis' }],
    },
    { what: 'all are ready', series: replicas('svc-workers', '1x30', '1x30'), at: '12m', fires: [] },
  ],
  SvcControllersSilent: [
    { what: 'no series', series: { 'up{job="x"}': '1x30' }, at: '12m', fires: [{}] },
    { what: 'some', series: replicas('svc-workers', '1x30', '1x30'), at: '12m', fires: [] },
  ],
  SvcQueueOld: [
    {
      what: 'a queue that stands still',
      series: {
        'svc_work_oldest_due_seconds{queue="rollouts",instance="a"}': '0+60x30',
        'svc_work_oldest_due_seconds{queue="builds",instance="a"}': '0x30',
      },
      at: '12m',
      fires: [{ queue: 'rollouts' }],
    },
    {
      what: 'a short jam',
      series: { 'svc_work_oldest_due_seconds{queue="rollouts"}': '0x5 400x3 0x30' },
      at: '12m',
      fires: [],
    },
  ],
  SvcDeploymentsFailing: [
    { what: 'most fail', series: apps(3, 2), at: '5m', fires: [{}] },
    { what: 'two apps fail', series: apps(2, 0), at: '5m', fires: [] },
    { what: 'more succeed', series: apps(5, 9), at: '5m', fires: [] },
  ],
  SvcDiskFull: [
    {
      what: 'a full disk, seen at two mount points',
      series: {
        ...disk('device="/dev/sda1",mountpoint="/",fstype="ext4"', '9x60'),
        ...disk('device="/dev/sda1",mountpoint="/var",fstype="ext4"', '9x60'),
      },
      at: '15m',
      fires: [{ instance: 'n1', device: '/dev/sda1' }],
    },
    {
      what: 'a full memory disk, and a full volume of a user',
      series: {
        ...disk('device="tmpfs",mountpoint="/run",fstype="tmpfs"', '1x60'),
        ...disk('device="/dev/sdb",mountpoint="/var/lib/kubelet/pods/u/volumes/x/mount",fstype="ext4"', '1x60'),
        ...disk('device="/dev/sda1",mountpoint="/",fstype="ext4"', '50x60'),
      },
      at: '15m',
      fires: [],
    },
  ],
  SvcStoreFull: [
    {
      what: 'over four fifths',
      series: { svc_database_size_bytes: '81x30', 'svc_store_capacity_bytes{store="svc-postgres"}': '100x30' },
      at: '15m',
      fires: [{}],
    },
    {
      what: 'under them',
      series: {
        svc_database_size_bytes: '79x30',
        'svc_store_capacity_bytes{store="svc-postgres"}': '100x30',
        'svc_store_capacity_bytes{store="svc-redis"}': '1x30',
      },
      at: '15m',
      fires: [],
    },
  ],
  SvcLogDrainFailing: [
    {
      what: 'for 20 minutes',
      series: { 'svc_log_drain_failing_seconds{instance="a"}': '1200x9' },
      at: '5m',
      fires: [{}],
    },
    { what: 'for a minute', series: { 'svc_log_drain_failing_seconds{instance="a"}': '60x9' }, at: '5m', fires: [] },
  ],
  SvcLogDrainLosesLines: [
    {
      what: 'refused ones',
      series: { 'svc_log_drain_dropped_lines_total{reason="refused",instance="a"}': '0x5 9x20' },
      at: '10m',
      fires: [{}],
    },
    { what: 'none', series: { 'svc_log_drain_dropped_lines_total{reason="deleted"}': '9x30' }, at: '10m', fires: [] },
  ],
  SvcCertificateEnds: [
    {
      what: 'ends in a week',
      series: {
        'traefik_tls_certs_not_after{cn="a.example.com",serial="1"}': `${7 * 86_400}x90`,
        'traefik_tls_certs_not_after{cn="TRAEFIK DEFAULT CERT",serial="2"}': '9x90',
      },
      at: '70m',
      fires: [{ cn: 'a.example.com' }],
    },
    {
      what: 'ends in a month',
      series: { 'traefik_tls_certs_not_after{cn="a.example.com"}': `${30 * 86_400}x90` },
      at: '70m',
      fires: [],
    },
  ],
  SvcScheduleMissed: [
    {
      what: 'one alert for an environment',
      series: {
        'svc_schedule_missed{namespace="shop-prod",kind="Function",name="a",instance="x"}': '1x9',
        'svc_schedule_missed{namespace="shop-prod",kind="Job",name="b",instance="x"}': '1x9',
      },
      at: '5m',
      fires: [{ namespace: 'shop-prod' }],
    },
    {
      what: 'it has started since',
      series: { 'svc_schedule_missed{namespace="shop-prod",kind="Job",name="b"}': '1x2' },
      at: '9m',
      fires: [],
    },
  ],
  SvcDeadLettersGrowing: [
    {
      what: 'more than before, as two workers see it',
      series: {
        'function_dead_letters{namespace="shop-prod",function="a",instance="x"}': '0x5 2x60',
        'function_dead_letters{namespace="shop-prod",function="a",instance="y"}': '0x5 2x60',
      },
      at: '30m',
      fires: [{ namespace: 'shop-prod' }],
    },
    {
      what: 'old ones, and ones that were removed',
      series: {
        'function_dead_letters{namespace="shop-prod",function="a"}': '5x60',
        'function_dead_letters{namespace="shop-prod",function="b"}': '5x10 0x50',
      },
      at: '30m',
      fires: [],
    },
  ],
  SvcNodeNotReady: [
    {
      what: 'one of two',
      series: { 'svc_node_ready{name="n1"}': '1x30', 'svc_node_ready{name="n2"}': '1x3 0x30' },
      at: '10m',
      fires: [{ name: 'n2' }],
    },
    { what: 'a restart', series: { 'svc_node_ready{name="n1"}': '1x3 0x3 1x30' }, at: '10m', fires: [] },
  ],
};
