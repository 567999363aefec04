import type { Agent, IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { Clock } from '../../domain/clock.ts';
import { fs, http, zlib } from './builtins.ts';
import { batchIdLength, writeFileAtomically, type Batch, type BatchContent, type Spool } from './spool.ts';

/** Maximum bytes of a request before compression; the store accepts 8 MiB. */
const requestMaxBytes = 4 * 1024 * 1024;
const timeoutMs = 30_000;
const backoff = { baseMs: 500, maxMs: 30_000 };
/** A store cannot delay lines for longer than this. */
const retryAfterMaxMs = 60_000;
/** Answers to a request that the store will never accept. */
const refusals = new Set([400, 413, 422]);
/** Requests for the parts of one refused batch. What is refused after them is dropped. */
const splitsMax = 64;

/** What the store answered. */
type Outcome = 'stored' | 'refused' | { retryMs: number | undefined; reason: string };

/** What the sender reports. */
interface SenderEvents {
  sent(namespace: string, lines: number): void;
  refused(namespace: string, lines: number): void;
  request(outcome: 'stored' | 'refused' | 'failed'): void;
  /** Called at the first failure of a series, and at the success that ends it. */
  reachable(reachable: boolean, reason: string): void;
}

export interface SenderOptions {
  /** The store's address, such as `http://log-store.monitoring.svc:3100`. */
  url: string;
  /** The file with the store's token, which is read for each request because it may change. */
  tokenFile: string;
  /** The name under which the store remembers the last request. */
  shipper: string;
  /** The folder of the file that says what is being sent. */
  folder: string;
  spool: Spool;
  clock: Clock;
  events: SenderEvents;
}

/** Sends the batches of the spool to the store, one request at a time. */
export interface Sender {
  start(): void;
  /** Tells that there are new batches. */
  notify(): void;
  /** Whether the last request succeeded. */
  reachable(): boolean;
  stop(): Promise<void>;
}

/** The request that is being sent. It stays on disk, so that the store recognises it after a restart. */
interface Request {
  sequence: number;
  batches: string[];
}

export function createSender({ url, tokenFile, shipper, folder, spool, clock, events }: SenderOptions): Sender {
  const agent: Agent = new http.Agent({ keepAlive: true, maxSockets: 1, timeout: timeoutMs });
  const stopping = new AbortController();
  const requestFile = join(folder, 'request.json');
  const address = new URL('/append', url);
  /** Batches of a refused request, which are sent one by one. */
  const single: string[] = [];
  /** Requests that were used for the parts of a batch, by its number. */
  const splits = new Map<string, number>();
  let wake: (() => void) | undefined;
  let reachable = true;
  let failures = 0;
  let running: Promise<void> | undefined;
  let last = readRequest(requestFile);

  const post = async (sequence: number, body: Buffer): Promise<Outcome> => {
    // Composed signals would stay in memory for the time-out of each request.
    const request = new AbortController();
    const end = () => request.abort();
    const timer = setTimeout(end, timeoutMs);
    stopping.signal.addEventListener('abort', end);
    const { signal } = request;
    try {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const headers = {
          Authorization: `Bearer ${fs.readFileSync(tokenFile, 'utf8').trim()}`,
          'Content-Type': 'application/x-ndjson',
          'Content-Encoding': 'gzip',
          'Content-Length': body.length,
          'X-Svc-Shipper': shipper,
          'X-Svc-Sequence': String(sequence),
        };
        http.request(address, { method: 'POST', agent, headers, signal }, resolve).on('error', reject).end(body);
      });
      // An answer without an end would occupy the connection.
      await drain(response);
      const status = response.statusCode ?? 0;
      if (status >= 200 && status < 300) return 'stored';
      if (refusals.has(status)) return 'refused';
      return { retryMs: retryAfter(response.headers['retry-after']), reason: `the log store answers ${status}` };
    } catch (error) {
      const { code, name } = error as { code?: string; name?: string };
      return { retryMs: undefined, reason: code ?? name ?? 'the request failed' };
    } finally {
      clearTimeout(timer);
      stopping.signal.removeEventListener('abort', end);
    }
  };

  const next = (): Request | undefined => {
    const open = last?.batches.filter((id) => spool.find(id)) ?? [];
    if (last && open.length > 0) return { ...last, batches: open };
    const alone = single.shift();
    if (alone !== undefined && !spool.find(alone)) return next();
    const batches = alone === undefined ? spool.take(requestMaxBytes).map(({ id }) => id) : [alone];
    if (batches.length === 0) return undefined;
    // Also greater than all former numbers when the file was lost.
    const sequence = Math.max((last?.sequence ?? 0) + 1, clock.now().getTime());
    return { sequence, batches };
  };

  const drop = (batch: Batch) => {
    spool.remove(batch);
    events.refused(batch.namespace, batch.lines);
  };

  /** Finds out what the store refuses: each namespace alone, then each workload alone, then halves. */
  const split = (batches: readonly Batch[]) => {
    const [only] = batches;
    if (!only || batches.length > 1) {
      single.push(...batches.map(({ id }) => id));
      return;
    }
    const number = only.id.slice(0, batchIdLength);
    const used = (splits.get(number) ?? 0) + 1;
    const parts = used > splitsMax ? [] : partsOf(only, spool.read(only));
    if (parts.length < 2) drop(only);
    else {
      splits.set(number, used);
      single.unshift(...spool.replace(only, parts).map(({ id }) => id));
    }
    if (!single.some((id) => id.startsWith(number))) splits.delete(number);
  };

  const failed = (reason: string) => {
    failures += 1;
    if (reachable) events.reachable(false, reason);
    reachable = false;
  };

  const send = async (request: Request): Promise<void> => {
    const batches = request.batches.flatMap((id) => spool.find(id) ?? []);
    spool.hold(batches);
    writeFileAtomically(requestFile, JSON.stringify(request));
    last = request;
    // Several gzip files in a row are one.
    const outcome = await post(request.sequence, Buffer.concat(batches.map((batch) => spool.read(batch))));
    if (typeof outcome === 'object') {
      if (stopping.signal.aborted) return;
      events.request('failed');
      failed(outcome.reason);
      await clock.sleep(outcome.retryMs ?? backoffMs(failures), stopping.signal);
      return;
    }
    if (!reachable) events.reachable(true, '');
    reachable = true;
    failures = 0;
    events.request(outcome);
    last = { sequence: request.sequence, batches: [] };
    spool.hold([]);
    if (outcome === 'refused') {
      split(batches);
      return;
    }
    for (const batch of batches) {
      spool.remove(batch);
      events.sent(batch.namespace, batch.lines);
    }
  };

  const run = async () => {
    while (!stopping.signal.aborted) {
      const request = next();
      if (request) {
        await send(request);
        continue;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };

  return {
    start() {
      // A disk that fails must not end the shipper: the next attempt may succeed.
      const loop = async () => {
        while (!stopping.signal.aborted) {
          try {
            await run();
          } catch (error) {
            if (stopping.signal.aborted) return;
            failed((error as { code?: string }).code ?? 'the spool cannot be read');
            await clock.sleep(backoffMs(failures), stopping.signal).catch(() => {});
          }
        }
      };
      running = loop();
    },
    notify() {
      wake?.();
      wake = undefined;
    },
    reachable: () => reachable,
    async stop() {
      stopping.abort();
      wake?.();
      await running;
      agent.destroy();
    },
  };
}

function backoffMs(failures: number): number {
  const ms = Math.min(backoff.baseMs * 2 ** Math.min(failures - 1, 10), backoff.maxMs);
  return ms / 2 + (Math.random() * ms) / 2;
}

function retryAfter(header: string | undefined): number | undefined {
  if (header === undefined || !/^\d{1,6}$/.test(header)) return undefined;
  return Math.min(Math.max(Number(header) * 1000, backoff.baseMs), retryAfterMaxMs);
}

const answerMaxBytes = 64 * 1024;

async function drain(response: IncomingMessage): Promise<void> {
  let bytes = 0;
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
    if (bytes > answerMaxBytes) throw new Error('the answer is too long');
  }
}

