import { appView, type AppView } from '../../runtime/contracts/api/apps.ts';
import { command, type Group } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { choice, texts, unless, type FlagValues } from '../flags.ts';
import { fields, type Shown } from '../output.ts';
import { placeOf } from '../place.ts';
import { readApp } from '../read-app.ts';

/** Words for `--csp`; neither is a host, since a host has a dot. */
const [onlySelf, noPolicy] = ['self', 'none'] as const;

const cspFlag = texts(
  '<domain>',
  `external domain that pages may load from, which sets a Content-Security-Policy: a host, *.host or https://host:port; ${onlySelf}: only their own host; ${noPolicy}: no policy`,
);

/** What was asked for by `--csp`: undefined for nothing. @throws Failure (usage) for words that exclude each other */
function policyOf(domains: readonly string[]): string[] | null | undefined {
  const alone = domains.find((domain) => domain === onlySelf || domain === noPolicy);
  if (alone !== undefined && domains.length > 1) throw usageFailure(`--csp ${alone} goes with no other --csp.`);
  if (alone === noPolicy) return null;
  if (alone === onlySelf) return [];
  return domains.length === 0 ? undefined : [...domains];
}

/** What `svc app create` takes of the route beside the host of its own. */
export const routeFlags = {
  extraHost: texts('<host>', 'further public host'),
  securityHeaders: unless('leave out the headers that any site should send'),
  csp: cspFlag,
};

/** The fields of a new app for {@link routeFlags}. */
export function routeOf(flags: FlagValues<typeof routeFlags>): Record<string, unknown> {
  const csp = policyOf(flags.csp);
  const security = { ...(!flags.securityHeaders && { headers: false }), ...(csp && { csp }) };
  return {
    ...(flags.extraHost.length > 0 && { extraHosts: flags.extraHost }),
    ...(Object.keys(security).length > 0 && { security }),
  };
}

/** The settings as one field for people. */
export function securityText({ security: { headers, csp } }: AppView): string {
  return `headers ${headers ? 'on' : 'off'}, policy ${policyText(csp)}`;
}

function policyText(csp: readonly string[] | null): string {
  return csp === null ? noPolicy : [onlySelf, ...csp].join(' ');
}

function shown({ name, security }: AppView): Shown {
  return {
    data: { app: name, ...security },
    table: fields([
      ['App', name],
      ['Headers', security.headers ? 'on' : 'off'],
      ['Policy', policyText(security.csp)],
    ]),
    names: [name],
  };
}

const set = command({
  name: 'set',
  args: ['app'],
  description:
    'Change the security headers of an app; they replace those of the same name that the app sends, so switch off what it sends itself.',
  flags: {
    headers: choice(
      ['on', 'off'],
      'X-Content-Type-Options, X-Frame-Options, Referrer-Policy, Permissions-Policy and, with https, Strict-Transport-Security',
    ),
    csp: cspFlag,
    ...scopeFlags,
  },
  examples: [
    'svc app security set web --csp cdn.example.com --csp https://api.example.com',
    'svc app security set web --csp self',
    'svc app security set web --headers off --csp none',
  ],
  async run({ context, args, flags }) {
    const csp = policyOf(flags.csp);
    if (flags.headers === undefined && csp === undefined) throw usageFailure('Give --headers or --csp.');
    const security = {
      ...(flags.headers !== undefined && { headers: flags.headers === 'on' }),
      ...(csp !== undefined && { csp }),
    };
    const place = placeOf(context, flags);
    const options = { query: place.query, body: { security } };
    context.print(shown(await place.api.call('PATCH', place.path('apps', args.app), appView, options)), flags.output);
  },
});

const show = command({
  name: 'show',
  args: ['app'],
  description: 'Show which security headers the answers of an app carry.',
  flags: scopeFlags,
  examples: ['svc app security show web'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const app = await readApp(place, args.app);
    context.print(shown(app), flags.output);
  },
});

export const securityGroup: Group = {
  name: 'security',
  description: 'Security headers and Content-Security-Policy of an app.',
  commands: [set, show],
};
