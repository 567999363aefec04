import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { migrate } from '../../runtime/db/migrate.ts';
import { generateApiKey } from '../../runtime/domain/api-key.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { silentLog } from '../support/log.ts';
import { query } from '../support/postgres.ts';
import { seededRandom } from '../support/random.ts';
import { endServer, startPostgres } from '../support/servers.ts';
import { printFigure } from './figure.ts';
import { isMachineFree, leaveServerCore, residentMemory, setLast } from './gate/cores.ts';
import { startLoad, type LoadClient } from './gate/load-client.ts';
import { measureMemory } from './gate/memory.ts';
import { insertBenchRecords, type BenchRecords } from './gate/records.ts';
import { measureRevocation } from './gate/revocation.ts';
import { measureLatency, measureThroughput } from './gate/rounds.ts';
import { startBareServer, startGate, type MeasuredServer } from './gate/servers.ts';

const rotation = 1_000;
const revocations = 200;
const connections = 32;
const megabyte = 1e6;

/** The targets of a checker with this many keys, of which all are used: resident MB, and ms until it is ready. */
const targets: Readonly<Record<number, { megabytes: number; readyMs: number }>> = {
  100_000: { megabytes: 180, readyMs: 5_000 },
  1_000_000: { megabytes: 900, readyMs: 30_000 },
};

interface Settings {
  /** The number of many keys. */
  keys: number;
  rounds: number;
  seconds: number;
  /** Requests of the memory run; 0 skips it. */
  requests: number;
  /** Another gate, already running on the servers' core: its checker's address and a file with one key per line. */
  peer?: { url: URL; keys: string[] };
}

function settings(args: string[]): Settings {
  const { values } = parseArgs({
    args,
    options: {
      keys: { type: 'string', default: '100000' },
      rounds: { type: 'string', default: '9' },
      seconds: { type: 'string', default: '3' },
      requests: { type: 'string', default: '10000000' },
      peer: { type: 'string' },
      'peer-keys': { type: 'string' },
    },
  });
  const { peer, 'peer-keys': keysFile } = values;
  if ((peer === undefined) !== (keysFile === undefined)) throw new Error('--peer and --peer-keys go together');
  return {
    keys: Number(values.keys),
    rounds: Number(values.rounds),
    seconds: Number(values.seconds),
    requests: Number(values.requests),
    ...(peer !== undefined &&
      keysFile !== undefined && {
        peer: { url: new URL(peer), keys: readFileSync(keysFile, 'utf8').split('\n').filter(Boolean) },
      }),
  };
}

/**
 * The API-key checker compared with a bare `node:http` server, in one run: throughput, latency, many keys, a flood of
 * denials, revocation and memory. The server under load is alone on the first core; the load, the store (a private
 * PostgreSQL) and the reader of the log are on the second. Each contender has the
 * same options of node:http, except for `stock`. Everything that is compared is measured in alternating rounds, and the median of the rounds' ratios counts, so that a machine whose speed drifts compares like with like.
 * A round in which a server was idle for more than a tenth is
 * thrown away, and nothing is measured on a machine that others use. `--keys <n>` for the many keys, of which all are used;
 * `--rounds <n>` of `--seconds <n>` each; `--requests <n>` for the memory; `--peer <url> --peer-keys <file>` measures
 * another running gate, pinned to the first core.
 */
