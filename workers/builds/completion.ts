import type { Build } from '../../runtime/contracts/resources/build.ts';
import type { Change } from '../../runtime/kube/informer.ts';

/** Whether a change ends a Build: it succeeded, failed or was deleted. Pure. */
export function isBuildCompletion({ type, object, previous }: Change<Build>): boolean {
  if (type === 'deleted') return true;
  const phase = object.status?.phase;
  return (phase === 'succeeded' || phase === 'failed') && previous?.status?.phase !== phase;
}
