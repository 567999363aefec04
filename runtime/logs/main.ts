import { readFile } from 'node:fs/promises';
import { systemClock } from '../domain/clock.ts';
import { createAdminServer } from '../process/admin-server.ts';
import { loadLogStoreConfig } from '../process/config.ts';
import { runProcess } from '../process/lifecycle.ts';
import { createLogger } from '../process/log.ts';
import { createMetrics } from '../process/metrics.ts';
import { registerLogMetrics } from './metrics.ts';
import { createLogServer } from './server.ts';
import { createLogStore } from './store.ts';

const name = 'log-store';
const config = loadLogStoreConfig(process.env);
const log = createLogger(name, config.log);

await runProcess({
  name,
  log,
  async start(lifecycle) {
    const registry = createMetrics();
    const store = createLogStore({ ...config.store, clock: systemClock, log });
    registerLogMetrics(registry, store);
    const ready = () => lifecycle.running() && store.isReady();
    const admin = createAdminServer({ port: config.admin.port, registry, ready });
    await admin.start();
    lifecycle.add({ name: 'admin server', stop: () => admin.stop() });

    await store.start();
    lifecycle.add({ name: 'log store', stop: () => store.stop() });

    const read = async (file: string) => (await readFile(file, 'utf8')).trim();
    const tokens = { append: () => read(config.tokens.appendFile), read: () => read(config.tokens.readFile) };
    const server = createLogServer({ store, tokens, log, port: config.http.port });
    await server.start();
    lifecycle.add({ name: 'main server', stop: () => server.stop() });
  },
});
