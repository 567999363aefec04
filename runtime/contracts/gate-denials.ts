/** The codes with which the gate denies, and the status of each (spec.md §7.1). */
export const gateDenialStatus = {
  invalid_key: 401,
  rate_limited: 429,
  quota_exhausted: 429,
  gate_unavailable: 503,
  misconfigured: 500,
} as const;

export type GateDenialCode = keyof typeof gateDenialStatus;

/**
 * Where the platform asks whether a route demands a key: a path that no app is known to have, and that no function hears
 * of. While a route is open the question is to cost a 404 and nothing else.
 */
export const gateProbePath = '/.well-known/svc-gate-probe';

/**
 * The body of every 401 of the gate, byte for byte: a key that is missing, unknown, disabled, expired or meant for
 * another app reads the same. Whoever asks without a key and gets exactly this has met the gate.
 */
export const invalidKeyBody = JSON.stringify({
  code: 'invalid_key',
  message: 'Send an API key that is valid for this app in the X-API-Key header.',
});
