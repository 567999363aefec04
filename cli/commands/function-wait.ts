import type { FunctionView } from '../../runtime/contracts/api/functions.ts';
import type { Context } from '../context.ts';
import { Failure } from '../failure.ts';
import type { Scope } from '../scope.ts';
import { waitFor, type WaitFlags } from '../wait.ts';
import { functionKind } from './function-kind.ts';
import { waitForRoute } from './function-route.ts';
import { bindingStep } from './workload-bind.ts';

const usable = new Set<FunctionView['status']>(['idle', 'scheduled', 'running']);

/**
 * Waits until the last change of a function is applied: all old pods are gone, its minimum of pods and the binding to its
 * event source are ready, and its URL works.
 * @throws Failure `failed` with the reason when its pods do not start or its binding fails
 */
export async function waitForUpdate(
  context: Context,
  flags: WaitFlags,
  scope: Scope,
  name: string,
): Promise<FunctionView> {
  const updated = await waitFor(
    context,
    flags,
    async () => {
      const view = await functionKind.read(scope, name);
      const { status, updating = false, readyReplicas, replicas } = view;
      const source = view.events?.source;
      const isBound = (as: string) =>
        view.bindings?.some(({ service, status: now }) => service === source && now === as);
      if (source !== undefined && isBound('failed')) await bindingStep(scope, 'function', name, source);
      if (!updating) checkRunning(view);
      const isUp = view.trigger === 'cron' || readyReplicas >= view.minReplicas;
      if (!updating && ((usable.has(status) && isUp) || status === 'failed')) {
        const step = source !== undefined && !isBound('ready') && (await bindingStep(scope, 'function', name, source));
        return step && 'progress' in step ? step : { done: view };
      }
      const phase = updating ? 'updating' : 'starting';
      const rollout = `${phase} (${readyReplicas} of ${Math.max(replicas, view.minReplicas)} pods ready)`;
      return { progress: `${name}: ${status === 'pending' ? status : rollout}` };
    },
    `svc function show ${name} ${scope.flags}`,
  );
  if (updated.url !== undefined) await waitForRoute(context, updated.url);
  return updated;
}

/** Ignores a failed scheduled run, which is unrelated to the change. @throws Failure when the function failed */
function checkRunning({ name, status, trigger, lastRun, message }: FunctionView): void {
  if (status !== 'failed' || (trigger === 'cron' && lastRun?.status === 'failed')) return;
  throw new Failure(`Function "${name}" failed: ${message ?? 'see its status'}`, { code: 'failed' });
}
