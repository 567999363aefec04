import { deploymentAccepted } from '../../runtime/contracts/api/apps.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import type { Context } from '../context.ts';
import type { FlagValues } from '../flags.ts';
import { resolveScope, type Scope } from '../scope.ts';
import { waitFlags, type WaitFlags } from '../wait.ts';
import { printDeployment } from './deployment.ts';
import type { Restartable } from './workload-restart.ts';

/** Redeploys an app's current image, and waits for the result unless `--no-wait` is given. @throws Failure */
async function restart(
  context: Context,
  flags: WaitFlags & Pick<FlagValues<typeof scopeFlags>, 'output'>,
  scope: Scope,
  app: string,
): Promise<void> {
  const accepted = await scope.api.call('POST', scope.path('apps', app, 'restart'), deploymentAccepted, {
    query: scope.query,
  });
  await printDeployment(context, flags, scope, { app, accepted });
}

/** Apps, for commands that change their variables and secrets. */
export const restartableApp: Restartable = {
  kind: 'app',
  restarts: true,
  article: 'an app',
  example: 'api',
  async applyChange(context, flags, scope, app) {
    if (flags.restart) await restart(context, flags, scope, app);
    else context.say(`the change applies to the next deployment; apply it now: svc app restart ${app} ${scope.flags}`);
  },
};

export const restartCommand = command({
  name: 'restart',
  args: ['app'],
  description: 'Redeploy the current image with the latest variables and secrets.',
  flags: { ...waitFlags, ...scopeFlags },
  examples: ['svc app restart api', 'svc app restart api --no-wait'],
  async run({ context, args, flags }) {
    await restart(context, flags, resolveScope(context, flags), args.app);
  },
});
