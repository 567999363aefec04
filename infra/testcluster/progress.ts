/** Says what is being done, for a person who waits. */
export interface Progress {
  /** Runs one stage and says how long it took. */
  stage<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** Says something that takes no time. */
  note(text: string): void;
}

/**
 * Progress as lines of text; a stage that takes long repeats its line every 30 s.
 * @param write takes one line, without its end
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

/** Progress that says nothing. */
export const silentProgress: Progress = { stage: (_name, work) => work(), note: () => undefined };
