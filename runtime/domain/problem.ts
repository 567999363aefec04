/**
 * All error codes of the management API with their HTTP status (docs/reference/api.md#errors).
 * Codes are stable: they are added, never renamed. Messages may change.
 */
export const problemStatus = {
  invalid_request: 400,
  invalid_json: 400,
  environment_required: 400,
  unauthenticated: 401,
  invalid_credentials: 401,
  invalid_webhook_token: 401,
  forbidden: 403,
  scope_missing: 403,
  cross_site: 403,
  password_change_required: 403,
  image_not_allowed: 403,
  host_not_allowed: 403,
  limit_not_allowed: 403,
  too_many_projects: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  already_exists: 409,
  name_taken: 409,
  host_taken: 409,
  namespace_taken: 409,
  in_use: 409,
  undelivered_events: 409,
  last_admin: 409,
  not_ready: 409,
  conflict: 409,
  image_deleted: 409,
  git_source_configured: 409,
  source_incomplete: 409,
  source_store_full: 409,
  no_earlier_revision: 409,
  service_not_installed: 409,
  component_not_installed: 409,
  key_expired: 409,
  key_disabled: 409,
  already_rotated: 409,
  volume_not_expandable: 409,
  assistant_not_configured: 409,
  body_too_large: 413,
  source_too_large: 413,
  file_too_large: 413,
  message_too_large: 413,
  unsupported_media_type: 415,
  file_not_text: 415,
  invalid_value: 422,
  invalid_dependency: 422,
  invalid_source: 422,
  usage_expired: 422,
  upgrade_required: 426,
  too_many_requests: 429,
  assistant_limit_reached: 429,
  assistant_budget_used: 429,
  headers_too_large: 431,
  internal: 500,
  unavailable: 503,
  metrics_unavailable: 503,
  overloaded: 503,
  alerts_unavailable: 503,
} as const;

/** A stable code of {@link problemStatus}. */
export type ProblemCode = keyof typeof problemStatus;

/** 429 for a password that may be tried again later. */
export function tooManyAttempts(waitSeconds: number): Problem {
  return new Problem('too_many_requests', `Too many attempts. Try again in ${waitSeconds} seconds.`, {
    details: { retryAfterSeconds: waitSeconds },
  });
}

/**
 * An error that the caller caused or can act on. `message` is public: it says what to do and contains no secret. Details
 * for operators only go into `cause`.
 */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly status: number;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(
    code: ProblemCode,
    message: string,
    options: { details?: Readonly<Record<string, unknown>>; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Problem';
    this.code = code;
    this.status = problemStatus[code];
    this.details = options.details;
  }

  /** The error body of the management API, docs/reference/api.md#errors. */
  body(): { code: string; message: string; details?: Readonly<Record<string, unknown>> } {
    return { code: this.code, message: this.message, ...(this.details && { details: this.details }) };
  }
}
