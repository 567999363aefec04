import { writeSync } from 'node:fs';
import { Registry } from 'prom-client';
import { createBusMetrics } from '../../../runtime/bus/metrics.ts';
import { createRunner } from '../../../runtime/bus/runner.ts';
import { createPool } from '../../../runtime/db/pool.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { createLogger } from '../../../runtime/process/log.ts';
import { hurried, lockMs } from './short-queue.ts';

/** A runner in a separate process, which stops itself in the middle of each attempt until a signal continues it. */
const { DATABASE_URL: url = '', REDIS_URL: redis = '' } = process.env;
const log = createLogger('one-runner', { level: 'debug' });
const runner = createRunner({
  name: 'rollouts',
  redis: { url: redis },
  clock: systemClock,
  log,
  definition: hurried,
  lockMs,
  pool: createPool({ url, name: 'one-runner', log }),
  metrics: createBusMetrics(new Registry()),
  async process() {
    // Synchronous, because entries that the log has not written yet would wait too.
    writeSync(1, '{"msg":"stopped"}\n');
    process.kill(process.pid, 'SIGSTOP');
    return 'done';
  },
});
runner.start();
