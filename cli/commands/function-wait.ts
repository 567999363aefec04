import { bindingView, type BindingView } from '../../runtime/contracts/api/bindings.ts';
import { functionView, type FunctionView } from '../../runtime/contracts/api/functions.ts';
import { segment } from '../client.ts';
import type { Context } from '../context.ts';
import { Failure } from '../failure.ts';
import type { Place } from '../place.ts';
import { waitFor, type Step, type WaitFlags } from '../wait.ts';
import { untilRouted } from './function-route.ts';

const usable = new Set<FunctionView['status']>(['idle', 'scheduled', 'running']);

export const readFunction = (place: Place, name: string) =>
  place.api.call('GET', place.path('functions', name), functionView, { query: place.query });

export const bindingPath = (place: Place, name: string, service: string) =>
  place.path('functions', name, `bindings/${segment(service)}`);

export const readBinding = (place: Place, name: string, service: string) =>
  place.api.call('GET', bindingPath(place, name, service), bindingView, { query: place.query });

/** How far a binding is. @throws Failure `failed` with the reason when the service refuses it */
export async function bindingStep(place: Place, name: string, service: string): Promise<Step<BindingView>> {
  const found = await readBinding(place, name, service);
  if (found.status === 'failed') {
    const message = found.message ?? 'see its status';
    throw new Failure(`The binding to "${service}" failed: ${message}`, { code: 'failed' });
  }
  if (found.status === 'ready') return { done: found };
  return { progress: `${service}: ${found.message ?? found.status}` };
}

/**
 * Waits until a function is as it was last changed: no pod of before is left, the pods that it always has are ready, so is
 * its way into its data source, and its URL leads to it.
 * @throws Failure `failed` with the reason when its pods do not come up, or the service refuses it
 */
export async function untilUpdated(
  context: Context,
  flags: WaitFlags,
  place: Place,
  name: string,
): Promise<FunctionView> {
  const updated = await waitFor(
    context,
    flags,
    async () => {
      const found = await readFunction(place, name);
      const { status, updating = false, readyReplicas, replicas } = found;
      const source = found.events?.source;
      const isBound = (as: string) =>
        found.bindings?.some(({ service, status: now }) => service === source && now === as);
      if (source !== undefined && isBound('failed')) await bindingStep(place, name, source);
      if (!updating) checkUp(found);
      const isUp = found.trigger === 'cron' || readyReplicas >= found.minReplicas;
      if (!updating && ((usable.has(status) && isUp) || status === 'failed')) {
        const way = source !== undefined && !isBound('ready') && (await bindingStep(place, name, source));
        return way && 'progress' in way ? way : { done: found };
      }
      const how = updating ? 'updating' : 'starting';
      const moving = `${how} (${readyReplicas} of ${Math.max(replicas, found.minReplicas)} pods ready)`;
      return { progress: `${name}: ${status === 'pending' ? status : moving}` };
    },
    `it goes on: svc function show ${name} ${place.flags}`,
  );
  if (updated.url !== undefined) await untilRouted(context, updated.url);
  return updated;
}

/** The last run of a schedule may have failed: that is no fault of how the function was made. @throws Failure */
function checkUp({ name, status, trigger, lastRun, message }: FunctionView): void {
  if (status !== 'failed' || (trigger === 'cron' && lastRun?.status === 'failed')) return;
  throw new Failure(`Function "${name}" failed: ${message ?? 'see its status'}`, { code: 'failed' });
}
