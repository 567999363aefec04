import { controllerHealth } from '../../runtime/contracts/api/health.ts';
import { platformStatus, type PlatformStatus } from '../../runtime/contracts/api/platform.ts';
import { command } from '../command.ts';
import { apiFlags } from '../common-flags.ts';
import { Failure } from '../failure.ts';
import { columns, fields } from '../output.ts';

export const statusCommand = command({
  name: 'status',
  description: 'Show whether the platform works; ends with 1 when a part of it does not.',
  flags: apiFlags,
  examples: ['svc status', 'svc status -o json'],
  async run({ context, flags }) {
    const api = context.address(flags);
    const anonymous = !context.signedIn(flags);
    const client = context.api(flags, { anonymous });
    const local = context.local?.();
    // The test cluster's, too, is in a folder of this machine, and no process of it.
    const embedded = local?.api === api && local.target === 'local' ? local : undefined;
    if (embedded && embedded.process === undefined) {
      throw new Failure('The platform on this machine does not run.', { code: 'not_running', hint: 'svc up' });
    }
    const answer = await client.probe('/health/controllers');
    const health = controllerHealth.safeParse(answer.body);
    if (!health.success) {
      throw new Failure(`${api} answers ${answer.status}, and not as a management API does.`, {
        code: `http_${answer.status}`,
        hint: 'check the address (--api, SVC_API)',
      });
    }
    const platform = anonymous ? undefined : await client.call('GET', '/platform/status', platformStatus);
    const { healthy, managerStarted, cacheSynced, controllers } = health.data;
    const missing = controllers.filter(({ registered }) => !registered).map(({ name }) => name);
    const states: [string, string][] = [
      ['controllers', healthy ? 'on' : 'unhealthy'],
      ...(platform?.components ?? [])
        .filter(({ name }) => name !== 'controllers')
        .map(({ name, status }): [string, string] => [name, status]),
    ];
    const unhealthy = states.filter(([, state]) => state === 'unhealthy').map(([name]) => name);
    context.print(
      {
        data: {
          api,
          ...(embedded && { process: embedded.process }),
          healthy: unhealthy.length === 0,
          controllers: health.data,
          ...(platform && { platform }),
        },
        table: [
          fields([['API', api], ['Process', embedded?.process?.toString()], ...settingsOf(platform)]),
          columns([['COMPONENT', 'STATUS'], ...states], '   '),
        ].join('\n\n'),
        names: states.map(([name]) => name),
      },
      flags.output,
    );
    if (anonymous) context.say(`sign in to see more: svc login --api ${api}`);
    if (unhealthy.length === 0) return;
    const reasons = [
      ...(managerStarted ? [] : ['the controllers are not running']),
      ...(cacheSynced ? [] : ['their view of the cluster is not complete']),
      ...missing.map((name) => `${name} is not registered`),
    ];
    throw new Failure(`Not healthy: ${unhealthy.join(', ')}.`, {
      code: 'unhealthy',
      hint: healthy ? undefined : reasons.join('; '),
    });
  },
});

function settingsOf(platform: PlatformStatus | undefined): [string, string | undefined][] {
  return [
    ['Version', platform?.version],
    ['Cluster', platform?.cluster],
    ['Apps domain', platform?.appsDomain],
  ];
}
