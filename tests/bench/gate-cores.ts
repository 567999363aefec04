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
import { printFigure, printRounds } from './figure.ts';
import { isMachineFree, processorSeconds, setLast } from './gate/cores.ts';
import { startLoad, type LoadClient } from './gate/load-client.ts';
import { insertBenchRecords } from './gate/records.ts';
import { startGate, type MeasuredServer } from './gate/servers.ts';

const cores = [0, 1];
const keys = 1_000;
const options = { connections: 32, warmUpSeconds: 1 };
/** Compiles the code of checkers and loads before the first round. */
const compileSeconds = 4;

/** A checker with the load on it, which share a core. */
interface Unit {
  server: MeasuredServer;
  load: LoadClient;
}

/**
 * What a second checker on a second core adds: the answers a second of two checkers with one store, relative to those of one.
 * Each shares its core with its own load, so that both cores do the same work; without what replicas share, which is the
 * store and the exchange of spent requests, the ratio would be 2. Both checkers run in either case, so that they exchange.
 * `--rounds <n>` (7) of `--seconds <n>` (4) each.
 */
export async function run(args: string[]): Promise<void> {
  const option = (value: string) => ({ type: 'string', default: value }) as const;
  const { values } = parseArgs({ args, options: { rounds: option('7'), seconds: option('4') } });
  const seconds = Number(values.seconds);
  if (!(await isMachineFree('gate-cores'))) return;
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  const store = await startPostgres(folder);
  const ends: (() => unknown)[] = [];
  try {
    const url = `${store.url}/cores`;
    await query(`${store.url}/postgres`, 'CREATE DATABASE cores');
    await migrate({ url, clock: systemClock, log: silentLog });
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    const records = await insertBenchRecords(pool, keys);
    await pool.end();
    const units: Unit[] = [];
    for (const core of cores) {
      const server = await startGate(url, core);
      const load = startLoad(core);
      ends.unshift(() => (load.stop(), server.stop()));
      const { host, port } = server;
      const path = `/authorize?app=${records.appId}`;
      await load.prepare('gate', { host, port, path, keys: records.keys.map(({ key }) => key) });
      units.push({ server, load });
    }
    // In an installation, the store is on another machine.
    setLast(store.pid);
    await Promise.all(units.map(({ load }) => load.run('gate', { ...options, seconds: compileSeconds })));
    const ratios: number[] = [];
    for (let round = 0; round < Number(values.rounds); round++) {
      // Which core is alone alternates, because they may differ.
      const alone = units.slice(round % 2, (round % 2) + 1);
      const [one, both] = [await measure(alone, seconds), await measure(units, seconds)];
      ratios.push(both.rate / one.rate);
      process.stderr.write(
        `round ${round + 1}: one ${one.rate.toFixed(0)}/s (${one.micros.toFixed(1)} µs each), both ${both.rate.toFixed(0)}/s (${both.micros.toFixed(1)} µs)\n`,
      );
    }
    printFigure({ name: 'gate-cores.checkers', value: units.length, unit: 'checkers' });
    printRounds({ name: 'gate-cores.both-to-one', unit: 'ratio', target: { operator: '>=', value: 1.8 } }, ratios);
  } finally {
    for (const end of ends) await end();
    endServer(store.pid);
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

/** Loads these checkers at once. @returns all their answers a second, and what one takes of the checkers, in µs */
async function measure(units: readonly Unit[], seconds: number): Promise<{ rate: number; micros: number }> {
  const used = () => units.reduce((sum, { server }) => sum + processorSeconds(server.pid), 0);
  const before = used();
  const results = await Promise.all(units.map(({ load }) => load.run('gate', { ...options, seconds })));
  const micros = ((used() - before) * 1e6) / results.reduce((sum, { answers }) => sum + answers, 0);
  for (const { statuses } of results) {
    if (Object.keys(statuses).join() !== '200') throw new Error(`a checker answered ${JSON.stringify(statuses)}`);
  }
  return { rate: results.reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0), micros };
}
