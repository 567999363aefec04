import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { componentReply, platformStatus, type PlatformStatus } from '../../runtime/contracts/api/platform.ts';
import { componentNames, monitoringNamespace } from '../../runtime/domain/monitoring.ts';
import { command } from '../command.ts';
import { apiFlags, yesFlag } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { Failure, usageFailure } from '../failure.ts';
import { amount, requiredText, toggle, type FlagValues } from '../flags.ts';
import { columns, fields, type Output } from '../output.ts';
import { confirm } from '../prompt.ts';
import { waitFlags, waitFor, type WaitFlags } from '../wait.ts';
import { openBrowser } from './open.ts';

type Component = PlatformStatus['components'][number];
type ApiFlags = FlagValues<typeof apiFlags>;

const statusPath = '/platform/status';
const check = 'svc platform status';

/** The message of a component and the history of its memory limit, in one line. */
function remarksOf({ message, raised, notRaised }: Component): string {
  const refusals = {
    AtCeiling: 'was killed for memory at the highest limit that the platform sets; raise it with svc platform resize',
    ManualLimit: 'was killed for memory; its limit was set by hand, so raise it with svc platform resize',
    TooSoon: 'was killed for memory again; its limit is raised ten minutes after the last time',
  };
  return [
    message,
    notRaised && refusals[notRaised],
    raised && `raised from ${raised.from} to ${raised.to} at ${raised.raisedAt}: ${raised.reason}`,
  ]
    .filter(Boolean)
    .join('; ');
}

function toOutput(status: PlatformStatus): Output {
  const { version, cluster, appsDomain, components } = status;
  const rows = components.map((component) => [
    component.name,
    component.status,
    component.memory ?? '',
    remarksOf(component),
  ]);
  return {
    data: status,
    table: [
      fields([
        ['Version', version],
        ['Cluster', cluster],
        ['Apps domain', appsDomain],
      ]),
      columns([['COMPONENT', 'STATUS', 'MEMORY', 'MESSAGE'], ...rows], '   '),
    ].join('\n\n'),
    names: components.map(({ name }) => name),
  };
}

const statusCommand = command({
  name: 'status',
  description: 'Show the components of the platform. Exits with 1 if one is unhealthy.',
  flags: apiFlags,
  data: platformStatus,
  watch: true,
  examples: ['svc platform status', 'svc platform status -o json'],
  async run({ context, flags }) {
    const status = await context.api(flags).call('GET', statusPath, platformStatus);
    context.print(toOutput(status), flags.output);
    const unhealthy = status.components.filter((component) => component.status === 'unhealthy');
    if (unhealthy.length === 0) return;
    throw new Failure(`Not healthy: ${unhealthy.map(({ name }) => name).join(', ')}.`, { code: 'unhealthy' });
  },
});

/** The argument as the name of a component. @throws Failure (usage) for another word */
function componentNamed(word: string): string {
  if (componentNames.some((name) => name === word)) return word;
  throw usageFailure(`"${word}" is not a component. Use ${componentNames.join(', ')}.`);
}

/** Sends a change, and waits until the controllers have applied it. @param ends the states of a component that has it */
async function change(
  context: Context,
  flags: ApiFlags & WaitFlags,
  name: string,
  body: object,
  ends: readonly Component['status'][],
): Promise<void> {
  const api = context.api(flags);
  const reply = await api.call('PATCH', `/platform/components/${name}`, componentReply, { body });
  const read = async () => {
    const { components } = await api.call('GET', statusPath, platformStatus);
    const component = components.find((candidate) => candidate.name === name);
    if (component && ends.includes(component.status)) return { done: component };
    const { status = 'unknown', message } = component ?? {};
    return { progress: `${name} is ${status}${message === undefined ? '' : `: ${message}`}` };
  };
  const component = flags.wait ? await waitFor(context, flags, read, check) : reply;
  const table = fields([
    ['Component', component.name],
    ['Status', component.status],
    ['Memory', component.memory],
    ['Message', remarksOf(component) || undefined],
  ]);
  context.print({ data: component, table, names: [component.name] }, flags.output);
}

const enable = command({
  name: 'enable',
  args: ['component'],
  description: 'Start a component of monitoring, such as metrics-store or log-store.',
  flags: { ...waitFlags, ...apiFlags },
  data: componentReply,
  examples: ['svc platform enable metrics-store', 'svc platform enable log-store --no-wait'],
  run: ({ context, args, flags }) => change(context, flags, componentNamed(args.component), { enabled: true }, ['on']),
});

