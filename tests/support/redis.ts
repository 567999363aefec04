import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endServer, startRedis } from './servers.ts';

interface Teardown {
  teardown(end: () => unknown): void;
}

/** A Redis for one test, so that it can be flushed, stopped and started again. */
export async function testRedis(t: Teardown): Promise<{ url: string; stop(): void; start(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-redis-'));
  let server = await startRedis(folder);
  t.teardown(() => {
    endServer(server.pid);
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  });
  return {
    url: server.url,
    stop: () => endServer(server.pid),
    start: async () => {
      server = await startRedis(folder, server.port);
    },
  };
}
