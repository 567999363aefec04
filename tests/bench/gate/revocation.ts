import { Agent, request as httpRequest } from 'node:http';
import type { Pool } from 'pg';
import { deleteKey } from '../../../runtime/records/keys.ts';
import { printFigure } from '../figure.ts';
import { createLatencyRecord } from './latency.ts';
import type { LoadClient } from './load-client.ts';
import type { BenchKey } from './records.ts';
import type { MeasuredServer } from './servers.ts';

/** Between two checks of a revoked key; without this pause they would take the store's share of the core. */
const lookEveryMs = 1;

/** Background traffic. */
const offeredRate = 5_000;

export interface RevocationOptions {
  server: MeasuredServer;
  appId: string;
  /** Each is revoked once. */
  keys: readonly BenchKey[];
  pool: Pool;
  connections: number;
}

/** From the revocation request until its key is first denied, under background traffic. */
export async function measureRevocation(load: LoadClient, options: RevocationOptions): Promise<void> {
  const { server, appId, keys, pool, connections } = options;
  const agent = new Agent({ keepAlive: true });
  const status = (key: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const revocation = httpRequest({
        host: server.host,
        port: server.port,
        path: `/authorize?app=${appId}`,
        agent,
        headers: { 'X-Api-Key': key, 'X-Forwarded-For': '203.0.113.7', 'X-Forwarded-Method': 'GET' },
      });
      revocation.once('error', reject);
      revocation.once('response', (response) => {
        response.resume().once('end', () => resolve(response.statusCode ?? 0));
      });
      revocation.end();
    });
  const latency = createLatencyRecord();
  const ended = new AbortController();
  const traffic = (async () => {
    while (!ended.signal.aborted)
      await load.run('gate', { connections, warmUpSeconds: 0, seconds: 0.5, rate: offeredRate });
  })();
  try {
    for (const { id, key } of keys) {
      if ((await status(key)) !== 200) throw new Error('a key that was not revoked is denied');
      const startedAt = performance.now();
      const revoked = deleteKey(pool, id);
      while ((await status(key)) === 200) await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
      latency.add(performance.now() - startedAt);
      await revoked;
    }
  } finally {
    ended.abort();
    await traffic;
    agent.destroy();
  }
  printFigure({ name: 'gate.revocation.p50', value: latency.percentile(0.5), unit: 'ms' });
  printFigure({
    name: 'gate.revocation.p99',
    value: latency.percentile(0.99),
    unit: 'ms',
    target: { operator: '<', value: 1_000 },
  });
}
