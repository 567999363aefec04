import type { KubeClient, ObjectReader } from '../kube/kube-client.ts';
import type { Session } from '../http/route.ts';

/**
 * Where a request that only reads finds objects: in the copies of this process. A user who has just changed something reads
 * from the API server, whichever replica made the change, so that everybody reads their own changes
 * (docs/decisions/0091-reads-from-copies.md).
 */
export function readerFor(
  kube: ObjectReader & Pick<KubeClient, 'copies'>,
  session: Pick<Session, 'hasChanged'> | undefined,
): ObjectReader {
  return kube.copies && session && !session.hasChanged ? kube.copies : kube;
}

/** The header of a list: the version of the cluster's objects that it is from, to compare with `version` of the event stream. */
export function versionHeader(resourceVersion: string): Record<string, string> {
  return { 'X-Svc-Version': resourceVersion };
}
