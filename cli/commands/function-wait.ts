import { functionView, type FunctionView } from '../../runtime/contracts/api/functions.ts';
import type { Context } from '../context.ts';
import { Failure } from '../failure.ts';
import type { Place } from '../place.ts';
import { waitFor, type WaitFlags } from '../wait.ts';

const usable = new Set<FunctionView['status']>(['idle', 'scheduled', 'running']);

export const readFunction = (place: Place, name: string) =>
  place.api.call('GET', place.path('functions', name), functionView, { query: place.query });

/**
 * Waits until a function is as it was last changed: no pod of before is left, and the pods that it always has are ready.
 * @throws Failure `failed` with the reason when its pods do not come up
 */
export function untilUpdated(context: Context, flags: WaitFlags, place: Place, name: string): Promise<FunctionView> {
  return waitFor(
    context,
    flags,
    async () => {
      const found = await readFunction(place, name);
      const { status, updating = false, readyReplicas, replicas } = found;
      if (!updating) checkUp(found);
      const isUp = found.trigger === 'cron' || readyReplicas >= found.minReplicas;
      if (!updating && ((usable.has(status) && isUp) || status === 'failed')) return { done: found };
      const how = updating ? 'updating' : 'starting';
      const moving = `${how} (${readyReplicas} of ${Math.max(replicas, found.minReplicas)} pods ready)`;
      return { progress: `${name}: ${status === 'pending' ? status : moving}` };
    },
    `it goes on: svc function show ${name} ${place.flags}`,
  );
}

/** The last run of a schedule may have failed: that is no fault of how the function was made. @throws Failure */
function checkUp({ name, status, trigger, lastRun, message }: FunctionView): void {
  if (status !== 'failed' || (trigger === 'cron' && lastRun?.status === 'failed')) return;
  throw new Failure(`Function "${name}" failed: ${message ?? 'see its status'}`, { code: 'failed' });
}
