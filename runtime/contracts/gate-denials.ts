import { systemNamespace } from '../domain/labels.ts';

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

/** The Service that the ingress asks before it forwards a request to a gated route. */
export const checkerService = 'svc-authz';

/** The host that the ingress names when it asks. */
export const checkerHost = `${checkerService}.${systemNamespace}.svc`;

/** The path of the ingress's question; its query is `app=` and the app's id. */
export const authorizePath = '/authorize';

/** The response of a denial. */
export interface GateDenial {
  status: number;
  /** Names and values in turn. */
  headers: readonly string[];
  body: string;
}

/**
 * A denial of docs/reference/gate.md#verdicts. All denials of one kind are the same bytes, built once. Scripts of any
 * origin may read them, since they reveal nothing that the holder of a key does not know. Pure.
 */
export function gateDenial(code: GateDenialCode, body: string, more: readonly string[] = []): GateDenial {
  const headers = [
    'Content-Type',
    'application/json',
    'Content-Length',
    String(Buffer.byteLength(body)),
    'Cache-Control',
    'no-store',
    'Access-Control-Allow-Origin',
    '*',
    'Access-Control-Expose-Headers',
    'Retry-After, RateLimit, RateLimit-Policy',
    ...more,
  ];
  return { status: gateDenialStatus[code], headers, body };
}

/** The denial when keys cannot be verified: of a checker that cannot prove its view, and of what stands in for it. */
export const gateUnavailable = gateDenial(
  'gate_unavailable',
  JSON.stringify({
    code: 'gate_unavailable',
    message: `The API key checker ${checkerService} cannot verify keys right now. Retry in a few seconds.`,
  }),
  ['Retry-After', '10'],
);
