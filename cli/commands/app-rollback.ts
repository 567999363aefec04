import { deploymentAccepted } from '../../runtime/contracts/api/apps.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { amount, toggle } from '../flags.ts';
import { resolveScope } from '../scope.ts';
import { waitFlags } from '../wait.ts';
import { followDeployment, newestDeployments, deploymentOutput } from './deployment.ts';

/** A note on what a rollback does not restore. */
const neverRestored = 'volume data, services, hosts, gate, replicas';
const withoutConfig = 'variables, secrets, port, health path, limits and volumes (restore them with --with-config)';
const withConfig = 'stored secrets (the next deployment uses the current ones again)';

export const rollbackCommand = command({
  name: 'rollback',
  args: ['app'],
  description: 'Roll back to the last successful revision, or to a specific one.',
  flags: {
    revision: amount('<n>', 'target revision (default: the last successful one before the current)', {
      min: 1,
      max: 2_147_483_647,
    }),
    withConfig: toggle('also restore variables, secrets, port, health path, limits, volumes'),
    ...waitFlags,
    ...scopeFlags,
  },
  examples: [
    'svc app rollback api',
    'svc app rollback api --revision 3',
    'svc app rollback api --revision 3 --with-config',
  ],
  async run({ context, args, flags }) {
    const scope = resolveScope(context, flags);
    const previous = (await newestDeployments(scope, args.app, 100)).find(({ current }) => current);
    const body = {
      ...(flags.revision !== undefined && { revision: flags.revision }),
      ...(flags.withConfig && { withConfig: true }),
    };
    const accepted = await scope.api.call('POST', scope.path('apps', args.app, 'rollback'), deploymentAccepted, {
      query: scope.query,
      body,
    });
    context.say(`unchanged: ${neverRestored}; ${flags.withConfig ? withConfig : withoutConfig}`);
    if (flags.wait) {
      const deployment = await followDeployment(context, flags, scope, { app: args.app, id: accepted.id });
      context.print(deploymentOutput(deployment), flags.output);
    } else {
      const table = `revision ${accepted.revision} is accepted`;
      context.print({ data: accepted, table, names: [accepted.id] }, flags.output);
    }
    if (!previous) return;
    const undo = `--revision ${previous.revision}${flags.withConfig ? ' --with-config' : ''}`;
    context.say(`undo with: svc app rollback ${args.app} ${undo} ${scope.flags}`);
  },
});