const disable = command({
  name: 'disable',
  args: ['component'],
  description: 'Stop a component of monitoring and free its memory. Its data is kept.',
  flags: { deleteData: toggle('also delete its data'), ...yesFlag, ...waitFlags, ...apiFlags },
  data: componentReply,
  examples: ['svc platform disable metrics-store', 'svc platform disable log-store --delete-data'],
  async run({ context, args, flags }) {
    const name = componentNamed(args.component);
    if (flags.deleteData) await confirm(context, flags, `Delete all data of ${name}?`);
    const body = { enabled: false, ...(flags.deleteData && { deleteData: true }) };
    await change(context, flags, name, body, ['disabled']);
  },
});

const resize = command({
  name: 'resize',
  args: ['component'],
  description: 'Set the memory limit of a component. The platform then stops raising it.',
  flags: {
    memory: requiredText('<size>', 'memory limit, such as 1Gi; "default" follows the profile'),
    ...waitFlags,
    ...apiFlags,
  },
  data: componentReply,
  examples: ['svc platform resize metrics-store --memory 2Gi', 'svc platform resize log-store --memory default'],
  run: ({ context, args, flags }) => {
    const memory = flags.memory === 'default' ? null : flags.memory;
    return change(context, flags, componentNamed(args.component), { memory }, ['on', 'disabled']);
  },
});

const secret = 'get secret grafana-admin -o \'go-template={{index .data "admin-password" | base64decode}}\'';
const forwardArguments = (port: number) => ['-n', monitoringNamespace, 'port-forward', 'service/grafana', `${port}:80`];

const dashboards = command({
  name: 'dashboards',
  description: 'Forward a port to Grafana and open it. It has no public URL.',
  flags: {
    port: amount('<port>', 'port on this machine (default 3000)', { min: 1, max: 65_535 }),
    print: toggle('only print the commands'),
    ...apiFlags,
  },
  examples: ['svc platform dashboards', 'svc platform dashboards --print'],
  async run({ context, flags }) {
    const { components } = await context.api(flags).call('GET', statusPath, platformStatus);
    const component = components.find(({ name }) => name === 'dashboards');
    if (!component) {
      throw new Failure('This installation has no dashboards.', {
        code: 'component_not_installed',
        hint: 'svc install adds them to a cluster; elsewhere, use svc top, svc app metrics and svc platform alerts list',
      });
    }
    if (component.status === 'disabled') {
      throw new Failure('The dashboards are disabled.', { code: 'not_ready', hint: 'svc platform enable dashboards' });
    }
    const port = flags.port ?? 3000;
    const url = `http://localhost:${port}`;
    const forward = `kubectl ${forwardArguments(port).join(' ')}`;
    const password = `kubectl -n ${monitoringNamespace} ${secret}`;
    const table = fields([
      ['URL', url],
      ['User', 'admin'],
      ['Password', password],
      ['Forward', forward],
    ]);
    context.print({ data: { url, user: 'admin', password, forward }, table, names: [url] }, flags.output);
    if (component.status !== 'on') {
      context.say(['the dashboards are not ready', component.message].filter(Boolean).join(': '));
    }
    if (flags.print || flags.output !== undefined || !context.stdout.isTTY) return;
    await forwardAndOpen(context, forwardArguments(port), url);
  },
});

/** Runs kubectl with the user's own kubeconfig until Ctrl-C, and opens the browser once the port is open. */
async function forwardAndOpen(context: Context, parameters: readonly string[], url: string): Promise<void> {
  const kubectl = spawn('kubectl', parameters, { stdio: ['ignore', 'pipe', 'inherit'], env: context.env });
  const ended = once(kubectl, 'exit');
  try {
    await once(kubectl, 'spawn');
  } catch {
    context.say('kubectl is not installed here; run the commands on a machine that has it');
    return;
  }
  const removeListener = context.onInterrupt?.(() => kubectl.kill());
  const lines = createInterface({ input: kubectl.stdout });
  lines.once('line', () => {
    context.say(`forwarding ${url}; stop with Ctrl-C`);
    openBrowser(context, url).catch(() => undefined);
  });
  await ended;
  removeListener?.();
}

export const componentCommands = [statusCommand, enable, disable, resize, dashboards];
