import { deploymentAccepted } from '../../runtime/contracts/api/apps.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import type { Context } from '../context.ts';
import type { FlagValues } from '../flags.ts';
import { placeOf, type Place } from '../place.ts';
import { waitFlags, type WaitFlags } from '../wait.ts';
import { printDeployment } from './deployment.ts';
import type { Restartable } from './workload-restart.ts';

/** Deploys what the app runs once more, and waits for the end unless told not to. @throws Failure */
async function restart(
  context: Context,
  flags: WaitFlags & Pick<FlagValues<typeof scopeFlags>, 'output'>,
  place: Place,
  app: string,
): Promise<void> {
  const accepted = await place.api.call('POST', place.path('apps', app, 'restart'), deploymentAccepted, {
    query: place.query,
  });
  await printDeployment(context, flags, place, app, accepted);
}

/** Of the commands that change what an app finds in its environment. */
export const restartableApp: Restartable = {
  what: 'app',
  article: 'an app',
  example: 'api',
  async applyChange(context, flags, place, app) {
    if (flags.restart) await restart(context, flags, place, app);
    else context.say(`pods have it from the next deployment on; at once: svc app restart ${app} ${place.flags}`);
  },
};

export const restartCommand = command({
  name: 'restart',
  args: ['app'],
  description: 'Deploy what an app runs once more, with its variables and secrets of now.',
  flags: { ...waitFlags, ...scopeFlags },
  examples: ['svc app restart api', 'svc app restart api --no-wait'],
  async run({ context, args, flags }) {
    await restart(context, flags, placeOf(context, flags), args.app);
  },
});
