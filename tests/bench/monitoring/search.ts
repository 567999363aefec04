import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { createLogClient } from '../../../runtime/logs/client.ts';
import { StoreBusy, type LogStore } from '../../../runtime/logs/log-store.ts';
import type { LogQuery } from '../../../runtime/logs/query.ts';
import { logTime, type LogRecord } from '../../../runtime/logs/record.ts';
import { createLogServer } from '../../../runtime/logs/server.ts';
import { createLogStore } from '../../../runtime/logs/store.ts';
import { silentLog } from '../../support/log.ts';
import { median, printFigure } from '../figure.ts';

const hours = 71;
const batchLines = 5_000;
const rounds = 9;
const token = 'bench';
const workload = { namespace: 'shop-prod', kind: 'app', name: 'api' } as const;

/**
 * A search over three days of one app in the log store of the embedded cluster, by its server: for a text that no line
 * has, and for one in a single line.
 * @param lines how many lines the app has printed
 */
export async function searchFigures(lines: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-search-'));
  const options = { folder, clock: systemClock, log: silentLog, maxBytes: 1024 * 1024 * 1024, sync: false };
  try {
    const filled = createLogStore(options);
    await filled.start();
    const start = Date.now() - hours * 3_600_000;
    for (let first = 0; first < lines; first += batchLines) {
      const count = Math.min(batchLines, lines - first);
      const records = Array.from({ length: count }, (_, index) => record(first + index, lines, start));
      while (!(await isAppended(filled, records))) await systemClock.sleep(20);
    }
    await filled.stop();

    const store = createLogStore(options);
    await store.start();
    const read = () => Promise.resolve(token);
    const server = createLogServer({
      store,
      tokens: { append: read, read },
      log: silentLog,
      port: 0,
      host: '127.0.0.1',
    });
    const client = createLogClient({ url: `http://127.0.0.1:${await server.start()}`, token: read });
    const timed = async (query: Partial<LogQuery>) => {
      const times: number[] = [];
      for (let round = 0; round < rounds; round++) {
        const range = { from: logTime(new Date(start - 3_600_000)), to: logTime(new Date()) };
        const from = performance.now();
        const { batches } = await client.read(
          { ...workload, ...range, direction: 'backward', limit: 1_000, ...query },
          new AbortController().signal,
        );
        let matches = 0;
        for await (const batch of batches) matches += batch.length;
        if (matches !== (query.search === needle ? 1 : 0)) throw new Error(`${matches} lines have "${query.search}"`);
        times.push(performance.now() - from);
      }
      return median(times);
    };
    const figure = (name: string, value: number) =>
      printFigure({ name: `monitoring.${name}`, value, unit: 'ms', target: { operator: '<', value: 1_000 } });
    printFigure({ name: 'monitoring.search-lines', value: lines, unit: 'lines' });
    printFigure({ name: 'monitoring.search-stored', value: store.status().bytes / 1e6, unit: 'MB' });
    figure('search-p50', await timed({ search: needle }));
    figure('search-absent-p50', await timed({ search: 'no line has this text' }));
    await server.stop();
    await store.stop();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whether the store took the lines; it takes none while it writes too many to the disk. */
async function isAppended(store: LogStore, records: readonly LogRecord[]): Promise<boolean> {
  try {
    await store.append({ records });
    return true;
  } catch (error) {
    if (error instanceof StoreBusy) return false;
    throw error;
  }
}

const needle = 'order 4711 was lost';

/** The needle is near the beginning, so that a search reads almost everything. */
function record(index: number, lines: number, start: number): LogRecord {
  const time = logTime(new Date(start + (index / lines) * hours * 3_600_000));
  const text = index === 100 ? needle : `GET /orders/${(index * 7919) % 1_000_003}?limit=20`;
  return {
    namespace: workload.namespace,
    workload: { kind: workload.kind, name: workload.name },
    pod: `app-api-7c9d8f6b5-${index % 3}`,
    container: 'app',
    stream: 'stdout',
    time,
    line: `{"level":"info","time":"${time}","requestId":"${((index * 2_654_435_761) % 2 ** 32).toString(16)}","msg":"${text}","status":200,"ms":${index % 97}}`,
  };
}
