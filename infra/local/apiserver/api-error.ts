import { invalidValue, type Cause } from './causes.ts';
import type { Resource } from './resource.ts';

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

/** An error in the API server's form. */
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
const qualifiedName = ({ group, plural }: Named, name: string) => {
  const prefix = qualified(plural, group);
  return name ? `${prefix} "${name}"` : prefix;
};
const detailsOf = ({ group, plural: kind }: Named, name: string): Details => ({
  ...(name && { name }),
  ...(group && { group }),
  kind,
});

export const notFound = (resource: Named, name: string) =>
  new ApiError(404, 'NotFound', `${qualifiedName(resource, name)} not found`, detailsOf(resource, name));

/** No API group has this resource. */
export const noSuchResource = () =>
  new ApiError(404, 'NotFound', 'the server could not find the requested resource', {});

export const alreadyExists = (resource: Named, name: string) =>
  new ApiError(409, 'AlreadyExists', `${qualifiedName(resource, name)} already exists`, detailsOf(resource, name));

export const conflict = (resource: Named, name: string, why: string) => {
  const message = `Operation cannot be fulfilled on ${qualifiedName(resource, name)}: ${why}`;
  return new ApiError(409, 'Conflict', message, detailsOf(resource, name));
};

export const forbidden = (resource: Named, name: string, why: string, causes?: Cause[]) => {
  const details = { ...detailsOf(resource, name), ...(causes && { causes }) };
  return new ApiError(403, 'Forbidden', `${qualifiedName(resource, name)} is forbidden: ${why}`, details);
};

/** @param causes at least one */
export const invalid = ({ group, kind }: Omit<Named, 'plural'>, name: string, causes: Cause[]) => {
  const lines = causes.map(({ field = '', message }) => `${field}: ${message}`).join(', ');
  const list = causes.length === 1 ? lines : `[${lines}]`;
  const message = `${qualified(kind, group)} ${JSON.stringify(name)} is invalid: ${list}`;
  return new ApiError(422, 'Invalid', message, { ...detailsOf({ group, kind, plural: kind }, name), causes });
};

/** An update without `resourceVersion` of a kind that requires one. */
export const missingResourceVersion = ({ group, plural: kind }: Named, name: string) =>
  invalid({ group, kind }, name, [invalidValue('metadata.resourceVersion', 0, 'must be specified for an update')]);

/** An error that the real server also reports as 500. */
export const internalError = (message: string) => new ApiError(500, '', message);

export const badRequest = (message: string) => new ApiError(400, 'BadRequest', message);

export const unauthorized = () => new ApiError(401, 'Unauthorized', 'Unauthorized');

export const methodNotAllowed = () =>
  new ApiError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});

/** The real API server supports this; the embedded one does not. */
export const notImplemented = (what: string) =>
  new ApiError(501, 'NotImplemented', `the embedded API server does not support ${what}`);

export const expired = (message: string) => new ApiError(410, 'Expired', message);
