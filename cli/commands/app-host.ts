import { appView, type AppView } from '../../runtime/contracts/api/apps.ts';
import { command, type Command, type Group } from '../command.ts';
import { scopeFlags, unaskedFlag } from '../common-flags.ts';
import { Failure } from '../failure.ts';
import { table, type Shown } from '../output.ts';
import { placeOf } from '../place.ts';
import { readApp } from '../read-app.ts';

interface Host {
  host: string;
  url: string;
  /** Whether it can be taken away. */
  extra: boolean;
}

/** The app's hosts, its own first; that one is known once the controller has said the app's URL. */
function hostsOf({ url, extraHosts }: AppView): Host[] {
  if (url === undefined) return extraHosts.map((host) => ({ host, url: '', extra: true }));
  const own = new URL(url);
  const at = (host: string) => `${own.protocol}//${host}${own.port === '' ? '' : `:${own.port}`}`;
  return [
    { host: own.hostname, url, extra: false },
    ...extraHosts.map((host) => ({ host, url: at(host), extra: true })),
  ];
}

function shown(app: AppView): Shown {
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

/** What nobody but the operator of the domain can do. */
function advice(hosts: readonly string[], { url }: AppView): string {
  const certificate = url?.startsWith('https:') ? ', and the ingress needs a certificate for it' : '';
  return hosts.map((host) => `${host}: its DNS has to lead to the ingress${certificate}`).join('\n');
}

/** `add` and `remove`, both of which write the whole list. */
function changeCommand(
  name: 'add' | 'remove',
  description: string,
  next: (before: readonly string[], hosts: readonly string[], about: { app: string; flags: string }) => string[],
): Command {
  return command({
    name,
    args: ['app', '...hosts'],
    description,
    flags: { ...unaskedFlag, ...scopeFlags },
    examples: [`svc app host ${name} web www.example.com`, `svc app host ${name} web example.com www.example.com`],
    async run({ context, args, flags }) {
      const place = placeOf(context, flags);
      const path = place.path('apps', args.app);
      const before = await readApp(place, args.app);
      const extraHosts = next(before.extraHosts, args.hosts, { app: args.app, flags: place.flags });
      const app = await place.api.call('PATCH', path, appView, { query: place.query, body: { extraHosts } });
      if (name === 'add') context.say(advice(args.hosts, app));
      context.print(shown(app), flags.output);
    },
  });
}

const add = changeCommand(
  'add',
  'Serve an app on further hosts; where one of them is taken, nothing changes.',
  (before, hosts) => [...new Set([...before, ...hosts])],
);

const remove = changeCommand(
  'remove',
  'Serve an app on some of its further hosts no more.',
  (before, hosts, { app, flags }) => {
    const unknown = hosts.find((host) => !before.includes(host));
    if (unknown !== undefined) {
      throw new Failure(`"${unknown}" is no further host of app "${app}".`, {
        code: 'not_found',
        hint: `svc app host list ${app} ${flags}`,
      });
    }
    return before.filter((host) => !hosts.includes(host));
  },
);

const list = command({
  name: 'list',
  args: ['app'],
  description: 'List the public hosts of an app.',
  flags: scopeFlags,
  examples: ['svc app host list web'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const app = await readApp(place, args.app);
    context.print(shown(app), flags.output);
  },
});

export const hostGroup: Group = {
  name: 'host',
  description: 'Further public hosts of an app, beside the one that it was created with.',
  commands: [add, remove, list],
};
