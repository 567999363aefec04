import type { ProgramOptions } from './context.ts';

/** Shows the progress of a wait on stderr. */
export interface Progress {
  /** Shows the current status; `seconds` since the start are shown on a terminal only. */
  show(text: string, seconds: number): void;
  /** Erases the line on a terminal. */
  clear(): void;
}

const eraseLine = '\r\u001B[2K';

/**
 * Rewrites one line on a terminal; elsewhere, such as in the log of a CI system, prints a line for each new text. Has no
 * colours, since progress is neither good nor bad.
 */
export function createProgress({ stderr, env }: Pick<ProgramOptions, 'stderr' | 'env'>): Progress {
  const rewrites = stderr.isTTY === true && env['TERM'] !== 'dumb';
  let current = '';
  return {
    show(text, seconds) {
      if (rewrites) stderr.write(`${eraseLine}${text}, ${Math.floor(seconds)} s`);
      else if (text !== current) stderr.write(`${text}\n`);
      current = text;
    },
    clear() {
      if (rewrites && current !== '') stderr.write(eraseLine);
      current = '';
    },
  };
}
