/** Reports progress to a person. */
export interface Progress {
  /** Runs a stage and reports how long it took. */
  stage<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** Prints a note. */
  note(text: string): void;
}

/**
 * Progress as lines of text. A long stage repeats its line every 30 s.
 * @param write prints one line
 */
export function lineProgress(write: (line: string) => void): Progress {
  return {
    note: write,
    async stage(name, work) {
      const start = performance.now();
      const elapsed = (): string => `${((performance.now() - start) / 1000).toFixed(1)} s`;
      write(`${name} ...`);
      const timer = setInterval(() => write(`${name} ... ${elapsed()}`), 30_000);
      try {
        const result = await work();
        write(`${name}: ${elapsed()}`);
        return result;
      } catch (error) {
        write(`${name}: failed after ${elapsed()}`);
        throw error;
      } finally {
        clearInterval(timer);
      }
    },
  };
}

/** Discards all progress. */
export const silentProgress: Progress = { stage: (_name, work) => work(), note: () => undefined };
