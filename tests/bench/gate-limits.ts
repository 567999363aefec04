import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { migrate } from '../../runtime/db/migrate.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { silentLog } from '../support/log.ts';
import { query } from '../support/postgres.ts';
import { endServer, startPostgres } from '../support/servers.ts';
import { median, printFigure } from './figure.ts';
import { openConnection, type Connection } from './gate/connection.ts';
import { createLatencyRecord } from './gate/latency.ts';
import { insertBenchRecords } from './gate/records.ts';
import { startGate, type MeasuredServer } from './gate/servers.ts';

const rate = 200;
const burst = 400;
const connectionsEach = 8;
const tickMs = 2;
/** The checkers count each other within a few polls. */
const countedMs = 4_000;

/** One key's requests to several replicas, in turn. */
interface Traffic {
  /** Sends this many requests a second for some seconds. @returns the time of each that was allowed, from the start */
  offer(perSecond: number, seconds: number): Promise<{ allowed: number[]; sent: number }>;
  latency: ReturnType<typeof createLatencyRecord>;
  close(): void;
}

async function openTraffic(servers: readonly MeasuredServer[], path: string, key: string): Promise<Traffic> {
  const latency = createLatencyRecord();
  const request = Buffer.from(`GET ${path} HTTP/1.1\r\nHost: svc-authz\r\nX-Api-Key: ${key}\r\n\r\n`, 'latin1');
  const idle: Connection[][] = servers.map(() => []);
  const sentAt = new Map<Connection, number>();
  const open: Connection[] = [];
  let startedAt = 0;
  let allowed: number[] = [];
  for (const [index, { host, port }] of servers.entries()) {
    for (let count = 0; count < connectionsEach; count++) {
      const connection = await openConnection(host, port, {
        answered(answered, status) {
          const now = performance.now();
          latency.add(now - (sentAt.get(answered) ?? now));
          if (status === 200) allowed.push(now - startedAt);
          else if (status !== 429) throw new Error(`a checker answered ${status}`);
          idle[index]?.push(answered);
        },
        failed(error) {
          throw error;
        },
      });
      open.push(connection);
      idle[index]?.push(connection);
    }
  }
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  return {
    latency,
    async offer(perSecond, seconds) {
      startedAt = performance.now();
      allowed = [];
      let sent = 0;
      for (;;) {
        const elapsed = (performance.now() - startedAt) / 1000;
        if (elapsed >= seconds) break;
        while (sent < elapsed * perSecond) {
          const connection = idle[sent % servers.length]?.pop();
          if (!connection) break;
          sentAt.set(connection, performance.now());
          connection.send(request);
          sent++;
        }
        await pause(tickMs);
      }
      while (idle.flat().length < open.length) await pause(tickMs);
      return { allowed, sent };
    },
    close() {
      for (const connection of open) connection.close();
    },
  };
}

/** The most requests that were allowed beyond a bucket, at any time. */
function excess(allowed: readonly number[]): number {
  let [taken, at, most] = [0, 0, 0];
  for (const now of allowed) {
    taken = Math.max(0, taken - ((now - at) / 1000) * rate) + 1;
    at = now;
    most = Math.max(most, taken - burst);
  }
  return most;
}

/**
 * The limits of one key that several checkers share, each its own process, with a private PostgreSQL: what they allow
 * together at a step from nothing and at a steady load of four times the rate. `--replicas <n>`, `--rounds <n>`,
 * `--seconds <n>` of the steady load.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      replicas: { type: 'string', default: '4' },
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '20' },
    },
  });
  const [replicas, rounds, seconds] = [Number(values.replicas), Number(values.rounds), Number(values.seconds)];
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  const store = await startPostgres(folder);
  const ends: (() => unknown)[] = [];
  try {
    await query(`${store.url}/postgres`, 'CREATE DATABASE limits');
    const url = `${store.url}/limits`;
    await migrate({ url, clock: systemClock, log: silentLog });
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    const records = await insertBenchRecords(pool, 1, { rate, burst, quota: 1e15 });
    await pool.end();
    const servers = await Promise.all(Array.from({ length: replicas }, () => startGate(url, undefined)));
    ends.push(...servers.map((server) => () => server.stop()));
    await new Promise((resolve) => setTimeout(resolve, countedMs));
    const traffic = await openTraffic(servers, `/authorize?app=${records.appId}`, records.keys[0]?.key ?? '');
    ends.unshift(() => traffic.close());

    const steps: number[] = [];
    const steady: number[] = [];
    for (let round = 0; round < rounds; round++) {
      // Refills the bucket.
      await new Promise((resolve) => setTimeout(resolve, (2_500 * burst) / rate));
      steps.push(excess((await traffic.offer(1e6, 1)).allowed) / burst);
      // What was allowed beyond the bucket is paid back.
      await traffic.offer(4 * rate, (1.5 * burst) / rate);
      const { allowed, sent } = await traffic.offer(4 * rate, seconds);
      steady.push(allowed.length / (rate * seconds));
      process.stderr.write(`round ${round + 1}: ${steps.at(-1)} bursts, ${allowed.length} of ${sent} requests\n`);
    }
    printFigure({ name: 'gate-limits.replicas', value: replicas, unit: 'replicas' });
    printFigure({
      name: 'gate-limits.step-beyond-burst',
      value: median(steps),
      unit: 'bursts',
      target: { operator: '<=', value: 1 },
    });
    printFigure({ name: 'gate-limits.step-beyond-burst.max', value: Math.max(...steps), unit: 'bursts' });
    printFigure({
      name: 'gate-limits.steady-to-rate',
      value: median(steady),
      unit: 'ratio',
      target: { operator: '<=', value: 1.05 },
    });
    printFigure({ name: 'gate-limits.steady-to-rate.max', value: Math.max(...steady), unit: 'ratio' });
    printFigure({ name: 'gate-limits.steady-to-rate.min', value: Math.min(...steady), unit: 'ratio' });
    printFigure({ name: 'gate-limits.p50', value: traffic.latency.percentile(0.5), unit: 'ms' });
    printFigure({ name: 'gate-limits.p99', value: traffic.latency.percentile(0.99), unit: 'ms' });
  } finally {
    for (const end of ends) await end();
    endServer(store.pid);
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}
