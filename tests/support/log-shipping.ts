import { appendFileSync, mkdirSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { LogRecord } from '../../runtime/logs/record.ts';
import type { PodMetadata } from '../../runtime/logs/ship/pod-source.ts';
import { createShipper, type Shipper, type ShipperOptions } from '../../runtime/logs/ship/shipper.ts';
import { acceleratedClock } from './clock.ts';

/** A request that a {@link RecordingStore} received. */
interface Append {
  headers: IncomingHttpHeaders;
  sequence: number;
  records: LogRecord[];
}

/** A log store that keeps what it accepts in memory, and recognises requests that it has stored. */
export interface RecordingStore {
  url: string;
  /** All records, in the order in which they were stored. */
  records: LogRecord[];
  requests: Append[];
  /** Decides about a request; default 204. `hang` never answers, `lose` stores and closes the connection. */
  answer: (append: Append) => { status: number; headers?: Record<string, string> } | 'hang' | 'lose';
  lines(namespace?: string): string[];
  close(): Promise<void>;
}

export async function startRecordingStore(): Promise<RecordingStore> {
  const lastSequence = new Map<string, number>();
  const store: RecordingStore = {
    url: '',
    records: [],
    requests: [],
    answer: () => ({ status: 204 }),
    lines: (namespace) =>
      store.records
        .filter((record) => namespace === undefined || record.namespace === namespace)
        .map(({ line }) => line),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = gunzipSync(Buffer.concat(chunks)).toString();
      const records = text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as LogRecord);
      const append = { headers: request.headers, sequence: Number(request.headers['x-svc-sequence']), records };
      store.requests.push(append);
      const answer = store.answer(append);
      if (answer === 'hang') return;
      const shipper = String(request.headers['x-svc-shipper']);
      if (answer === 'lose' || answer.status === 204) {
        if (append.sequence > (lastSequence.get(shipper) ?? 0)) store.records.push(...records);
        lastSequence.set(shipper, Math.max(append.sequence, lastSequence.get(shipper) ?? 0));
      }
      if (answer === 'lose') response.destroy();
      else response.writeHead(answer.status, answer.headers).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  store.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return store;
}

/** The labels of an app's pod. */
export function appLabels(name: string): Record<string, string> {
  return { 'app.kubernetes.io/managed-by': 'kipper', 'platform.svc/kind': 'App', app: name };
}

/** A node with log files as the kubelet lays them out. */
export interface LogNode {
  /** The folder of pods' logs. */
  logs: string;
  pods: PodMetadata[];
  /** Adds a pod of an app. @returns the folder of its container `app` */
  addPod(namespace: string, name: string, labels?: Record<string, string>): string;
  podFolder(namespace: string, name: string): string;
}

export function createLogNode(folder: string): LogNode {
  const logs = join(folder, 'pods');
  mkdirSync(logs, { recursive: true });
  const uidOf = (namespace: string, name: string) =>
    Buffer.from(`${namespace}/${name}`).toString('hex').padEnd(32, '0').slice(-32);
  const node: LogNode = {
    logs,
    pods: [],
    addPod(namespace, name, labels = appLabels(name)) {
      node.pods.push({ namespace, name, uid: uidOf(namespace, name), labels });
      const container = join(node.podFolder(namespace, name), 'app');
      mkdirSync(container, { recursive: true });
      return container;
    },
    podFolder: (namespace, name) => join(logs, `${namespace}_${name}_${uidOf(namespace, name)}`),
  };
  return node;
}

let written = 0;

/** A line in the format of the container runtime. */
export function criLine(text: string, { tag = 'F', stream = 'stdout' } = {}): string {
  written += 1;
  const time = `2026-01-02T03:04:05.${String(written).padStart(9, '0')}Z`;
  return `${time} ${stream} ${tag} ${text}\n`;
}

/** Appends complete lines to a log file. */
export function writeLines(folder: string, lines: readonly string[], file = '0.log'): void {
  appendFileSync(join(folder, file), lines.map((line) => criLine(line)).join(''));
}

/** A started shipper of a {@link LogNode}. */
export function startShipper(
  folder: string,
  node: LogNode,
  store: { url: string },
  options: Partial<ShipperOptions> & { clock?: Clock } = {},
): Shipper {
  const token = join(folder, 'token');
  appendFileSync(token, '');
  const shipper = createShipper({
    logs: node.logs,
    folder: join(folder, 'state'),
    spoolBytes: 64 * 1024 * 1024,
    store: { url: store.url, tokenFile: token },
    node: 'node-1',
    source: { list: () => Promise.resolve([...node.pods]) },
    // The wall clock stays right over a restart: numbers of requests begin at its time.
    clock: { ...acceleratedClock(20), now: () => new Date() },
    log: () => {},
    ...options,
  });
  shipper.start();
  return shipper;
}

/** The value of a metric, or 0. @param series with its labels, as in the text */
export function metricOf(shipper: Shipper, series: string): number {
  const line = shipper
    .metrics()
    .split('\n')
    .find((text) => text.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? 0);
}
