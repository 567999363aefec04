import { appView, type AppView } from '../../runtime/contracts/api/apps.ts';
import { command, type Command, type Commands } from '../command.ts';
import { scopeFlags, noPromptFlag } from '../common-flags.ts';
import { Failure } from '../failure.ts';
import { table, type Output } from '../output.ts';
import { resolveScope } from '../scope.ts';
import { appKind } from './app-kind.ts';

interface Host {
  host: string;
  url: string;
  /** Whether the host can be removed. */
  extra: boolean;
}

/** The app's hosts, its own first. Its own host is unknown until the controller has set the app's URL. */
function hostsOf({ url, extraHosts }: AppView): Host[] {
  if (url === undefined) return extraHosts.map((host) => ({ host, url: '', extra: true }));
  const own = new URL(url);
  const at = (host: string) => `${own.protocol}//${host}${own.port === '' ? '' : `:${own.port}`}`;
  return [
    { host: own.hostname, url, extra: false },
    ...extraHosts.map((host) => ({ host, url: at(host), extra: true })),
  ];
}

function toOutput(app: AppView): Output {
  const hosts = hostsOf(app);
  return {
    data: hosts,
    table: table(hosts, [
      { title: 'HOST', value: ({ host }) => host },
      { title: 'URL', value: ({ url }) => url },
      { title: 'KIND', value: ({ extra }) => (extra ? 'extra' : 'own') },
    ]),
    names: hosts.map(({ host }) => host),
  };
}

/** The steps that the operator of the domain must take. */
function advice(hosts: readonly string[], { url }: AppView): string {
  const certificate = url?.startsWith('https:') ? ', and add a certificate for it to the ingress' : '';
  return hosts.map((host) => `${host}: point its DNS to the ingress${certificate}`).join('\n');
}

/** `add` and `remove`; the API takes the whole list of hosts. */
function changeCommand(
  name: 'add' | 'remove',
  description: string,
  next: (current: readonly string[], hosts: readonly string[], hint: { app: string; flags: string }) => string[],
): Command {
  return command({
    name,
    args: ['app', '...hosts'],
    description,
    flags: { ...noPromptFlag, ...scopeFlags },
    examples: [`svc app host ${name} web www.example.com`, `svc app host ${name} web example.com www.example.com`],
    async run({ context, args, flags }) {
      const scope = resolveScope(context, flags);
      const path = scope.path('apps', args.app);
      const current = await appKind.read(scope, args.app);
      const extraHosts = next(current.extraHosts, args.hosts, { app: args.app, flags: scope.flags });
      const app = await scope.api.call('PATCH', path, appView, { query: scope.query, body: { extraHosts } });
      if (name === 'add') context.say(advice(args.hosts, app));
      context.print(toOutput(app), flags.output);
    },
  });
}

const add = changeCommand('add', 'Add public hosts to an app. If one is taken, none is added.', (current, hosts) => [
  ...new Set([...current, ...hosts]),
]);

const remove = changeCommand('remove', 'Remove additional hosts from an app.', (current, hosts, { app, flags }) => {
  const unknown = hosts.find((host) => !current.includes(host));
  if (unknown !== undefined) {
    throw new Failure(`App "${app}" has no additional host "${unknown}".`, {
      code: 'not_found',
      hint: `list hosts: svc app host list ${app} ${flags}`,
    });
  }
  return current.filter((host) => !hosts.includes(host));
});

const list = command({
  name: 'list',
  args: ['app'],
  description: 'List the public hosts of an app.',
  flags: scopeFlags,
  data: appView,
  watch: true,
  examples: ['svc app host list web'],
  async run({ context, args, flags }) {
    const scope = resolveScope(context, flags);
    const app = await appKind.read(scope, args.app);
    context.print(toOutput(app), flags.output);
  },
});

export const hostCommands: Commands = { commands: [add, remove, list] };
