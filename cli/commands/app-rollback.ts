import { deploymentAccepted } from '../../runtime/contracts/api/apps.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { amount, toggle } from '../flags.ts';
import { placeOf } from '../place.ts';
import { waitFlags } from '../wait.ts';
import { followDeployment, newestDeployments, shownDeployment } from './deployment.ts';

/** What no rollback brings back; for people, who may take it for more than it is. */
const never = 'data in volumes, services, hosts, gate, number of pods';
const withoutConfig = 'variables, secrets, port, health path, limits and volumes (--with-config brings those back)';
const withConfig = 'stored secrets: the pods have those of that revision, the next deployment has those of now';

export const rollbackCommand = command({
  name: 'rollback',
  args: ['app'],
  description: 'Go back to the last earlier revision that succeeded, or to a given one, as a new revision.',
  flags: {
    revision: amount('<n>', 'revision to go back to', { min: 1, max: 2_147_483_647 }),
    withConfig: toggle('bring back its environment, port, health path, limits and volumes, too'),
    ...waitFlags,
    ...scopeFlags,
  },
  examples: [
    'svc app rollback api',
    'svc app rollback api --revision 3',
    'svc app rollback api --revision 3 --with-config',
  ],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const before = (await newestDeployments(place, args.app, 100)).find(({ current }) => current);
    const body = {
      ...(flags.revision !== undefined && { revision: flags.revision }),
      ...(flags.withConfig && { withConfig: true }),
    };
    const accepted = await place.api.call('POST', place.path('apps', args.app, 'rollback'), deploymentAccepted, {
      query: place.query,
      body,
    });
    context.say(`not touched: ${never}; ${flags.withConfig ? withConfig : withoutConfig}`);
    if (flags.wait) {
      const deployment = await followDeployment(context, flags, place, args.app, accepted.id);
      context.print(shownDeployment(deployment), flags.output);
    } else {
      const table = `revision ${accepted.revision} is accepted`;
      context.print({ data: accepted, table, names: [accepted.id] }, flags.output);
    }
    if (!before) return;
    const undo = `--revision ${before.revision}${flags.withConfig ? ' --with-config' : ''}`;
    context.say(`undo with: svc app rollback ${args.app} ${undo} ${place.flags}`);
  },
});
