import { z } from 'zod';
import { securityView, type SecurityView } from '../../runtime/contracts/api/public-route.ts';
import { command, type Command, type Group } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { choice, texts, unless, type FlagValues } from '../flags.ts';
import { fields, type Shown } from '../output.ts';
import { placeOf } from '../place.ts';

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

/** What `create` takes of the answers of a route. */
export const securityFlags = {
  securityHeaders: unless('leave out the headers that any site should send'),
  csp: cspFlag,
};

/** The fields of a new workload for {@link securityFlags}. */
export function securityOf(flags: FlagValues<typeof securityFlags>): { security?: object } {
  const csp = policyOf(flags.csp);
  const security = { ...(!flags.securityHeaders && { headers: false }), ...(csp && { csp }) };
  return Object.keys(security).length > 0 ? { security } : {};
}

/** The settings as one field for people. */
export function securityText({ headers, csp }: SecurityView): string {
  return `headers ${headers ? 'on' : 'off'}, policy ${policyText(csp)}`;
}

function policyText(csp: readonly string[] | null): string {
  return csp === null ? noPolicy : [onlySelf, ...csp].join(' ');
}

/** The workloads that the commands are for. */
interface Secured {
  what: 'app' | 'function';
  article: 'an app' | 'a function';
  /** Such a workload's name, for examples. */
  example: string;
}

/** Of a workload's view what the commands read; only a function without a public route has no settings. */
const securedView = z.object({ name: z.string(), security: securityView.optional() });

function shown({ what }: Secured, { name, security }: z.infer<typeof securedView>): Shown {
  return {
    data: { [what]: name, ...security },
    table: fields([
      [what === 'app' ? 'App' : 'Function', name],
      ['Headers', security && (security.headers ? 'on' : 'off')],
      ['Policy', security && policyText(security.csp)],
    ]),
    names: [name],
  };
}

function sayUnused(context: Context, { name, security }: z.infer<typeof securedView>): void {
  if (!security) context.say(`${name} has no URL: its headers count from when it has the trigger http`);
}

function setCommand(secured: Secured): Command {
  const { what, article, example } = secured;
  return command({
    name: 'set',
    args: [what],
    description: `Change the security headers of ${article}; they replace those of the same name that it sends, so switch off what it sends itself.`,
    flags: {
      headers: choice(
        ['on', 'off'],
        'X-Content-Type-Options, X-Frame-Options, Referrer-Policy, Permissions-Policy and, with https, Strict-Transport-Security',
      ),
      csp: cspFlag,
      ...scopeFlags,
    },
    examples: [
      `svc ${what} security set ${example} --csp cdn.example.com --csp https://api.example.com`,
      `svc ${what} security set ${example} --csp self`,
      `svc ${what} security set ${example} --headers off --csp none`,
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
      const changed = await place.api.call('PATCH', place.path(`${what}s`, args[what]), securedView, options);
      context.print(shown(secured, changed), flags.output);
      sayUnused(context, changed);
    },
  });
}

function showCommand(secured: Secured): Command {
  const { what, article, example } = secured;
  return command({
    name: 'show',
    args: [what],
    description: `Show which security headers the answers of ${article} carry.`,
    flags: scopeFlags,
    examples: [`svc ${what} security show ${example}`],
    async run({ context, args, flags }) {
      const place = placeOf(context, flags);
      const found = await place.api.call('GET', place.path(`${what}s`, args[what]), securedView, {
        query: place.query,
      });
      context.print(shown(secured, found), flags.output);
      sayUnused(context, found);
    },
  });
}

/** The commands for the security headers of apps, or of functions. */
export function securityGroup(secured: Secured): Group {
  return {
    name: 'security',
    description: `Security headers and Content-Security-Policy of ${secured.article}.`,
    commands: [setCommand(secured), showCommand(secured)],
  };
}
