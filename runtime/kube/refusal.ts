import { Problem } from '../domain/problem.ts';
import { ChildError, ForeignObjectError } from './children.ts';
import { isKubeError } from './kube-client.ts';

/** How the API server says that an object does not fit into the namespace's ResourceQuota. */
const exceededQuota = 'exceeded quota:';

/**
 * Whether a controller refused what a user asked for, in contrast to a failure of the controller: settings that it does not
 * accept, a name or host that is taken, an object that the platform does not own, or a quota that is used up. A refusal is
 * reported to the user and does not count as an error, because users could otherwise raise alerts about the platform.
 *
 * Other refusals by the API server are errors: the settings were accepted, so the platform wrote an object that it must
 * not write, or lacks a right.
 */
export function isRefusal(error: unknown): boolean {
  // 5xx: the platform cannot do it.
  if (error instanceof Problem) return error.status < 500;
  if (error instanceof ForeignObjectError) return true;
  const cause = error instanceof ChildError ? error.cause : error;
  return isKubeError(cause, 403) && cause.message.includes(exceededQuota);
}
