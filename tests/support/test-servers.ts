import { systemClock } from '../../runtime/domain/clock.ts';
import { migrate } from '../../runtime/db/migrate.ts';
import { silentLog } from './log.ts';
import { query } from './postgres.ts';
import { startServers, templateDatabase } from './servers.ts';

/** Starts the servers for the children of process `runner`, with the template of their databases. */
export async function startTestServers(runner: number): Promise<void> {
  const { postgres } = await startServers(runner);
  await query(`${postgres.url}/postgres`, `CREATE DATABASE ${templateDatabase}`);
  await migrate({ url: `${postgres.url}/${templateDatabase}`, clock: systemClock, log: silentLog });
}
