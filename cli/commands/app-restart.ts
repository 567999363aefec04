import { deploymentAccepted } from '../../runtime/contracts/api/apps.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import type { Context } from '../context.ts';
import type { FlagValues } from '../flags.ts';
import { resolveScope, type Scope } from '../scope.ts';
import { waitFlags, type WaitFlags } from '../wait.ts';
import { printDeployment } from './deployment.ts';

/** Redeploys an app's current image, and waits for the result unless `--no-wait` is given. @throws Failure */
export async function restart(
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
