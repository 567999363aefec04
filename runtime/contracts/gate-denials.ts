/** The codes of the gate's denials with their HTTP status, docs/reference/gate.md#verdicts. */
export const gateDenialStatus = {
  invalid_key: 401,
  rate_limited: 429,
  quota_exhausted: 429,
  gate_unavailable: 503,
  misconfigured: 500,
} as const;

export type GateDenialCode = keyof typeof gateDenialStatus;

/**
 * The path of the platform's check whether a route requires a key. No app is known to have it, and it does not reach
 * functions, so that the check of an open route costs a 404 and nothing else.
 */
export const gateProbePath = '/.well-known/svc-gate-probe';

/**
 * The body of every 401 of the gate, byte for byte: the same for a key that is missing, unknown, disabled, expired or not
 * valid for the app. A request without a key that gets exactly this body has reached the gate.
 */
export const invalidKeyBody = JSON.stringify({
  code: 'invalid_key',
  message: 'Send an API key that is valid for this app in the X-API-Key header.',
});
