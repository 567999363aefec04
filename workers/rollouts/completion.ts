import type { App } from '../../runtime/contracts/resources/app.ts';
import type { Change } from '../../runtime/kube/informer.ts';

/** Whether a change ends the release of an App: it became available, failed, or the App is deleted. Pure. */
export function isReleaseCompletion({ type, object, previous }: Change<App>): boolean {
  if (type === 'deleted') return true;
  if (object.metadata.deletionTimestamp !== undefined && previous?.metadata.deletionTimestamp === undefined)
    return true;
  const release = object.status?.release;
  if (release === undefined || release.phase === 'progressing') return false;
  const previousRelease = previous?.status?.release;
  return previousRelease?.deploymentId !== release.deploymentId || previousRelease.phase !== release.phase;
}
