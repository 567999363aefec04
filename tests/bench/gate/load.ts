import { createLatencyRecord } from './latency.ts';
import { openConnection, type Connection } from './connection.ts';

/** At a given rate the generator sleeps this long between two looks at the clock, because others need its core too. */
const restMs = 0.1;

/** One server and the requests for it. */
export interface LoadTarget {
  host: string;
  port: number;
  /** The name in the Host header; default: the checker's. */
  name?: string;
  /** Path and query. */
  path: string;
  /** Of equal length; sent in rotation, one per request. */
  keys: string[];
  /** The client's method; default: GET. */
  method?: 'GET' | 'POST';
}

export interface LoadOptions {
  connections: number;
  /** Not counted, at the beginning. */
  warmUpSeconds: number;
  seconds: number;
  /** Requests a second, evenly spaced and sent without waiting for answers; absent: as fast as answers arrive. */
  rate?: number;
}

export interface LoadResult {
  /** All answers, including those of the warm-up. */
  answers: number;
  requestsPerSecond: number;
  p50: number;
  p99: number;
  /**
   * The 99th percentile of the time between two looks of the generator at its requests and answers, of which it may be
   * late by as much, in ms; NaN without a rate.
   */
  ownDelay: number;
  /** Answers by status. */
  statuses: Record<string, number>;
  /** The share of its core that the generator itself used (0 to 1); near 1 the generator is the limit. */
  busy: number;
}

/** A request as Traefik's forwardAuth makes it, for one API key; it never contains the client's body. */
function forwardAuthRequest(target: LoadTarget, key: string): Buffer {
  const { method = 'GET' } = target;
  const lines = [
    `GET ${target.path} HTTP/1.1`,
    `Host: ${target.name ?? 'svc-authz.svc-system.svc'}`,
    'User-Agent: Go-http-client/1.1',
    `X-Api-Key: ${key}`,
    'X-Forwarded-For: 203.0.113.7',
    'X-Forwarded-Host: api--shop-prod.apps.example.com',
    `X-Forwarded-Method: ${method}`,
    'X-Forwarded-Proto: https',
    'X-Forwarded-Uri: /v1/orders?limit=20',
    'Accept-Encoding: gzip',
    ...(method === 'POST' ? ['Content-Type: application/json'] : []),
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

/** Puts load on servers from this process, which should have its own core. */
export interface LoadGenerator {
  prepare(target: LoadTarget): void;
  /** @throws Error when a connection breaks */
  run(options: LoadOptions): Promise<LoadResult>;
}

/** A load generator for one target at a time. */
export function createLoadGenerator(): LoadGenerator {
  const neverWoken = new Int32Array(new SharedArrayBuffer(4));
  let target: LoadTarget | undefined;
  /** All keys in one piece, because a million requests would take half a gigabyte. */
  let keys: Buffer = Buffer.alloc(0);
  let template: Buffer = Buffer.alloc(0);
  let keyStart = 0;
  let keyLength = 0;
  let next = 0;

  /** Puts the next key into a request, which its connection sends again and again. */
  const advance = (request: Buffer) => {
    keys.copy(request, keyStart, next, next + keyLength);
    next = next + keyLength === keys.length ? 0 : next + keyLength;
  };

  const run = async ({ host, port }: LoadTarget, options: LoadOptions): Promise<LoadResult> => {
    const latency = createLatencyRecord();
    const ownDelay = createLatencyRecord();
    const statuses = new Map<number, number>();
    const sentAt = new Map<Connection, number>();
    const requests = new Map<Connection, Buffer>();
    const idle: Connection[] = [];
    const { rate } = options;
    const opened: Connection[] = [];
    let ended = false;
    let counting = false;
    let counted = 0;
    let answers = 0;
    let fail: (error: Error) => void = () => undefined;
    const failure = new Promise<never>((_, reject) => (fail = reject));
    failure.catch(() => undefined);

    const send = (connection: Connection, dueAt: number) => {
      sentAt.set(connection, dueAt);
      const request = requests.get(connection) ?? Buffer.from(template);
      requests.set(connection, request);
      advance(request);
      connection.send(request);
    };
    const answered = (connection: Connection, status: number) => {
      const now = performance.now();
      answers++;
      if (counting) {
        counted++;
        latency.add(now - (sentAt.get(connection) ?? now));
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
      if (ended) return;
      if (rate === undefined) send(connection, now);
      else idle.push(connection);
    };
    for (let index = 0; index < options.connections; index++) {
      opened.push(await openConnection(host, port, { answered, failed: fail }));
    }

    /**
     * Sends the requests that are due at the given rate. A request without a free connection waits, which counts
     * towards its latency.
     */
    const pace = (perSecond: number) => {
      const startedAt = performance.now();
      let sent = 0;
      let lookedAt = startedAt;
      idle.push(...opened);
      const step = () => {
        if (ended) return;
        const now = performance.now();
        const due = ((now - startedAt) / 1000) * perSecond;
        while (sent < due) {
          const connection = idle.pop();
          if (!connection) break;
          send(connection, startedAt + (sent / perSecond) * 1000);
          sent++;
          if (counting) ownDelay.add(now - lookedAt);
        }
        lookedAt = now;
        Atomics.wait(neverWoken, 0, 0, restMs);
        setImmediate(step);
      };
      step();
    };
    if (rate === undefined) for (const connection of opened) send(connection, performance.now());
    else pace(rate);

    const pause = (seconds: number) =>
      Promise.race([new Promise((resolve) => setTimeout(resolve, seconds * 1000)), failure]);
    try {
      await pause(options.warmUpSeconds);
      counting = true;
      const [startedAt, cpu] = [performance.now(), process.cpuUsage()];
      await pause(options.seconds);
      counting = false;
      const seconds = (performance.now() - startedAt) / 1000;
      const { user, system } = process.cpuUsage(cpu);
      return {
        answers,
        requestsPerSecond: counted / seconds,
        p50: latency.percentile(0.5),
        p99: latency.percentile(0.99),
        ownDelay: ownDelay.percentile(0.99),
        statuses: Object.fromEntries(statuses),
        busy: (user + system) / 1e6 / seconds,
      };
    } finally {
      ended = true;
      for (const connection of opened) connection.close();
    }
  };

  return {
    prepare(prepared) {
      target = prepared;
      const [first = ''] = prepared.keys;
      keyLength = first.length;
      if (prepared.keys.some((key) => key.length !== keyLength)) throw new Error('keys of different length');
      keys = Buffer.from(prepared.keys.join(''), 'latin1');
      template = forwardAuthRequest(prepared, first);
      keyStart = template.indexOf(`X-Api-Key: ${first}`) + 'X-Api-Key: '.length;
      next = 0;
    },
    async run(options) {
      if (!target) throw new Error('no target');
      return run(target, options);
    },
  };
}
