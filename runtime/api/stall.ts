import type { Clock } from '../domain/clock.ts';

/** How long a line waits for its client. */
export interface Stall {
  begin(): void;
  end(): void;
  /** Resolves when a line has waited for this long; rejects when the signal aborts. */
  lasts(ms: number, signal: AbortSignal): Promise<void>;
}

export function createStall(clock: Clock): Stall {
  let since = Number.POSITIVE_INFINITY;
  const waitedMs = () => clock.monotonic() - since;
  return {
    begin() {
      since = clock.monotonic();
    },
    end() {
      since = Number.POSITIVE_INFINITY;
    },
    async lasts(ms, signal) {
      while (waitedMs() < ms) await clock.sleep(ms / 2, signal);
    },
  };
}

/** The same lines, each timed until its client asks for the next one. */
export async function* watched(lines: AsyncGenerator<Buffer>, stall: Stall): AsyncGenerator<Buffer> {
  for await (const line of lines) {
    stall.begin();
    yield line;
    stall.end();
  }
}
