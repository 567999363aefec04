import type { Logger } from 'pino';
import type { ControllerHealth } from '../../runtime/contracts/api/health.ts';
import type { PlatformState } from '../../runtime/contracts/platform-state.ts';
import type { ControllerReport } from '../../runtime/records/controller-reports.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { createPeriodicTask, type PeriodicTask } from '../../runtime/process/periodic-task.ts';

const everyMs = 5_000;

/** Writes the health report that console-api serves, every 5 s while this process is the leader. */
export function createReporter(options: {
  manager: { isLeader(): boolean; report(): ControllerHealth };
  /** The state of the platform, which the report contains as well. */
  state: () => PlatformState;
  write: (report: ControllerReport) => Promise<void>;
  clock: Clock;
  log: Logger;
}): PeriodicTask {
  const { manager, state, write, clock, log } = options;
  return createPeriodicTask({
    clock,
    pauseMs: () => (manager.isLeader() ? everyMs : 500),
    async run() {
      if (manager.isLeader()) await write({ ...manager.report(), ...state() });
    },
    // An old report counts as unhealthy.
    onError: (error) => log.warn({ err: error }, 'report not written'),
  });
}
