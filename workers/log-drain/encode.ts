import type { LogDrainFormat } from '../../runtime/domain/log-drain.ts';
import { logLevels, severityOf } from '../../runtime/domain/log-level.ts';
import type { FedLine } from '../../runtime/logs/feed.ts';

/** The body of a request, before compression. */
export interface EncodedLines {
  contentType: string;
  body: string;
}

/** Lines in the wire format of a drain. Pure. */
export function encodeLines(format: LogDrainFormat, lines: readonly FedLine[]): EncodedLines {
  return encoders[format](lines);
}

const encoders: Readonly<Record<LogDrainFormat, (lines: readonly FedLine[]) => EncodedLines>> = {
  loki: (lines) => ({ contentType: 'application/json', body: JSON.stringify({ streams: lokiStreams(lines) }) }),
  otlp: (lines) => ({ contentType: 'application/json', body: JSON.stringify({ resourceLogs: resourceLogs(lines) }) }),
  json: (lines) => ({
    contentType: 'application/x-ndjson',
    body: lines.map((line) => `${JSON.stringify(jsonLine(line))}\n`).join(''),
  }),
};

/** One stream for each container, as agents of Kubernetes label them. https://grafana.com/docs/loki/latest/reference/loki-http-api/ */
function lokiStreams(lines: readonly FedLine[]) {
  return grouped(lines, ({ stream }) => stream).map(([first, ...rest]) => {
    const { namespace, workload, pod, container, stream } = first;
    return {
      stream: { namespace, kind: workload.kind, workload: workload.name, pod, container, stream },
      values: [first, ...rest].map(({ time, line }) => [nanoseconds(time), line]),
    };
  });
}

/** One resource for each container. https://opentelemetry.io/docs/specs/otlp/#otlphttp */
function resourceLogs(lines: readonly FedLine[]) {
  return grouped(lines, () => '').map(([first, ...rest]) => {
    const { namespace, workload, pod, container } = first;
    return {
      resource: {
        attributes: attributes({
          'service.name': workload.name,
          'service.namespace': namespace,
          'k8s.namespace.name': namespace,
          'k8s.pod.name': pod,
          'k8s.container.name': container,
          'svc.workload.kind': workload.kind,
        }),
      },
      scopeLogs: [{ scope: { name: 'svc' }, logRecords: [first, ...rest].map(logRecord) }],
    };
  });
}

function logRecord({ time, stream, line }: FedLine) {
  const severity = severityOf(line);
  return {
    timeUnixNano: nanoseconds(time),
    observedTimeUnixNano: nanoseconds(time),
    // Trace is 1, debug 5, and so on to fatal, 21.
    ...(severity !== undefined && { severityNumber: 1 + 4 * severity, severityText: logLevels[severity] }),
    body: { stringValue: line },
    attributes: attributes({ 'log.iostream': stream }),
  };
}

function attributes(values: Readonly<Record<string, string>>) {
  return Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } }));
}

function jsonLine({ time, namespace, workload, pod, container, stream, line }: FedLine) {
  return { time, namespace, kind: workload.kind, workload: workload.name, pod, container, stream, line };
}

/** The lines of each container, by time. */
function grouped(lines: readonly FedLine[], part: (line: FedLine) => string): [FedLine, ...FedLine[]][] {
  const groups = new Map<string, [FedLine, ...FedLine[]]>();
  for (const line of lines) {
    const { namespace, workload, pod, container } = line;
    const key = [namespace, workload.kind, workload.name, pod, container, part(line)].join('/');
    const group = groups.get(key);
    if (group) group.push(line);
    else groups.set(key, [line]);
  }
  for (const group of groups.values()) group.sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : a.id - b.id));
  return [...groups.values()];
}

/** Nanoseconds since 1970 as text, because a number cannot hold them. */
function nanoseconds(time: string): string {
  return `${Date.parse(`${time.slice(0, 19)}Z`) / 1000}${time.slice(20, 29)}`;
}
