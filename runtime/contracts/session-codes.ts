/**
 * Codes with which the platform closes the WebSocket of a session. The reason is a sentence.
 * https://www.rfc-editor.org/rfc/rfc6455#section-7.4.1
 */
export const sessionCodes = {
  /** The command or the connection has ended. */
  done: 1000,
  /** The platform restarts. */
  goingAway: 1001,
  /** The caller's rights have ended, or a message is not valid. */
  policyViolation: 1008,
  /** The pod has ended, or is unreachable. */
  lost: 1011,
  idle: 4000,
  /** A user stopped the run. */
  stopped: 4001,
} as const;
