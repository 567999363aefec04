/** Finds what a program says that fails, among all that it prints. */
export interface TellingLine {
  line(text: string): void;
  /** The line that says most of why; undefined before there is one. */
  said(): string | undefined;
}

/** What installers and what runs them say after what went wrong. */
const afterwards = [/^\s*$/, /^subprocess exited with status \d+$/, /^npm notice/, /^\[notice\] /];
/** Each line of npm's own words about a failure. */
const npmLine = /^npm (?:error|ERR!)(?: (.*))?$/;
/** The first of them, which names the failure where it is npm's own, and not that of a script. */
const npmCode = /^code E[A-Z0-9]+$/;

/** The last line that is no farewell; of npm's many the one after its code, unless a script said something and failed. */
export function createTellingLine(): TellingLine {
  let last: string | undefined;
  let ofNpm: string | undefined;
  let coded = false;
  return {
    line(text) {
      const npm = npmLine.exec(text);
      if (npm) {
        const words = npm[1]?.trim() ?? '';
        if (coded && ofNpm === undefined && words !== '') ofNpm = words;
        coded ||= npmCode.test(words);
      } else if (!afterwards.some((noise) => noise.test(text))) last = text.trim();
    },
    said: () => ofNpm ?? last,
  };
}

const lineMax = 300;

/** A text that fits into a reason's first line. */
export function shortened(text: string, max = lineMax): string {
  return text.length > max ? `${text.slice(0, max - 1)}…` : text;
}
