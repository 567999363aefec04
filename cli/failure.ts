/** How the command line ends: the exit codes of gh, 3 when a wait was over before its end, 130 at Ctrl-C as shells have it. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, timeout: 3, notSignedIn: 4, interrupted: 130 } as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Why a command did not do what it was asked to. Shown as `error: <message> (<code>)` and a line with the hint. */
export class Failure extends Error {
  /** A stable code, when there is one: the management API's, or `usage`. */
  readonly code: string | undefined;
  /** What to do about it. */
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

/** A command that was typed wrongly: exit code 2, before anything was sent. */
export function usageFailure(message: string, hint?: string): Failure {
  return new Failure(message, { code: 'usage', hint, exitCode: exitCodes.usage });
}

/** What stands on stderr for any error. */
export function renderFailure(error: unknown): { text: string; exitCode: ExitCode } {
  if (!(error instanceof Failure)) {
    const message = error instanceof Error ? error.message : String(error);
    return { text: `error: ${message}\n`, exitCode: exitCodes.failed };
  }
  const code = error.code === undefined ? '' : ` (${error.code})`;
  const hint = error.hint === undefined ? '' : `hint: ${error.hint}\n`;
  return { text: `error: ${error.message}${code}\n${hint}`, exitCode: error.exitCode };
}
