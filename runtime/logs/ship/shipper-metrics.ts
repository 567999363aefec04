/** Counts of the shipper. Written by hand, because a library of metrics takes 7 MB. */
export interface ShipperMetrics {
  count(name: CounterName, labels: Readonly<Record<string, string>>, value: number): void;
  /** The text of `/metrics`. @param gauges current values */
  text(gauges: Readonly<Record<GaugeName, number>>): string;
}

const counters = {
  svc_log_shipper_lines_total: 'Lines that were read.',
  svc_log_shipper_bytes_total: 'Bytes of the lines that were read.',
  svc_log_shipper_cut_lines_total: 'Lines of which only the beginning is shipped.',
  svc_log_shipper_sent_lines_total: 'Lines that the log store has acknowledged.',
  svc_log_shipper_dropped_lines_total: 'Lines that were dropped, by reason.',
  svc_log_shipper_lost_files_total: 'Log files that were deleted before they were read.',
  svc_log_shipper_requests_total: 'Requests to the log store, by outcome.',
} as const;

const gauges = {
  svc_log_shipper_lag_seconds: 'The age of the oldest batch that was not sent.',
  svc_log_shipper_spool_bytes: 'The size of the batches that were not sent.',
  svc_log_shipper_spool_lines: 'The lines that were not sent.',
  svc_log_shipper_unread_bytes: 'Bytes of log files that were not read.',
  svc_log_shipper_containers: 'Containers whose logs are read.',
  svc_log_shipper_reachable: 'Whether the last request to the log store succeeded.',
  process_resident_memory_bytes: 'Resident memory size in bytes.',
  process_cpu_seconds_total: 'Total user and system CPU time spent in seconds.',
} as const;

type CounterName = keyof typeof counters;
type GaugeName = keyof typeof gauges;

/** Namespaces come and go; those beyond are counted together. */
const seriesMax = 2_000;

export function createShipperMetrics(): ShipperMetrics {
  const values = new Map<CounterName, Map<string, number>>();
  return {
    count(name, labels, value) {
      const series = values.get(name) ?? new Map<string, number>();
      values.set(name, series);
      const exact = Object.entries(labels)
        .map(([label, text]) => `${label}="${text}"`)
        .join(',');
      const key =
        series.has(exact) || series.size < seriesMax ? exact : exact.replace(/namespace="[^"]*"/, 'namespace=""');
      series.set(key, (series.get(key) ?? 0) + value);
    },
    text(current) {
      const lines: string[] = [];
      for (const [name, help] of Object.entries(counters) as [CounterName, string][]) {
        lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} counter`);
        for (const [labels, value] of values.get(name) ?? []) lines.push(`${name}{${labels}} ${value}`);
      }
      for (const [name, help] of Object.entries(gauges) as [GaugeName, string][]) {
        const type = name === 'process_cpu_seconds_total' ? 'counter' : 'gauge';
        lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, `${name} ${current[name]}`);
      }
      return `${lines.join('\n')}\n`;
    },
  };
}
