import { join } from 'node:path';
import type { Clock } from '../../domain/clock.ts';
import { fs, zlib } from './builtins.ts';
import type { ContainerEvents } from './container-log.ts';
import { createPendingBudget } from './line-joiner.ts';
import { openRegular } from './log-file.ts';
import { createPendingRecords } from './pending-records.ts';
import { createPodFolders, type LineSource, type ShippedContainer } from './pod-folders.ts';
import type { PodSource } from './pod-source.ts';
import { createSender } from './sender.ts';
import { createShipperMetrics } from './shipper-metrics.ts';
import { createSpool, type BatchContent } from './spool.ts';
import { readState, writeState } from './state.ts';

const tickMs = 500;
const scanMs = 1_000;
/** Lines wait this long for others, which compress better together; longer while the store cannot be reached. */
const commitMs = { reachable: 1_000, unreachable: 10_000 };
/** A commit does not wait for its time with this much to store. */
const commitBytes = 512 * 1024;
/** Maximum bytes of one batch before compression. */
const batchBytes = 256 * 1024;
/** A commit may begin late, after a container's turn. */
const recordsBytes = 2 * commitBytes;
/** Fast, and with little memory. */
const compression = { level: 1, memLevel: 7 };
/** Maximum bytes in one tick: 6 MiB a second for the node and 4 MiB for a namespace keep the use of CPU bounded. */
const tickBytes = { node: 3 * 1024 * 1024, namespace: 2 * 1024 * 1024 };
/** Bytes that are read of one container before the next has its turn. */
const turnBytes = 128 * 1024;
/** Memory for lines of which the rest is not yet written. */
const pendingBytes = 2 * 1024 * 1024;
/** Bytes of lines after which the memory of former batches is freed. */
const collectBytes = 4 * 1024 * 1024;
/** Maximum bytes of a compressed log file that are unpacked. */
const unpackMaxBytes = 512 * 1024 * 1024;

export interface ShipperOptions {
  /** The kubelet's folder of pods' logs, /var/log/pods. */
  logs: string;
  /** The folder of the shipper's own state, which outlives its pod. */
  folder: string;
  /** Maximum bytes of lines that wait for the store. */
  spoolBytes: number;
  store: { url: string; tokenFile: string };
  /** The name of the node. */
  node: string;
  source: PodSource;
  clock: Clock;
  /** Frees memory of former batches. V8 counts buffers too little to do so in time. */
  collectGarbage?: () => void;
  log: (level: 'info' | 'warn' | 'error', msg: string, fields?: Readonly<Record<string, unknown>>) => void;
}

/** Ships the logs of the platform's pods on one node. */
export interface Shipper {
  start(): void;
  /** Stores the positions and stops. */
  stop(): Promise<void>;
  /** Whether the first look at the folder of logs is complete. */
  ready(): boolean;
  /** Whether the loop runs. */
  healthy(): boolean;
  metrics(): string;
}

