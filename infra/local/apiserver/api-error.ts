import type { Resource } from './resource.ts';

/** One field that is wrong. `reason` is the machine-readable one of a `Status`. */
export interface Cause {
  reason:
    | 'FieldValueInvalid'
    | 'FieldValueRequired'
    | 'FieldValueForbidden'
    | 'FieldValueNotSupported'
    | 'FieldValueDuplicate'
    | 'FieldValueNotFound'
    | 'FieldValueTypeInvalid'
    | 'FieldValueTooLong'
    | 'FieldValueTooMany'
    | 'NamespaceTerminating'
    | 'ExitCode';
  message: string;
  field?: string;
}

interface Details {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: Cause[];
  retryAfterSeconds?: number;
}

/** https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/ */
export interface Status {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: object;
  status: 'Success' | 'Failure';
  message?: string;
  reason?: string;
  details?: Details;
  code?: number;
}

/** A refusal, as the API server words it. */
export class ApiError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: Details | undefined;

  constructor(code: number, reason: string, message: string, details?: Details) {
    super(message);
    this.name = 'ApiError';
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  /** The body of the answer. */
  toStatus(): Status {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: this.message,
      ...(this.reason && { reason: this.reason }),
      ...(this.details && { details: this.details }),
      code: this.code,
    };
  }
}

type Named = Pick<Resource, 'group' | 'plural' | 'kind'>;

const qualified = ({ group, plural }: Named) => (group ? `${plural}.${group}` : plural);
const detailsOf = ({ group, plural }: Named, name: string): Details => ({
  ...(name && { name }),
  ...(group && { group }),
  kind: plural,
});

export function notFound(resource: Named, name: string): ApiError {
  return new ApiError(404, 'NotFound', `${qualified(resource)} "${name}" not found`, detailsOf(resource, name));
}

/** A resource that no group has. */
export function noSuchResource(): ApiError {
  return new ApiError(404, 'NotFound', 'the server could not find the requested resource', {});
}

export function alreadyExists(resource: Named, name: string): ApiError {
  const message = `${qualified(resource)} "${name}" already exists`;
  return new ApiError(409, 'AlreadyExists', message, detailsOf(resource, name));
}

export function conflict(resource: Named, name: string, why: string): ApiError {
  const message = `Operation cannot be fulfilled on ${qualified(resource)} "${name}": ${why}`;
  return new ApiError(409, 'Conflict', message, detailsOf(resource, name));
}

export const modified = 'the object has been modified; please apply your changes to the latest version and try again';

export function forbidden(resource: Named, name: string, why: string, causes?: Cause[]): ApiError {
  const subject = name ? `${qualified(resource)} "${name}"` : qualified(resource);
  const details = { ...detailsOf(resource, name), ...(causes && { causes }) };
  return new ApiError(403, 'Forbidden', `${subject} is forbidden: ${why}`, details);
}

/** @param causes at least one */
export function invalid({ group, kind }: Named, name: string, causes: Cause[]): ApiError {
  const lines = causes.map(({ field = '', message }) => `${field}: ${message}`);
  const list = lines.length === 1 ? lines.join('') : `[${lines.join(', ')}]`;
  const message = `${group ? `${kind}.${group}` : kind} ${JSON.stringify(name)} is invalid: ${list}`;
  return new ApiError(422, 'Invalid', message, { ...(name && { name }), ...(group && { group }), kind, causes });
}

/** A write that names no version, to a kind that needs one. */
export function unversioned({ group, plural }: Named, name: string): ApiError {
  const message = 'Invalid value: 0: must be specified for an update';
  return invalid({ group, plural, kind: plural }, name, [
    { reason: 'FieldValueInvalid', message, field: 'metadata.resourceVersion' },
  ]);
}

/** What the real server has no better answer to, either. */
export function unexpected(message: string): ApiError {
  return new ApiError(500, '', message);
}

export function badRequest(message: string): ApiError {
  return new ApiError(400, 'BadRequest', message);
}

export function unauthorized(): ApiError {
  return new ApiError(401, 'Unauthorized', 'Unauthorized');
}

export function methodNotAllowed(): ApiError {
  const message = 'the server does not allow this method on the requested resource';
  return new ApiError(405, 'MethodNotAllowed', message, {});
}

export function unsupportedMediaType(accepted: readonly string[]): ApiError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`;
  return new ApiError(415, 'UnsupportedMediaType', message);
}

/** What the real API server serves and this one does not. */
export function notImplemented(what: string): ApiError {
  return new ApiError(501, 'NotImplemented', `the embedded API server does not serve ${what}`);
}

export function expired(message: string): ApiError {
  return new ApiError(410, 'Expired', message);
}