export async function run(args: string[]): Promise<void> {
  const chosen = settings(args);
  const target = targets[chosen.keys];
  leaveServerCore();
  if (!(await isMachineFree('gate'))) return;
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  const store = await startPostgres(folder);
  const ends: (() => unknown)[] = [];
  try {
    const few = await createStore(store.url, 'few', rotation + revocations);
    ends.push(() => few.pool.end());
    const many = await createStore(store.url, 'many', chosen.keys);
    ends.push(() => many.pool.end());
    const started = async (server: Promise<MeasuredServer>) => {
      const running = await server;
      ends.unshift(() => running.stop());
      return running;
    };
    const stock = await started(startBareServer());
    const bare = await started(startBareServer('lean'));
    const gate = await started(startGate(few.url));
    const large = await started(startGate(many.url));
    printFigure({ name: 'gate.ready.few-keys', value: gate.readyMs, unit: 'ms' });
    printFigure({
      name: 'gate.ready.many-keys',
      value: large.readyMs,
      unit: 'ms',
      ...(target && { target: { operator: '<', value: target.readyMs } }),
    });

    const load = startLoad();
    ends.unshift(() => load.stop());
    await prepare(load, chosen, { stock, bare, gate, large, few: few.records, many: many.records });
    const pids = {
      stock: stock.pid,
      bare: bare.pid,
      'many-keys': large.pid,
      gate: gate.pid,
      post: gate.pid,
      flood: gate.pid,
    };
    const options = { ...chosen, name: 'gate', connections, pids };
    await useAllKeys(load, many.pool, chosen.keys);
    // In an installation, the store is on another machine; here it would take the core from the load.
    setLast(store.pid);
    const saturation = await measureThroughput(load, options);
    await measureLatency(load, Math.round(saturation / 2), options);
    await measureRevocation(load, {
      server: gate,
      appId: few.records.appId,
      keys: few.records.keys.slice(rotation),
      pool: few.pool,
      connections,
    });
    const resident = residentMemory(large.pid);
    printFigure({
      name: 'gate.resident.many-keys',
      value: resident.now / megabyte,
      unit: 'MB',
      ...(target && { target: { operator: '<=', value: target.megabytes } }),
    });
    printFigure({ name: 'gate.resident.many-keys-peak', value: resident.peak / megabyte, unit: 'MB' });
    if (chosen.requests > 0) await measureMemory(load, { pid: gate.pid, requests: chosen.requests, connections });
  } finally {
    for (const end of ends) await end();
    endServer(store.pid);
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

async function createStore(
  server: string,
  name: string,
  keys: number,
): Promise<{ url: string; pool: pg.Pool; records: BenchRecords }> {
  await query(`${server}/postgres`, `CREATE DATABASE ${name}`);
  const url = `${server}/${name}`;
  await migrate({ url, clock: systemClock, log: silentLog });
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  pool.on('error', () => undefined);
  return { url, pool, records: await insertBenchRecords(pool, keys) };
}

/** Uses each of many keys, and waits until the store has the usage of all. */
async function useAllKeys(load: LoadClient, pool: pg.Pool, keys: number): Promise<void> {
  const used = async () => {
    const { rows } = await pool.query<{ used: number }>('SELECT count(DISTINCT key_id)::integer AS used FROM usage');
    return rows[0]?.used ?? 0;
  };
  while ((await used()) < keys) await load.run('many-keys', { connections, warmUpSeconds: 0, seconds: 5 });
}

/** Names of the targets of the rounds. */
async function prepare(
  load: LoadClient,
  { peer }: Settings,
  servers: Readonly<Record<'stock' | 'bare' | 'gate' | 'large', MeasuredServer>> & {
    few: BenchRecords;
    many: BenchRecords;
  },
): Promise<void> {
  const { stock, bare, gate, large, few, many } = servers;
  const keysOf = ({ keys }: BenchRecords) => keys.map(({ key }) => key);
  const path = ({ appId }: BenchRecords) => `/authorize?app=${appId}`;
  const fewKeys = keysOf(few).slice(0, rotation);
  const address = ({ host, port }: MeasuredServer) => ({ host, port });
  const stranger = Array.from({ length: 100 * rotation }, () => generateApiKey().key);
  await load.prepare('stock', { ...address(stock), path: path(few), keys: fewKeys });
  await load.prepare('bare', { ...address(bare), path: path(few), keys: fewKeys });
  await load.prepare('gate', { ...address(gate), path: path(few), keys: fewKeys });
  await load.prepare('post', { ...address(gate), path: path(few), keys: fewKeys, method: 'POST' });
  await load.prepare('flood', { ...address(gate), path: path(few), keys: stranger });
  // In another order than that of the table, which is that of the checker's memory.
  await load.prepare('many-keys', { ...address(large), path: path(many), keys: shuffled(keysOf(many)) });
  if (!peer) return;
  const { hostname, port, pathname, search } = peer.url;
  await load.prepare('peer', { host: hostname, port: Number(port), path: pathname + search, keys: peer.keys });
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  const random = seededRandom(1);
  return items
    .map((item) => ({ item, order: random.next() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item);
}
