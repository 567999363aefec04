import { deploymentAccepted, type DeploymentAccepted } from '../../runtime/contracts/api/apps.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { imageReference, text } from '../flags.ts';
import { resolveScope, type Scope } from '../scope.ts';
import { waitFlags } from '../wait.ts';
import { printDeployment } from './deployment.ts';

/** Builds and deploys a commit of an app with a git source (default: the newest on its branch). */
export function buildCommit(scope: Scope, app: string, commit: string | undefined): Promise<DeploymentAccepted> {
  return scope.api.call('POST', scope.path('apps', app, 'git/builds'), deploymentAccepted, {
    query: scope.query,
    body: commit === undefined ? {} : { commit },
  });
}

export const deployCommand = command({
  name: 'deploy',
  args: ['app'],
  description: 'Deploy an image, or a commit from git, and wait for the result.',
  flags: {
    image: imageReference('image with registry, name and tag'),
    commit: text('<sha>', 'commit of the image; without --image, the commit to build from git'),
    ...waitFlags,
    ...scopeFlags,
  },
  suggestions: { '--env': 'svc app env set' },
  examples: [
    'svc app deploy api --image registry.example.com/shop/api:1.4.3 --commit 4c0ffee',
    'svc app deploy api --image registry.example.com/shop/api:1.4.3 --timeout 10m',
  ],
  async run({ context, args, flags }) {
    const { image, commit } = flags;
    if (image === undefined && commit === undefined) throw usageFailure('Use --image, --commit or both.');
    const scope = resolveScope(context, flags);
    const result =
      image === undefined
        ? await buildCommit(scope, args.app, commit)
        : await scope.api.call('PATCH', scope.path('apps', args.app), deploymentAccepted, {
            query: scope.query,
            body: { image, ...(commit !== undefined && { commit }) },
          });
    await printDeployment(context, flags, scope, { app: args.app, accepted: result });
  },
});