export function createShipper(options: ShipperOptions): Shipper {
  const { logs, folder, spoolBytes, store, node, source, clock, collectGarbage, log } = options;
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const saved = readState(folder);
  const dropped = saved?.dropped ?? {};
  const metrics = createShipperMetrics();
  const budget = createPendingBudget(pendingBytes);
  const stopping = new AbortController();
  /** What was read since the last commit. */
  const pending = createPendingRecords(recordsBytes, batchBytes);
  let committedAt = 0;
  /** Bytes of lines that were committed since the last collection. */
  let uncollected = 0;
  let changed = false;
  let scannedAt: number | undefined;
  let tickedAt = clock.monotonic();
  let running: Promise<void> | undefined;
  let firstNamespace = 0;
  let unpacking = Promise.resolve();

  const drop = (namespace: string, lines: number, reason: string) => {
    const reasons = (dropped[namespace] ??= {});
    reasons[reason] = (reasons[reason] ?? 0) + lines;
    metrics.count('svc_log_shipper_dropped_lines_total', { namespace, reason }, lines);
    changed = true;
  };
  for (const [namespace, reasons] of Object.entries(dropped)) {
    for (const [reason, lines] of Object.entries(reasons)) {
      metrics.count('svc_log_shipper_dropped_lines_total', { namespace, reason }, lines);
    }
  }

  const spool = createSpool({
    folder: join(folder, 'batches'),
    maxBytes: spoolBytes,
    last: saved?.batch ?? 0,
    dropped: (namespace, lines) => drop(namespace, lines, 'spool_full'),
    now: () => clock.now().getTime(),
  });
  const sender = createSender({
    url: store.url,
    tokenFile: store.tokenFile,
    shipper: node,
    folder,
    spool,
    clock,
    events: {
      sent: (namespace, lines) => metrics.count('svc_log_shipper_sent_lines_total', { namespace }, lines),
      refused: (namespace, lines) => drop(namespace, lines, 'refused'),
      request: (outcome) => metrics.count('svc_log_shipper_requests_total', { outcome }, 1),
      reachable(reachable, reason) {
        if (reachable) log('info', 'the log store accepts lines again');
        else log('warn', 'the log store does not accept lines; they are kept on disk', { reason });
      },
    },
  });

  const events = (source: LineSource): ContainerEvents => {
    const { namespace } = source;
    const labels = { namespace };
    const start = JSON.stringify(source).slice(0, -1);
    return {
      line({ time, stream, text, cut }) {
        pending.add(namespace, `${start},"time":"${time}","stream":"${stream}","line":${JSON.stringify(text)}}\n`);
        metrics.count('svc_log_shipper_lines_total', labels, 1);
        metrics.count('svc_log_shipper_bytes_total', labels, text.length);
        if (cut) metrics.count('svc_log_shipper_cut_lines_total', labels, 1);
      },
      dropped: (lines, reason) => drop(namespace, lines, reason),
      lost: () => metrics.count('svc_log_shipper_lost_files_total', labels, 1),
      unpack(path) {
        // One after the other, because each takes disk space.
        const unpacked = unpacking.then(() => unpack(path, join(folder, 'unpacked.log')));
        unpacking = unpacked.then(noop, noop);
        return unpacked;
      },
    };
  };

  const pods = createPodFolders({
    root: logs,
    source,
    budget,
    state: saved?.pods ?? {},
    events,
    failed: (error) => log('warn', 'cannot list the pods of this node', { reason: String(error) }),
  });

  const commit = (now: number) => {
    const contents = pending
      .parts()
      .map(({ namespace, lines, text }): BatchContent => ({
        namespace,
        lines,
        raw: text.length,
        content: zlib.gzipSync(text, compression),
      }));
    try {
      spool.stage(contents);
      writeState(folder, { version: 1, batch: spool.last(), dropped, pods: pods.state() });
    } catch (error) {
      spool.discard();
      // The lines stay in memory, and nothing more is read until they are stored.
      log('error', 'cannot store lines; reading waits', { reason: String(error) });
      committedAt = now;
      return;
    }
    uncollected += pending.bytes();
    pending.clear();
    changed = false;
    committedAt = now;
    spool.publish();
    sender.notify();
    if (uncollected < collectBytes) return;
    uncollected = 0;
    collectGarbage?.();
  };

  /** Reads from all namespaces in turn. */
  const read = (now: number) => {
    const namespaces = new Map<string, { containers: ShippedContainer[]; bytes: number }>();
    for (const container of pods.containers()) {
      const entry = namespaces.get(container.namespace) ?? { containers: [], bytes: 0 };
      namespaces.set(container.namespace, entry);
      entry.containers.push(container);
    }
    let all = [...namespaces.values()];
    firstNamespace = all.length === 0 ? 0 : (firstNamespace + 1) % all.length;
    all = [...all.slice(firstNamespace), ...all.slice(0, firstNamespace)];
    let total = 0;
    while (all.length > 0) {
      for (const entry of all) {
        entry.containers = entry.containers.filter(({ log }) => {
          const full = total >= tickBytes.node || entry.bytes >= tickBytes.namespace || pending.bytes() >= commitBytes;
          const bytes = full ? 0 : log.read(turnBytes, now);
          entry.bytes += bytes;
          total += bytes;
          changed ||= bytes > 0;
          if (pending.bytes() >= commitBytes) commit(now);
          return bytes >= turnBytes;
        });
      }
      all = all.filter(({ containers }) => containers.length > 0);
    }
  };

  const tick = () => {
    const now = clock.monotonic();
    tickedAt = now;
    if (scannedAt === undefined || now - scannedAt >= scanMs) {
      pods.scan(now);
      scannedAt = now;
    }
    if (pending.bytes() < commitBytes) read(now);
    const waitMs = sender.reachable() ? commitMs.reachable : commitMs.unreachable;
    if (pending.bytes() >= commitBytes || (changed && now - committedAt >= waitMs)) commit(now);
  };

  return {
    start() {
      sender.start();
      const loop = async () => {
        while (!stopping.signal.aborted) {
          tick();
          await clock.sleep(tickMs, stopping.signal).catch(() => {});
        }
      };
      running = loop();
    },
    async stop() {
      stopping.abort();
      await running;
      if (changed || pending.bytes() > 0) commit(clock.monotonic());
      await sender.stop();
      pods.close();
    },
    ready: () => scannedAt !== undefined,
    healthy: () => clock.monotonic() - tickedAt < 60_000,
    metrics() {
      const { lines, bytes, oldest } = spool.usage();
      const { user, system } = process.cpuUsage();
      const containers = pods.containers();
      return metrics.text({
        svc_log_shipper_lag_seconds: oldest === undefined ? 0 : Math.max(clock.now().getTime() - oldest, 0) / 1000,
        svc_log_shipper_spool_bytes: bytes,
        svc_log_shipper_spool_lines: lines,
        svc_log_shipper_unread_bytes: containers.reduce((sum, { log }) => sum + log.unread(), 0),
        svc_log_shipper_containers: containers.length,
        svc_log_shipper_reachable: sender.reachable() ? 1 : 0,
        process_resident_memory_bytes: process.memoryUsage.rss(),
        process_cpu_seconds_total: (user + system) / 1e6,
      });
    },
  };
}

function noop(): void {}

/** Unpacks a compressed file to a file that disappears when it is closed. */
async function unpack(path: string, target: string): Promise<number> {
  const packed = openRegular(path);
  if (!packed) throw new Error('the file was deleted');
  const file = fs.openSync(target, 'w', 0o600);
  try {
    let bytes = 0;
    for await (const chunk of fs.createReadStream(path, { fd: packed.fd }).pipe(zlib.createGunzip())) {
      bytes += (chunk as Buffer).length;
      if (bytes > unpackMaxBytes) break;
      fs.writeSync(file, chunk as Buffer);
    }
    const unpacked = openRegular(target);
    if (!unpacked) throw new Error('the file was deleted');
    return unpacked.fd;
  } finally {
    fs.closeSync(file);
    fs.rmSync(target, { force: true });
  }
}
