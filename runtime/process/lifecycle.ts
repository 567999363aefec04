import type { Logger } from 'pino';

/** Kubernetes kills the process 30 s after SIGTERM (terminationGracePeriodSeconds); this leaves time to log. */
const stopLimitMs = 25_000;

/** A started component that has to be stopped. */
interface Part {
  name: string;
  stop(): Promise<void> | void;
}

/** What `start` of a process can use. */
export interface Lifecycle {
  /** Registers a started part. Parts are stopped one by one in reverse order. */
  add(part: Part): void;
  /** False from the first signal on, for `/ready`, so that the process gets no new requests while it drains. */
  running(): boolean;
  /** Aborted when the process begins to stop. */
  readonly signal: AbortSignal;
  /** Stops the process with exit code 0, for processes that finish by themselves. */
  end(): void;
}

export interface ProcessDefinition {
  name: string;
  log: Logger;
  /** Builds and starts all parts; a throw ends the process with exit code 1. */
  start: (lifecycle: Lifecycle) => Promise<void>;
}

/**
 * Runs a process until `process.exit`: with 0 after SIGTERM, SIGINT or `end()`, and with 1 after a failed start, an
 * uncaught error, a part that fails to stop, or when stopping takes longer than 25 s.
 */
export async function runProcess({ name, log, start }: ProcessDefinition): Promise<void> {
  const parts: Part[] = [];
  let current: string | undefined;
  const stopping = new AbortController();

  const stopAll = async (): Promise<boolean> => {
    let clean = true;
    for (let part = parts.pop(); part; part = parts.pop()) {
      current = part.name;
      try {
        await part.stop();
      } catch (error) {
        clean = false;
        log.error({ err: error, part: part.name }, 'part failed to stop');
      }
    }
    return clean;
  };

  const stop = (why: string, exitCode: number) => {
    if (stopping.signal.aborted) return;
    log.info({ why }, 'process stopping');
    stopping.abort(new Error(`${name} is stopping`));
    setTimeout(() => {
      log.error({ part: current, limitMs: stopLimitMs }, 'process did not stop in time');
      process.exit(1);
    }, stopLimitMs).unref();
    const finish = async () => {
      const clean = await stopAll();
      log.info('process stopped');
      process.exit(clean ? exitCode : 1);
    };
    void finish();
  };

  const fail = (error: unknown, msg: string) => {
    log.fatal({ err: error }, msg);
    process.exit(1);
  };

  process.on('uncaughtException', (error) => fail(error, 'uncaught exception'));
  process.on('unhandledRejection', (error) => fail(error, 'unhandled rejection'));
  process.on('SIGTERM', () => stop('SIGTERM', 0));
  process.on('SIGINT', () => stop('SIGINT', 0));

  const lifecycle: Lifecycle = {
    add(part) {
      parts.push(part);
    },
    running: () => !stopping.signal.aborted,
    signal: stopping.signal,
    end: () => stop('done', 0),
  };

  log.info('process starting');
  try {
    await start(lifecycle);
    if (lifecycle.running()) log.info('process started');
  } catch (error) {
    // A start that a signal interrupted is no failure.
    if (!lifecycle.running()) return;
    log.fatal({ err: error }, 'process failed to start');
    stop('failed start', 1);
  }
}