function readRequest(path: string): Request | undefined {
  try {
    if (!fs.existsSync(path)) return undefined;
    const { sequence, batches } = JSON.parse(fs.readFileSync(path, 'utf8')) as Request;
    return Number.isSafeInteger(sequence) && Array.isArray(batches) ? { sequence, batches } : undefined;
  } catch {
    return undefined;
  }
}

/** One part for each workload; of one workload's lines, two halves. Empty for a single line. */
function partsOf({ namespace }: Batch, content: Buffer): BatchContent[] {
  const lines = zlib.gunzipSync(content).toString().split('\n').slice(0, -1);
  if (lines.length < 2) return [];
  const workloads = new Map<string, string[]>();
  for (const line of lines) {
    const { workload } = JSON.parse(line) as { workload: { kind: string; name: string } };
    const key = `${workload.kind}/${workload.name}`;
    const group = workloads.get(key);
    if (group) group.push(line);
    else workloads.set(key, [line]);
  }
  const middle = Math.ceil(lines.length / 2);
  const groups = workloads.size > 1 ? [...workloads.values()] : [lines.slice(0, middle), lines.slice(middle)];
  return groups.map((group) => {
    const text = `${group.join('\n')}\n`;
    return { namespace, lines: group.length, raw: Buffer.byteLength(text), content: zlib.gzipSync(text, { level: 1 }) };
  });
}
