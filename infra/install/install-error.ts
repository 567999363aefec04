/** The reason why an installation stopped, with a hint on how to fix it. */
export class InstallError extends Error {
  readonly hint: string | undefined;
  /** Whether time ran out, or a setting is wrong; undefined for anything else. */
  readonly reason: 'timeout' | 'settings' | undefined;

  constructor(message: string, hint?: string, options: { cause?: unknown; reason?: 'timeout' | 'settings' } = {}) {
    super(message, options);
    this.name = 'InstallError';
    this.hint = hint;
    this.reason = options.reason;
  }
}
