/** The kinds of workloads whose logs are kept. */
export const logKinds = ['app', 'function', 'job', 'service', 'build', 'platform'] as const;

export type LogKind = (typeof logKinds)[number];

/** One line that a container printed, as the log store keeps it. */
export interface LogRecord {
  namespace: string;
  pod: string;
  container: string;
  /** Labels of the pod that say what it belongs to: kind and name of the workload (runtime/domain/labels.ts). */
  workload: { kind: LogKind; name: string };
  /** RFC 3339 in UTC with nine decimals, as the kubelet wrote it. */
  time: string;
  stream: 'stdout' | 'stderr';
  line: string;
}

/** A line in the store. `id` increases with every line that the store accepts, so lines of one time have an order. */
export interface StoredLine extends Pick<LogRecord, 'pod' | 'container' | 'time' | 'stream' | 'line'> {
  id: number;
}

/** Maximum characters of a line; longer ones are cut, so that one line cannot fill the memory of a reader. */
export const lineMaxLength = 256 * 1024;

const timeShape = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/;
const nameShape = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;
const labelShape = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Whether a text can name a namespace, a workload or a container: it is used in paths of files. */
export function isLabel(text: unknown): text is string {
  return typeof text === 'string' && labelShape.test(text);
}

/** Whether a text can name a pod or a node. */
export function isPodName(text: unknown): text is string {
  return typeof text === 'string' && nameShape.test(text);
}

/** Whether a text is a time as in {@link LogRecord}. */
export function isLogTime(text: unknown): text is string {
  return typeof text === 'string' && timeShape.test(text) && !Number.isNaN(Date.parse(text));
}

const writtenShape =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

/**
 * A time as in {@link LogRecord} from one of a container runtime or a kubelet. They write the local time of their node, and
 * some omit zeros at the end.
 * @returns undefined for another text
 */
export function utcLogTime(text: string): string | undefined {
  const match = writtenShape.exec(text);
  if (!match) return undefined;
  const [, seconds = '', decimals = '', zone = 'Z'] = match;
  if (zone === 'Z') return decimals.length === 9 ? text : `${seconds}.${decimals.padEnd(9, '0')}Z`;
  const utc = new Date(`${seconds}${zone}`);
  if (Number.isNaN(utc.getTime())) return undefined;
  return `${utc.toISOString().slice(0, 19)}.${decimals.padEnd(9, '0')}Z`;
}

/** The beginning of a line whose rest is not kept. */
export function withCutMark(head: string, bytes: number): string {
  return `${head} [cut after ${bytes} bytes]`;
}

const cutMark = / \[cut after \d{1,9} bytes\]$/;
const cutMarkMaxLength = 40;

/** What {@link withCutMark} was given; undefined for a line without such a mark. */
export function headOfCutLine(line: string): string | undefined {
  const length = cutMark.exec(line.slice(-cutMarkMaxLength))?.[0].length;
  return length === undefined ? undefined : line.slice(0, -length);
}

/** A time as in {@link LogRecord}. */
export function logTime(date: Date): string {
  return date.toISOString().replace('Z', '000000Z');
}

/** Checks a record from outside; undefined for one that the store cannot keep. */
export function parseRecord(value: unknown): LogRecord | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { namespace, pod, container, workload, time, stream, line } = value as Partial<Record<string, unknown>>;
  const { kind, name } = (workload ?? {}) as Partial<Record<string, unknown>>;
  const logKind = logKinds.find((candidate) => candidate === kind);
  if (!isLabel(namespace) || !isLabel(container) || !isLabel(name) || !isLogTime(time) || !logKind) return undefined;
  if (!isPodName(pod) || typeof line !== 'string') return undefined;
  if (stream !== 'stdout' && stream !== 'stderr') return undefined;
  return { namespace, pod, container, workload: { kind: logKind, name }, time, stream, line: cutLine(line) };
}

/** Well-formed, because strict parsers refuse JSON with half of a surrogate pair, and all lines that are sent with it. */
function cutLine(line: string): string {
  return line.slice(0, lineMaxLength).toWellFormed();
}
