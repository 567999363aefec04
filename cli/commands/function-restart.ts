import { functionView, type FunctionView } from '../../runtime/contracts/api/functions.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { Failure } from '../failure.ts';
import type { FlagValues } from '../flags.ts';
import { fields } from '../output.ts';
import { resolveScope, type Scope } from '../scope.ts';
import { waitFlags, waitFor, type WaitFlags } from '../wait.ts';
import { functionKind } from './function-kind.ts';

/** Restarts the pods of a function, and waits for them unless `--no-wait` is given. @throws Failure */
export async function restart(
  context: Context,
  flags: WaitFlags & Pick<FlagValues<typeof scopeFlags>, 'output'>,
  scope: Scope,
  name: string,
): Promise<void> {
  const path = scope.path('functions', name);
  const accepted = await scope.api.call('POST', `${path}/restart`, functionView, { query: scope.query });
  const view = flags.wait ? await waitForRestart(context, flags, scope, name) : accepted;
  context.print(
    {
      data: view,
      table: fields([
        ['Function', view.name],
        ['Status', view.status],
        ['Pods', `${view.readyReplicas} of ${view.replicas} ready`],
      ]),
      names: [view.name],
    },
    flags.output,
  );
}

function waitForRestart(context: Context, flags: WaitFlags, scope: Scope, name: string): Promise<FunctionView> {
  return waitFor(
    context,
    flags,
    async () => {
      const view = await functionKind.read(scope, name);
      if (!view.pendingRestart) return { done: view };
      if (view.status === 'failed' && view.updating !== true) {
        const { message = 'see its status' } = view;
        throw new Failure(`Function "${name}" failed: ${message}`, { code: 'failed' });
      }
      return { progress: `${name}: restarting (${view.readyReplicas} of ${view.replicas} ready)` };
    },
    `svc function show ${name} ${scope.flags}`,
  );
}

export const restartCommand = command({
  name: 'restart',
  args: ['function'],
  description: 'Restart the pods of a function with the latest variables and secrets.',
  flags: { ...waitFlags, ...scopeFlags },
  examples: ['svc function restart hello', 'svc function restart hello --no-wait'],
  async run({ context, args, flags }) {
    await restart(context, flags, resolveScope(context, flags), args.function);
  },
});
