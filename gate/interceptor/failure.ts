import type { PodFault } from '../../runtime/contracts/pod.ts';

/** Whose fault a failed request was. */
export type FaultOwner = 'client' | 'platform' | 'cold_start' | 'timeout' | 'function';

/** An answer that the interceptor gives instead of the function. */
export interface Failure {
  status: number;
  /** Stable. */
  code: string;
  /** For people: what happened and what to do. Never quotes the function's output. */
  message: string;
  fault: FaultOwner;
  retryAfterSeconds?: number;
}

/** Carries a {@link Failure} through promises. */
export class RequestFailure extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, cause?: unknown) {
    super(failure.message, cause === undefined ? undefined : { cause });
    this.name = 'RequestFailure';
    this.failure = failure;
  }
}

export const unknownHost: Failure = {
  status: 404,
  code: 'unknown_host',
  message: 'No function answers at this host name. Check the address, or wait a moment if the function is new.',
  fault: 'client',
};

/** To the platform's own question whether the route demands a key: it came through, and wakes nobody. */
export const gateProbe: Failure = {
  status: 404,
  code: 'not_found',
  message: 'Nothing is here: at this path the platform asks whether a route demands an API key.',
  fault: 'client',
};

export const queueFull: Failure = {
  status: 503,
  code: 'cold_start_queue_full',
  message: 'The function is starting and too many requests wait for it already. Try again in a moment.',
  fault: 'cold_start',
  retryAfterSeconds: 2,
};

export function coldStartTimeout(holdMs: number): Failure {
  return {
    status: 504,
    code: 'cold_start_timeout',
    message: `The function did not start within ${Math.round(holdMs / 1000)} seconds. Its status and log say why.`,
    fault: 'cold_start',
    retryAfterSeconds: 10,
  };
}

/** The hold ended and the platform itself could not do its part. */
export const platformUnavailable: Failure = {
  status: 503,
  code: 'platform_unavailable',
  message: 'The platform could not start the function just now; this is not a fault of the function. Try again.',
  fault: 'platform',
  retryAfterSeconds: 10,
};

/** Every pod of the function crashes, or cannot even be created. */
export function coldStartFailed({ reason, exitCode }: PodFault): Failure {
  const how =
    exitCode === undefined
      ? `its pod cannot start (${reason})`
      : `its process ends as soon as it starts (exit code ${exitCode})`;
  return {
    status: 502,
    code: 'cold_start_failed',
    message: `The function does not start: ${how}. Its status and log say why.`,
    fault: 'cold_start',
    retryAfterSeconds: 10,
  };
}

/** The pod took the request and broke off before it answered. */
export const functionBroke: Failure = {
  status: 502,
  code: 'function_broke_off',
  message: 'The function ended the connection before it answered. Its log says why.',
  fault: 'function',
};

/** No connection to any pod came about, over and over. */
export const functionUnreachable: Failure = {
  status: 502,
  code: 'function_unreachable',
  message: 'The function has pods, and none of them takes connections. Its status and log say why.',
  fault: 'function',
  retryAfterSeconds: 2,
};

/** Every pod has as many requests as it may have, and so it stayed, or too many wait already. */
export const functionBusy: Failure = {
  status: 503,
  code: 'function_busy',
  message: 'The function has as many requests as its pods may have at once. Try again in a moment.',
  fault: 'function',
  retryAfterSeconds: 2,
};

/** The pod took the request, and then nothing came for too long. */
export function functionTimeout(timeoutMs: number): Failure {
  return {
    status: 504,
    code: 'function_timeout',
    message: `The function did not begin to answer within ${Math.round(timeoutMs / 1000)} seconds. Its log may say why.`,
    fault: 'timeout',
  };
}

/** The JSON body of a failure (design.md §9). */
export function failureBody({ code, message, fault }: Failure, requestId: string): string {
  return JSON.stringify({ code, message, details: { fault, requestId } });
}
