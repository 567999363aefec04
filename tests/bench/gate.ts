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
import { endServer, startPostgres } from '../support/servers.ts';
import { printFigure } from './figure.ts';
import { leaveServerCore, othersShare, residentMemory } from './gate/cores.ts';
import { startLoad, type LoadClient } from './gate/load-client.ts';
import { measureMemory } from './gate/memory.ts';
import { insertBenchRecords, type BenchRecords } from './gate/records.ts';
import { measureRevocation } from './gate/revocation.ts';
import { measureAllKeys, measureLatency, measureThroughput } from './gate/rounds.ts';
import { startBareServer, startGate, type MeasuredServer } from './gate/servers.ts';

const rotation = 1_000;
const manyKeys = 100_000;
const revocations = 200;
const connections = 32;
const megabyte = 1e6;

interface Settings {
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
 * PostgreSQL) and the reader of the log are on the second. Everything that is compared is measured in alternating
 * rounds, and the median of the rounds' ratios counts, so that a machine whose speed drifts compares like with like.
 * `--rounds <n>` of `--seconds <n>` each; `--requests <n>` for the memory; `--peer <url> --peer-keys <file>` measures
 * another running gate, pinned to the first core.
 */
export async function run(args: string[]): Promise<void> {
  const chosen = settings(args);
  leaveServerCore();
  printFigure({ name: 'gate.machine-used-by-others', value: await othersShare(), unit: 'ratio' });
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  const store = await startPostgres(folder);
  const ends: (() => unknown)[] = [];
  try {
    const few = await createStore(store.url, 'few', rotation + revocations);
    ends.push(() => few.pool.end());
    const many = await createStore(store.url, 'many', manyKeys);
    ends.push(() => many.pool.end());
    const started = async (server: Promise<MeasuredServer>) => {
      const running = await server;
      ends.unshift(() => running.stop());
      return running;
    };
    const bare = await started(startBareServer());
    const gate = await started(startGate(few.url));
    const large = await started(startGate(many.url));
    printFigure({ name: 'gate.ready.few-keys', value: gate.readyMs, unit: 'ms' });
    printFigure({
      name: 'gate.ready.many-keys',
      value: large.readyMs,
      unit: 'ms',
      target: { operator: '<', value: 5_000 },
    });

    const load = startLoad();
    ends.unshift(() => load.stop());
    await prepare(load, chosen, { bare, gate, large, few: few.records, many: many.records });
    const pids = { bare: bare.pid, gate: gate.pid, flood: gate.pid, 'many-keys': large.pid, 'all-keys': large.pid };
    const options = { ...chosen, name: 'gate', connections, pids };
    const saturation = await measureThroughput(load, options);
    const resident = residentMemory(large.pid);
    printFigure({
      name: 'gate.resident.many-keys',
      value: resident.now / megabyte,
      unit: 'MB',
      target: { operator: '<', value: 200 },
    });
    printFigure({ name: 'gate.resident.many-keys-peak', value: resident.peak / megabyte, unit: 'MB' });
    await measureLatency(load, Math.round(saturation / 2), options);
    await measureRevocation(load, {
      server: gate,
      appId: few.records.appId,
      keys: few.records.keys.slice(rotation),
      pool: few.pool,
      connections,
    });
    await measureAllKeys(load, options);
    printFigure({ name: 'gate.resident.all-keys', value: residentMemory(large.pid).now / megabyte, unit: 'MB' });
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

/** Names of the targets of the rounds. */
async function prepare(
  load: LoadClient,
  { peer }: Settings,
  servers: { bare: MeasuredServer; gate: MeasuredServer; large: MeasuredServer; few: BenchRecords; many: BenchRecords },
): Promise<void> {
  const { bare, gate, large, few, many } = servers;
  const keysOf = ({ keys }: BenchRecords) => keys.map(({ key }) => key);
  const path = ({ appId }: BenchRecords) => `/authorize?app=${appId}`;
  const [fewKeys, manyKeysList] = [keysOf(few).slice(0, rotation), keysOf(many)];
  const address = ({ host, port }: MeasuredServer) => ({ host, port });
  const stranger = Array.from({ length: 100 * rotation }, () => generateApiKey().key);
  await load.prepare('bare', { ...address(bare), path: path(few), keys: fewKeys });
  await load.prepare('gate', { ...address(gate), path: path(few), keys: fewKeys });
  await load.prepare('flood', { ...address(gate), path: path(few), keys: stranger });
  // Spread over the table instead of its first rows.
  const spread = manyKeysList.filter((_, index) => index % (manyKeys / rotation) === 0);
  await load.prepare('many-keys', { ...address(large), path: path(many), keys: spread });
  await load.prepare('all-keys', { ...address(large), path: path(many), keys: manyKeysList });
  if (!peer) return;
  const { hostname, port, pathname, search } = peer.url;
  await load.prepare('peer', { host: hostname, port: Number(port), path: pathname + search, keys: peer.keys });
}
