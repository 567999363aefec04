import type { Logger } from 'pino';
import type { ControllerHealth } from '../../runtime/contracts/api/health.ts';
import type { PlatformState } from '../../runtime/contracts/platform-state.ts';
import type { ControllerReport } from '../../runtime/records/controller-reports.ts';
import type { Clock } from '../../runtime/domain/clock.ts';

const everyMs = 5_000;

/** Writes the health report that console-api serves, every 5 s while this process is the leader. */
export interface Reporter {
  start(): void;
  stop(): Promise<void>;
}

export function createReporter(options: {
  manager: { isLeader(): boolean; report(): ControllerHealth };
  /** The state of the platform, which the report contains as well. */
  state: () => PlatformState;
  write: (report: ControllerReport) => Promise<void>;
  clock: Clock;
  log: Logger;
}): Reporter {
  const { manager, state, write, clock, log } = options;
  const stopping = new AbortController();
  let running: Promise<void> | undefined;

  const run = async () => {
    while (!stopping.signal.aborted) {
      // Errors are ignored: an old report counts as unhealthy.
      if (manager.isLeader()) {
        await write({ ...manager.report(), ...state() }).catch((error: unknown) =>
          log.warn({ err: error }, 'report not written'),
        );
      }
      await clock.sleep(manager.isLeader() ? everyMs : 500, stopping.signal).catch(() => undefined);
    }
  };

  return {
    start() {
      running ??= run();
    },
    async stop() {
      stopping.abort(new Error('the reporter was stopped'));
      await running;
    },
  };
}
