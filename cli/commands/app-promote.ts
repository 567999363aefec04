import { z } from 'zod';
import { deploymentAccepted, promotionCreated, type PromotionCreated } from '../../runtime/contracts/api/apps.ts';
import { command } from '../command.ts';
import { projectFlags } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { requiredText, texts, toggle } from '../flags.ts';
import { readSecrets } from '../new-environment.ts';
import { resolveScope, type Scope } from '../scope.ts';
import { waitFlags } from '../wait.ts';
import { appKind } from './app-kind.ts';
import { waitUntilRunning } from './app-wait.ts';
import { printDeployment } from './deployment.ts';

export const promoteCommand = command({
  name: 'promote',
  args: ['app'],
  description: 'Deploy the current image of an app in one environment to another environment.',
  flags: {
    from: requiredText('<environment>', 'source environment'),
    to: requiredText('<environment>', 'target environment'),
    create: toggle('create the app with its settings if it does not exist in the target'),
    secret: texts('<NAME>', 'secret of the new app; value from the variable of this shell, or a prompt'),
    ...waitFlags,
    ...projectFlags,
  },
  examples: [
    'svc app promote api --from dev --to prod',
    'svc app promote api --from dev --to prod --create --secret API_KEY',
    'svc app promote api --from dev --to prod --no-wait',
  ],
  async run({ context, args, flags }) {
    const { from, to, create } = flags;
    if (!create && flags.secret.length > 0) throw usageFailure('--secret requires --create.');
    const scope = resolveScope(context, { ...flags, environment: to });
    const secrets = await readSecrets(context, flags.secret);
    const body = { from, to, ...(create && { create }), ...(flags.secret.length > 0 && { secrets }) };
    const path = scope.path('apps', args.app, 'promote');
    const result = await scope.api.call('POST', path, z.union([promotionCreated, deploymentAccepted]), { body });
    if ('statusUrl' in result) {
      await printDeployment(context, flags, scope, { app: args.app, accepted: result });
      return;
    }
    // Before the wait, because a missing secret may be why the app does not start.
    sayNotCopied(context, scope, result);
    const app = flags.wait ? await waitUntilRunning(context, flags, scope, args.app) : result.app;
    appKind.print(context, app, flags.output);
  },
});

/** Lists what was not copied to the new app, with the commands to set it up. */
function sayNotCopied(context: Context, scope: Scope, { app, notCopied }: PromotionCreated): void {
  const { name, environment } = app;
  const { secrets, hosts, volumes, git } = notCopied;
  const say = (what: string, commands: string) => context.say(`not copied: ${what}: ${commands}`);
  for (const secret of secrets) {
    say(`the secret ${secret}; set it with`, `svc app secret set ${name} ${secret} --restart ${scope.flags}`);
  }
  for (const host of hosts) {
    say(`the host ${host}; add a host of ${environment} with`, `svc app host add ${name} <host> ${scope.flags}`);
  }
  for (const volume of volumes) {
    say(`the volume ${volume.name}; create it with`, `svc volume create ${volume.name} --size <size> ${scope.flags}`);
  }
  if (volumes.length > 0) {
    // The flag replaces all mounts.
    const mounts = [...app.volumes, ...volumes].map((mount) => `--volume ${mount.name}:${mount.path}`).join(' ');
    context.say(`then mount the volumes with: svc app update ${name} ${mounts} ${scope.flags}`);
  }
  if (git !== undefined) {
    say(
      'the git source; deploy its next images with',
      `svc app promote ${name} --from <environment> --to ${environment}`,
    );
  }
  if (app.gate !== 'off') say('API keys, which the app requires; create one with', `svc key create ${scope.flags}`);
}
