import { join } from 'node:path';
import { createClientPool, type ClientPool, type ClientPoolOptions } from '../../runtime/process/client-pool.ts';
import { silentLog } from './log.ts';

interface Teardown {
  teardown(end: () => unknown): void;
}

/** Client processes as the workers have them, which end with the test. */
export function testClients(t: Teardown, options: Partial<ClientPoolOptions> = {}): ClientPool {
  const program = join(import.meta.dirname, '../../workers/clients/main.ts');
  const clients = createClientPool({ program, max: 4, env: process.env, log: silentLog, ...options });
  t.teardown(() => clients.stop());
  return clients;
}
