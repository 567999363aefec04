/** Why an installation stopped, and what to do about it. */
export class InstallError extends Error {
  readonly hint: string | undefined;

  constructor(message: string, hint?: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'InstallError';
    this.hint = hint;
  }
}
