import { invalidValue } from './causes.ts';
import type { Resource } from './resource.ts';

/** One thing that is wrong: mostly a field. `reason` is for machines, such as `FieldValueInvalid`. */
export interface Cause {
  reason: string;
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
  readonly status: Status;

  constructor(code: number, reason: string, message: string, details?: Details) {
    super(message);
    const head = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' } as const;
    this.status = { ...head, message, ...(reason && { reason }), ...(details && { details }), code };
  }
}

type Named = Pick<Resource, 'group' | 'plural' | 'kind'>;

const qualified = (name: string, group: string) => (group ? `${name}.${group}` : name);
const titleOf = ({ group, plural }: Named, name: string) => {
  const title = qualified(plural, group);
  return name ? `${title} "${name}"` : title;
};
const detailsOf = ({ group, plural: kind }: Named, name: string): Details => ({
  ...(name && { name }),
  ...(group && { group }),
  kind,
});

export const notFound = (resource: Named, name: string) =>
  new ApiError(404, 'NotFound', `${titleOf(resource, name)} not found`, detailsOf(resource, name));

/** A resource that no group has. */
export const noSuchResource = () =>
  new ApiError(404, 'NotFound', 'the server could not find the requested resource', {});

export const alreadyExists = (resource: Named, name: string) =>
  new ApiError(409, 'AlreadyExists', `${titleOf(resource, name)} already exists`, detailsOf(resource, name));

export const conflict = (resource: Named, name: string, why: string) => {
  const message = `Operation cannot be fulfilled on ${titleOf(resource, name)}: ${why}`;
  return new ApiError(409, 'Conflict', message, detailsOf(resource, name));
};

export const forbidden = (resource: Named, name: string, why: string, causes?: Cause[]) => {
  const details = { ...detailsOf(resource, name), ...(causes && { causes }) };
  return new ApiError(403, 'Forbidden', `${titleOf(resource, name)} is forbidden: ${why}`, details);
};

/** @param causes at least one */
export const invalid = ({ group, kind }: Omit<Named, 'plural'>, name: string, causes: Cause[]) => {
  const lines = causes.map(({ field = '', message }) => `${field}: ${message}`).join(', ');
  const list = causes.length === 1 ? lines : `[${lines}]`;
  const message = `${qualified(kind, group)} ${JSON.stringify(name)} is invalid: ${list}`;
  return new ApiError(422, 'Invalid', message, { ...detailsOf({ group, kind, plural: kind }, name), causes });
};

/** A write that names no version, to a kind that needs one. */
export const unversioned = ({ group, plural: kind }: Named, name: string) =>
  invalid({ group, kind }, name, [invalidValue('metadata.resourceVersion', 0, 'must be specified for an update')]);

/** What the real server has no better answer to, either. */
export const unexpected = (message: string) => new ApiError(500, '', message);

export const badRequest = (message: string) => new ApiError(400, 'BadRequest', message);

export const unauthorized = () => new ApiError(401, 'Unauthorized', 'Unauthorized');

export const methodNotAllowed = () =>
  new ApiError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});

/** What the real API server serves and this one does not. */
export const notImplemented = (what: string) =>
  new ApiError(501, 'NotImplemented', `the embedded API server does not serve ${what}`);

export const expired = (message: string) => new ApiError(410, 'Expired', message);
