import type { Test } from 'tap';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { createLogClient } from '../../../runtime/logs/client.ts';
import type { FedLine, LogFeed } from '../../../runtime/logs/feed.ts';
import type { LogReader, LogStore } from '../../../runtime/logs/log-store.ts';
import type { LogQuery } from '../../../runtime/logs/query.ts';
import { logTime, type LogRecord, type StoredLine } from '../../../runtime/logs/record.ts';
import { createLogServer, type LogServerOptions } from '../../../runtime/logs/server.ts';
import { createLogStore, type LogStoreOptions } from '../../../runtime/logs/store.ts';
import { ownFolder } from '../../support/own-folder.ts';
import { silentLog } from '../../support/log.ts';

/** A time in the last hours, so that the store keeps it. */
export const base = Date.now() - 6 * 3_600_000;
export const at = (ms: number, nanoseconds = 0) =>
  logTime(new Date(base + ms)).replace('000000Z', `${String(nanoseconds).padStart(6, '0')}Z`);

export function record(line: string, ms: number, fields: Partial<LogRecord> = {}): LogRecord {
  return {
    namespace: 'shop-prod',
    pod: 'app-api-1',
    container: 'app',
    workload: { kind: 'app', name: 'api' },
    time: at(ms),
    stream: 'stdout',
    line,
    ...fields,
  };
}

export const everything: LogQuery = {
  namespace: 'shop-prod',
  kind: 'app',
  name: 'api',
  from: at(-86_400_000),
  to: at(86_400_000),
  direction: 'forward',
};

export async function startStore(t: Test, options: Partial<LogStoreOptions> = {}): Promise<LogStore> {
  const folder = options.folder ?? ownFolder(t);
  const defaults = { clock: systemClock, log: silentLog, maxBytes: 100_000_000, sync: false };
  const store = createLogStore({ ...defaults, ...options, folder });
  await store.start();
  t.teardown(() => store.stop());
  return store;
}

export const appendToken = 'append-secret';
export const readToken = 'read-secret';

export async function startServer(
  t: Test,
  store: LogStore,
  options: Partial<LogServerOptions> = {},
): Promise<{ url: string; client: LogReader }> {
  const tokens = { append: () => Promise.resolve(appendToken), read: () => Promise.resolve(readToken) };
  const server = createLogServer({ store, tokens, log: silentLog, port: 0, host: '127.0.0.1', ...options });
  const url = `http://127.0.0.1:${await server.start()}`;
  t.teardown(() => server.stop());
  return { url, client: createLogClient({ url, token: tokens.read }) };
}

export async function readAll(reader: LogReader, query: Partial<LogQuery> = {}): Promise<StoredLine[]> {
  const { batches } = await reader.read({ ...everything, ...query }, new AbortController().signal);
  const lines: StoredLine[] = [];
  for await (const batch of batches) lines.push(...batch);
  return lines;
}

export const texts = async (reader: LogReader, query: Partial<LogQuery> = {}) =>
  (await readAll(reader, query)).map(({ line }) => line);

/** All pages after a position until the end of what is stored. */
export async function feedAll(
  feed: LogFeed,
  position: string | undefined,
): Promise<{ lines: FedLine[]; position: string | undefined; missed: number; pages: number }> {
  const all = { lines: [] as FedLine[], position, missed: 0, pages: 0 };
  for (;;) {
    const page = await feed.feed(all.position, new AbortController().signal);
    all.lines.push(...page.lines);
    all.missed += page.missed;
    all.position = page.position;
    all.pages += 1;
    if (page.pending === 0) return all;
    // A flush is being written.
    if (page.lines.length === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}
