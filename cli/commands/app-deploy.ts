import { deploymentAccepted, type DeploymentAccepted } from '../../runtime/contracts/api/apps.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { requiredText, text } from '../flags.ts';
import { placeOf, type Place } from '../place.ts';
import { waitFlags } from '../wait.ts';
import { printDeployment } from './deployment.ts';

/** Has a commit of an app that is built of git built and deployed. */
export function buildCommit(place: Place, app: string, commit: string | undefined): Promise<DeploymentAccepted> {
  return place.api.call('POST', place.path('apps', app, 'git/builds'), deploymentAccepted, {
    query: place.query,
    body: commit === undefined ? {} : { commit },
  });
}

export const deployCommand = command({
  name: 'deploy',
  args: ['app'],
  description: 'Deploy an image, or a commit of an app that is built of git, and follow it to its end.',
  flags: {
    image: text('<image>', 'image with registry, name and tag'),
    commit: text('<sha>', 'commit that is shown in the history, or built when no image is given'),
    ...waitFlags,
    ...scopeFlags,
  },
  examples: [
    'svc app deploy api --image registry.example.com/shop/api:1.4.3 --commit 4c0ffee',
    'svc app deploy api --image registry.example.com/shop/api:1.4.3 --timeout 10m',
  ],
  async run({ context, args, flags }) {
    const { image, commit } = flags;
    if (image === undefined && commit === undefined) throw usageFailure('Give --image, --commit or both.');
    const place = placeOf(context, flags);
    const result =
      image === undefined
        ? await buildCommit(place, args.app, commit)
        : await place.api.call('PATCH', place.path('apps', args.app), deploymentAccepted, {
            query: place.query,
            body: { image, ...(commit !== undefined && { commit }) },
          });
    await printDeployment(context, flags, place, args.app, result);
  },
});

export const promoteCommand = command({
  name: 'promote',
  args: ['app'],
  description: 'Deploy what an app runs in one environment to the app of the same name in another one.',
  flags: {
    from: requiredText('<environment>', 'where it runs'),
    to: requiredText('<environment>', 'where it is to run'),
    ...waitFlags,
    ...{ project: scopeFlags.project, api: scopeFlags.api, output: scopeFlags.output },
  },
  examples: ['svc app promote api --from dev --to prod', 'svc app promote api --from dev --to prod --no-wait'],
  async run({ context, args, flags }) {
    const { from, to } = flags;
    const place = placeOf(context, { ...flags, environment: to });
    const path = place.path('apps', args.app, 'promote');
    const result = await place.api.call('POST', path, deploymentAccepted, { body: { from, to } });
    await printDeployment(context, flags, place, args.app, result);
  },
});
