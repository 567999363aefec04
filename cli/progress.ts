import type { Surroundings } from './context.ts';

/** Tells on stderr how far something is. */
export interface Progress {
  /** What is so now; `seconds` since the beginning, which only a terminal is told all the time. */
  show(text: string, seconds: number): void;
  /** Leaves a terminal's line as if nothing had been there. */
  clear(): void;
}

const eraseLine = '\r\u001B[2K';

/**
 * One line that is written anew on a terminal, and elsewhere a plain line for each new text, such as in the log of a CI
 * system. No colours: what is under way is neither good nor bad.
 */
export function createProgress({ stderr, env }: Pick<Surroundings, 'stderr' | 'env'>): Progress {
  const rewrites = stderr.isTTY === true && env['TERM'] !== 'dumb';
  let shown = '';
  return {
    show(text, seconds) {
      if (rewrites) stderr.write(`${eraseLine}${text}, ${Math.floor(seconds)} s`);
      else if (text !== shown) stderr.write(`${text}\n`);
      shown = text;
    },
    clear() {
      if (rewrites && shown !== '') stderr.write(eraseLine);
      shown = '';
    },
  };
}
