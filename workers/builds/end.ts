import type { Build } from '../../runtime/contracts/resources/build.ts';
import type { Change } from '../../runtime/kube/informer.ts';

/** Whether a Build came to its end, or was deleted: what a deployment waits for that is built. Pure. */
export function isBuildEnd({ type, object, previous }: Change<Build>): boolean {
  if (type === 'deleted') return true;
  const phase = object.status?.phase;
  return (phase === 'succeeded' || phase === 'failed') && previous?.status?.phase !== phase;
}
