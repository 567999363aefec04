// An import statement would evaluate all exports of node:util, some of which load further modules.
const { getSystemErrorMessage } = process.getBuiltinModule('node:util');

/** Exit codes: those of gh, 3 after a time-out of a wait, and 130 after Ctrl-C as in shells (docs/decisions/0052). */
export const exitCodes = { ok: 0, failed: 1, usage: 2, timeout: 3, notSignedIn: 4, interrupted: 130 } as const;

/** The exit code of `exec` when the session breaks off, as with ssh: other codes are those of the command. */
export const sessionLost = 255;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** What the exit codes mean, for the documentation. */
export const exitCodeMeanings: Readonly<Record<ExitCode, string>> = {
  [exitCodes.ok]: 'done',
  [exitCodes.failed]: 'failed; the message ends with a stable code in parentheses',
  [exitCodes.usage]: 'the command line is wrong, or the API refuses a value in it; nothing was changed',
  [exitCodes.timeout]: 'not done in time (--timeout); the operation continues',
  [exitCodes.notSignedIn]: 'not signed in',
  [exitCodes.interrupted]: 'interrupted with Ctrl-C',
};

/** The reason why a command failed. It is printed as `error: <message> (<code>)`, followed by a line with the hint. */
export class Failure extends Error {
  /** A stable code: that of the management API, `usage`, or one of the command line. */
  readonly code: string | undefined;
  /** What to do next. */
  readonly hint: string | undefined;
  readonly exitCode: ExitCode;

  constructor(
    message: string,
    options: { code?: string | undefined; hint?: string | undefined; exitCode?: ExitCode; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Failure';
    this.code = options.code;
    this.hint = options.hint;
    this.exitCode = options.exitCode ?? exitCodes.failed;
  }
}

/** An error in the command line: exit code 2, as for a value that the API refuses. */
export function usageFailure(message: string, hint?: string): Failure {
  return new Failure(message, { code: 'usage', hint, exitCode: exitCodes.usage });
}

/** The result of a read; undefined when the API answers that there is no such object. */
export async function unlessMissing<Value>(read: Promise<Value>): Promise<Value | undefined> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof Failure && error.code === 'not_found') return undefined;
    throw error;
  }
}

/** Why the system refused an operation, such as "permission denied"; the message of any other error. */
export function reasonOf(error: unknown): string {
  const { errno, message = String(error) } = error as Partial<NodeJS.ErrnoException>;
  return errno === undefined ? message : getSystemErrorMessage(errno);
}

/** The failure for an error that no command explains, such as a file that cannot be written. */
function systemFailure(error: unknown): Failure {
  const { code, path } = error as Partial<NodeJS.ErrnoException>;
  const reason = reasonOf(error);
  return path === undefined ? new Failure(reason) : new Failure(`Cannot use ${path}: ${reason}.`, { code });
}

/** The text for stderr and the exit code of any error. */
export function renderFailure(error: unknown): { text: string; exitCode: ExitCode } {
  if (!(error instanceof Failure)) return renderFailure(systemFailure(error));
  const code = error.code === undefined ? '' : ` (${error.code})`;
  const hint = error.hint === undefined ? '' : `hint: ${error.hint}\n`;
  return { text: `error: ${error.message}${code}\n${hint}`, exitCode: error.exitCode };
}
