import { systemClock } from '../domain/clock.ts';
import { loadMigrateConfig } from '../process/config.ts';
import { runProcess } from '../process/lifecycle.ts';
import { createLogger } from '../process/log.ts';
import { migrate } from './migrate.ts';

const name = 'svc-migrate';
const config = loadMigrateConfig(process.env);
const log = createLogger(name, config.log);

await runProcess({
  name,
  log,
  async start(lifecycle) {
    await migrate({ ...config.database, clock: systemClock, log, signal: lifecycle.signal });
    lifecycle.end();
  },
});
