import type { App } from '../../runtime/contracts/resources/app.ts';
import type { Change } from '../../runtime/kube/informer.ts';

/** Whether the release of an App came to its end, or the App is deleted: what rollouts wait for. Pure. */
export function isReleaseEnd({ type, object, previous }: Change<App>): boolean {
  if (type === 'deleted') return true;
  if (object.metadata.deletionTimestamp !== undefined && previous?.metadata.deletionTimestamp === undefined)
    return true;
  const release = object.status?.release;
  if (release === undefined || release.phase === 'progressing') return false;
  const before = previous?.status?.release;
  return before?.deploymentId !== release.deploymentId || before.phase !== release.phase;
}
