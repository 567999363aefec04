import { dependenciesContainer, type PodFault } from '../../runtime/contracts/pod.ts';
import { maxAnswerHead } from './answer-head.ts';

/** The party that caused a failure. */
type FaultOwner = 'client' | 'platform' | 'cold_start' | 'timeout' | 'function';

/** A response that the interceptor sends instead of the function's. */
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
  message: 'No function has this host name. Check the address, or retry in a moment if the function is new.',
  fault: 'client',
};

/** The response to the platform's gate probe, which must not start a pod. */
export const gateProbe: Failure = {
  status: 404,
  code: 'not_found',
  message: 'The platform uses this path to check whether a route requires an API key.',
  fault: 'client',
};

export const queueFull: Failure = {
  status: 503,
  code: 'cold_start_queue_full',
  message: 'The function is starting and its request queue is full. Retry in a moment.',
  fault: 'cold_start',
  retryAfterSeconds: 2,
};

export function coldStartTimeout(holdMs: number): Failure {
  return {
    status: 504,
    code: 'cold_start_timeout',
    message: `The function did not start within ${Math.round(holdMs / 1000)} seconds. Check its status and log.`,
    fault: 'cold_start',
    retryAfterSeconds: 10,
  };
}

/** The hold ended, and the platform could not raise the scale. */
export const platformUnavailable: Failure = {
  status: 503,
  code: 'platform_unavailable',
  message: 'The platform could not start the function. Retry in a moment.',
  fault: 'platform',
  retryAfterSeconds: 10,
};

/** Every pod of the function crashes, or cannot even be created. */
export function coldStartFailed(fault: PodFault): Failure {
  return {
    status: 502,
    code: 'cold_start_failed',
    message: `The function does not start: ${causeOf(fault)}`,
    fault: 'cold_start',
    retryAfterSeconds: 10,
  };
}

function causeOf({ reason, exitCode, initContainer }: PodFault): string {
  if (initContainer === dependenciesContainer) return 'its dependencies cannot be installed. Check its status.';
  if (exitCode === undefined) return `its pod cannot start (${reason}). Check its status.`;
  return `its process exits at startup (exit code ${exitCode}). Check its status and log.`;
}

/** The pod closed the connection before it sent a response. */
export const functionBroke: Failure = {
  status: 502,
  code: 'function_broke_off',
  message: 'The function closed the connection before it sent a response. Check its log.',
  fault: 'function',
};

/** The pod sent a longer head than the platform forwards. */
export const functionHeadTooLarge: Failure = {
  status: 502,
  code: 'function_head_too_large',
  message: `The headers of the function's response are larger than ${maxAnswerHead / 1024} KiB. Send fewer or shorter headers, such as cookies.`,
  fault: 'function',
};

/** Every connection to a pod failed until the hold ended. */
export const functionUnreachable: Failure = {
  status: 502,
  code: 'function_unreachable',
  message: 'No pod of the function accepts connections. Check its status and log.',
  fault: 'function',
  retryAfterSeconds: 2,
};

/** Every pod stayed at its concurrency limit until the hold ended, or the queue is full. */
export const functionBusy: Failure = {
  status: 503,
  code: 'function_busy',
  message: 'All pods of the function are at their concurrency limit. Retry in a moment.',
  fault: 'function',
  retryAfterSeconds: 2,
};

/** The pod accepted the request and sent nothing within the timeout. */
export function functionTimeout(timeoutMs: number): Failure {
  return {
    status: 504,
    code: 'function_timeout',
    message: `The function did not start its response within ${Math.round(timeoutMs / 1000)} seconds. Check its log.`,
    fault: 'timeout',
  };
}

/** The JSON body of a failure (docs/reference/functions.md#http). */
export function failureBody({ code, message, fault }: Failure, requestId: string): string {
  return JSON.stringify({ code, message, details: { fault, requestId } });
}
