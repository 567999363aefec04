import type { App } from '../../runtime/contracts/resources/app.ts';
import { expectsSecrets } from '../../runtime/workloads/secrets.ts';
import type { Change } from '../../runtime/kube/informer.ts';

/**
 * Whether a rollout can continue after a change of an App: its release became available or failed, what the release
 * waits for is there, or the App is deleted. Pure.
 */
export function isReleaseCompletion({ type, object, previous }: Change<App>): boolean {
  if (type === 'deleted') return true;
  if (previous && expectsSecrets(previous) && !expectsSecrets(object)) return true;
  if (settledBindings(object) !== (previous ? settledBindings(previous) : '')) return true;
  if (object.metadata.deletionTimestamp !== undefined && previous?.metadata.deletionTimestamp === undefined)
    return true;
  const release = object.status?.release;
  if (release === undefined || release.phase === 'progressing') return false;
  const previousRelease = previous?.status?.release;
  return previousRelease?.deploymentId !== release.deploymentId || previousRelease.phase !== release.phase;
}

/** The versions of an app's bindings that are ready or failed. */
function settledBindings({ status }: App): string {
  const settled = status?.bindings?.filter(({ phase }) => phase !== 'pending') ?? [];
  return settled.map(({ service, version, phase }) => `${service} ${version} ${phase}`).join(', ');
}
