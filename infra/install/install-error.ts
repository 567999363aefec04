/** The reason why an installation stopped, with a hint on how to fix it. */
export class InstallError extends Error {
  readonly hint: string | undefined;

  constructor(message: string, hint?: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'InstallError';
    this.hint = hint;
  }
}
