import { appView, type AppView } from '../../runtime/contracts/api/apps.ts';
import { command, type Commands } from '../command.ts';
import { scopeFlags, noPromptFlag } from '../common-flags.ts';
import { Failure } from '../failure.ts';
import { table, type Output } from '../output.ts';
import { resolveScope, type Scope } from '../scope.ts';
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

const flags = { ...noPromptFlag, ...scopeFlags };
const examplesOf = (name: 'add' | 'remove') => [
  `svc app host ${name} web www.example.com`,
  `svc app host ${name} web example.com www.example.com`,
];

/** Sends only what changes: what others add or remove at the same time stays. */
function change(scope: Scope, app: string, body: { add: readonly string[] } | { remove: readonly string[] }) {
  return scope.api.call('PATCH', scope.path('apps', app, 'hosts'), appView, { query: scope.query, body });
}

const add = command({
  name: 'add',
  args: ['app', '...hosts'],
  description: 'Add public hosts to an app. If one is taken, none is added.',
  flags,
  examples: examplesOf('add'),
  async run({ context, args, flags }) {
    const app = await change(resolveScope(context, flags), args.app, { add: args.hosts });
    context.say(advice(args.hosts, app));
    context.print(toOutput(app), flags.output);
  },
});

const remove = command({
  name: 'remove',
  args: ['app', '...hosts'],
  description: 'Remove additional hosts from an app.',
  flags,
  examples: examplesOf('remove'),
  async run({ context, args, flags }) {
    const scope = resolveScope(context, flags);
    const { extraHosts } = await appKind.read(scope, args.app);
    const unknown = args.hosts.find((host) => !extraHosts.includes(host));
    if (unknown !== undefined) {
      throw new Failure(`App "${args.app}" has no additional host "${unknown}".`, {
        code: 'not_found',
        hint: `list hosts: svc app host list ${args.app} ${scope.flags}`,
      });
    }
    context.print(toOutput(await change(scope, args.app, { remove: args.hosts })), flags.output);
  },
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
