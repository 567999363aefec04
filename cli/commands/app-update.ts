import { z } from 'zod';
import { appView, deploymentAccepted } from '../../runtime/contracts/api/apps.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { imageReference, text, withoutDefaults } from '../flags.ts';
import { resolveScope } from '../scope.ts';
import { waitFlags } from '../wait.ts';
import { buildCommit } from './app-deploy.ts';
import { appKind } from './app-kind.ts';
import { removalFlags, settingFlags, settingsBody } from './app-settings.ts';
import { waitUntilServing } from './app-wait.ts';
import { printDeployment } from './deployment.ts';

export const updateCommand = command({
  name: 'update',
  args: ['app'],
  description: 'Deploy an image or change settings. --volume replaces all mounts.',
  flags: {
    image: imageReference('image with registry, name and tag; creates a new revision'),
    commit: text('<sha>', 'commit of the image; without --image, the commit to build from git'),
    ...withoutDefaults(settingFlags),
    ...removalFlags,
    ...waitFlags,
    ...scopeFlags,
  },
  suggestions: { '--env': 'svc app env set' },
  data: appView,
  examples: [
    'svc app update api --image registry.example.com/shop/api:1.4.3 --commit 4c0ffee',
    'svc app update api --replicas 3 --memory 512Mi',
    'svc app update api --volume uploads:/data',
  ],
  async run({ context, args, flags }) {
    const { image, commit } = flags;
    const settings = settingsBody(flags);
    const changed = Object.keys(settings).length > 0;
    if (image === undefined && commit === undefined && !changed) {
      throw usageFailure('Nothing to change. See svc app update --help.');
    }
    if (image === undefined && commit !== undefined && changed) {
      throw usageFailure('--commit cannot be combined with settings unless --image is set.');
    }
    const scope = resolveScope(context, flags);
    if (image === undefined && commit !== undefined) {
      const accepted = await buildCommit(scope, args.app, commit);
      await printDeployment(context, flags, scope, { app: args.app, accepted });
      return;
    }
    const body = { ...(image !== undefined && { image }), ...(commit !== undefined && { commit }), ...settings };
    const schema = z.union([deploymentAccepted, appView]);
    const result = await scope.api.call('PATCH', scope.path('apps', args.app), schema, { query: scope.query, body });
    if ('statusUrl' in result) {
      await printDeployment(context, flags, scope, { app: args.app, accepted: result });
      return;
    }
    // Auto-rollback affects later deployments only, and changes no pods.
    const changesPods = flags.wait && Object.keys(settings).some((key) => key !== 'autoRollback');
    const app = changesPods ? await waitUntilServing(context, flags, scope, args.app) : result;
    appKind.print(context, app, flags.output);
    if (app.pendingRestart) {
      const restart = `svc app restart ${args.app} ${scope.flags}`;
      context.say(`its pods keep the variables and secrets of the last rollout; apply the new ones: ${restart}`);
    }
  },
});
