/** Finds the line that explains a failure in a program's output. */
export interface ErrorLineFinder {
  line(text: string): void;
  /** The line that explains the failure best; undefined without any. */
  errorLine(): string | undefined;
}

/** Lines that installers print after the error. */
const trailers = [/^\s*$/, /^subprocess exited with status \d+$/, /^npm notice/, /^\[notice\] /];
/** A line of npm's error report. */
const npmLine = /^npm (?:error|ERR!)(?: (.*))?$/;
/** The report's first line when npm itself fails, and not a script. */
const npmCode = /^code E[A-Z0-9]+$/;

/** Chooses the last line that is no trailer, or the line after the code in npm's error report. */
export function createErrorLineFinder(): ErrorLineFinder {
  let last: string | undefined;
  let npmError: string | undefined;
  let hasCode = false;
  return {
    line(text) {
      const npm = npmLine.exec(text);
      if (npm) {
        const words = npm[1]?.trim() ?? '';
        if (hasCode && npmError === undefined && words !== '') npmError = words;
        hasCode ||= npmCode.test(words);
      } else if (!trailers.some((noise) => noise.test(text))) last = text.trim();
    },
    errorLine: () => npmError ?? last,
  };
}

const lineMax = 300;

/** Shortens a text to the length of an error message. */
export function shortened(text: string, max = lineMax): string {
  return text.length > max ? `${text.slice(0, max - 1)}…` : text;
}
