import { controllerHealth } from '../../runtime/contracts/api/health.ts';
import { platformStatus, type PlatformStatus } from '../../runtime/contracts/api/platform.ts';
import type { Context } from '../context.ts';
import { Failure } from '../failure.ts';
import type { FlagValues } from '../flags.ts';
import { isHost, readOnlyVolumes } from '../host-volumes.ts';
import { columns, fields } from '../output.ts';
import type { statusFlags } from '../session-flags.ts';

/** How many names of nodes are printed. */
const namesMax = 20;

/** Runs `svc status`. */
export async function status(context: Context, flags: FlagValues<typeof statusFlags>): Promise<void> {
  const api = context.address(flags);
  const anonymous = !context.signedIn(flags);
  const client = context.api(flags, { anonymous });
  const local = context.local?.();
  // A test cluster also has a folder on this machine, but no process of `svc up`.
  const embedded = local?.api === api && local.target === 'local' ? local : undefined;
  if (embedded && embedded.process === undefined) {
    throw new Failure('The platform on this machine is not running.', {
      code: 'not_running',
      hint: 'start it: svc up',
    });
  }
  // Without it, the embedded API server itself does not answer, and the next request says so.
  const waiting = (await embedded?.waitingProcesses?.().catch(() => undefined)) ?? [];
  const waits = waiting.map(({ name, message }) => `${name}: ${backOffText(message)}`).join('; ');
  const hint = waits === '' ? undefined : `${waits}; svc down && svc up starts it now`;
  const response = await client.probe('/health/controllers').catch((error: unknown) => {
    if (!(error instanceof Failure) || hint === undefined) throw error;
    throw new Failure(error.message, { code: error.code, hint, exitCode: error.exitCode, cause: error });
  });
  const health = controllerHealth.safeParse(response.body);
  if (!health.success) {
    throw new Failure(`${api} is not a management API: it answered ${response.status}.`, {
      code: `http_${response.status}`,
      hint: 'check the address (--api, SVC_API)',
    });
  }
  const platform = anonymous ? undefined : await client.call('GET', '/platform/status', platformStatus);
  const { healthy, managerStarted, cacheSynced, controllers } = health.data;
  const host = context.host?.();
  const nodes = platform?.nodes ?? [];
  // A cluster without Node objects is the embedded one, whose only machine is that of `svc up`.
  const checksHost = host && (embedded !== undefined || nodes.some((node) => isHost(host, node)));
  const volumes = checksHost ? readOnlyVolumes(host, await embedded?.volumes?.().catch(() => [])) : [];
  const unchecked = nodes.filter((node) => !(host && isHost(host, node))).map(({ name }) => name);
  const missing = controllers.filter(({ registered }) => !registered).map(({ name }) => name);
  const states: [string, string, string?][] = [
    ['controllers', healthy ? 'on' : 'unhealthy'],
    ...(platform?.components ?? [])
      .filter(({ name }) => name !== 'controllers')
      .map(({ name, status, message = '' }): [string, string, string] => [name, status, message]),
    ...waiting.map(({ name }): [string, string] => [name, 'back-off']),
    ...nodes.map(({ name, ready }): [string, string] => [`node ${name}`, ready ? 'on' : 'unhealthy']),
    ...volumes.map((name): [string, string] => [`volume ${name}`, 'read-only']),
  ];
  // A component that was just enabled, disabled or resized is not broken.
  const fine = ['on', 'disabled', 'starting', 'stopping'];
  const unhealthy = states.filter(([, state]) => !fine.includes(state)).map(([name]) => name);
  context.print(
    {
      data: {
        api,
        ...(embedded && { process: embedded.process }),
        healthy: unhealthy.length === 0,
        controllers: health.data,
        ...(waiting.length > 0 && { waiting }),
        ...(platform && { platform }),
        ...(checksHost && { readOnlyVolumes: volumes }),
        ...(platform?.nodes && { uncheckedNodes: unchecked }),
      },
      table: [
        fields([['API', api], ['Process', embedded?.process?.toString()], ...settingsOf(platform)]),
        columns(
          [['COMPONENT', 'STATUS', 'DETAIL'], ...states.map(([name, state, message = '']) => [name, state, message])],
          '   ',
        ),
      ].join('\n\n'),
      names: states.map(([name]) => name),
    },
    flags.output,
  );
  if (anonymous) context.say(`sign in to see more: svc login --api ${api}`);
  if (unchecked.length > 0) {
    const names = unchecked.length > namesMax ? [...unchecked.slice(0, namesMax), '…'] : unchecked;
    context.say(`volumes of other nodes are not checked; run svc status on them: ${names.join(', ')}`);
  }
  if (unhealthy.length === 0) return;
  const reasons = [
    ...(managerStarted ? [] : ['the controllers are not running']),
    ...(cacheSynced ? [] : ['their cache of the cluster is not synced']),
    ...missing.map((name) => `${name} is not registered`),
  ];
  throw new Failure(`Not healthy: ${unhealthy.join(', ')}.`, {
    code: 'unhealthy',
    hint: hint ?? (healthy ? undefined : reasons.join('; ')),
  });
}

/** The kubelet's `back-off 5m0s restarting failed container=x pod=y_z` in words. */
function backOffText(message: string): string {
  const [, pause] = /^back-off (\S+) /.exec(message) ?? [];
  return pause === undefined ? 'crashed and waits for its next start' : `crashed and starts again after ${pause}`;
}

function settingsOf(platform: PlatformStatus | undefined): [string, string | undefined][] {
  return [
    ['Version', platform?.version],
    ['Cluster', platform?.cluster],
    ['Apps domain', platform?.appsDomain],
  ];
}
