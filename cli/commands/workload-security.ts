import { z } from 'zod';
import { securityView } from '../../runtime/contracts/api/public-route.ts';
import { command, type Command, type Commands } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { choice } from '../flags.ts';
import { fields, type Output } from '../output.ts';
import { resolveScope } from '../scope.ts';
import { cspFlag, policyOf, policyText } from './security-policy.ts';
import type { WorkloadWords } from './workload-restart.ts';

/** The part of a workload's view that the commands use; a function without a public route has no settings. */
const securedView = z.object({ name: z.string(), security: securityView.optional() });

function toOutput({ kind }: WorkloadWords, { name, security }: z.infer<typeof securedView>): Output {
  return {
    data: { [kind]: name, ...security },
    table: fields([
      [kind === 'app' ? 'App' : 'Function', name],
      ['Headers', security && (security.headers ? 'on' : 'off')],
      ['Policy', security && policyText(security.csp)],
    ]),
    names: [name],
  };
}

function warnUnused(context: Context, { name, security }: z.infer<typeof securedView>): void {
  if (!security) context.say(`${name} has no URL: the headers apply when it gets the trigger http`);
}

function setCommand(words: WorkloadWords): Command {
  const { kind, article, example } = words;
  return command({
    name: 'set',
    args: [kind],
    description: `Change the security headers of ${article}. They replace headers it sends.`,
    flags: { headers: choice(['on', 'off'], 'send the standard security headers'), csp: cspFlag, ...scopeFlags },
    examples: [
      `svc ${kind} security set ${example} --csp cdn.example.com --csp https://api.example.com`,
      `svc ${kind} security set ${example} --csp self`,
      `svc ${kind} security set ${example} --headers off --csp none`,
    ],
    async run({ context, args, flags }) {
      const csp = policyOf(flags.csp);
      if (flags.headers === undefined && csp === undefined) throw usageFailure('Use --headers or --csp.');
      const security = {
        ...(flags.headers !== undefined && { headers: flags.headers === 'on' }),
        ...(csp !== undefined && { csp }),
      };
      const scope = resolveScope(context, flags);
      const options = { query: scope.query, body: { security } };
      const changed = await scope.api.call('PATCH', scope.path(`${kind}s`, args[kind]), securedView, options);
      context.print(toOutput(words, changed), flags.output);
      warnUnused(context, changed);
    },
  });
}

function showCommand(words: WorkloadWords): Command {
  const { kind, article, example } = words;
  return command({
    name: 'show',
    args: [kind],
    description: `Show the security headers of ${article}.`,
    flags: scopeFlags,
    watch: true,
    examples: [`svc ${kind} security show ${example}`],
    async run({ context, args, flags }) {
      const scope = resolveScope(context, flags);
      const view = await scope.api.call('GET', scope.path(`${kind}s`, args[kind]), securedView, { query: scope.query });
      context.print(toOutput(words, view), flags.output);
      warnUnused(context, view);
    },
  });
}

/** The commands for the security headers of apps or functions. */
export function securityCommands(words: WorkloadWords): Commands {
  return { commands: [setCommand(words), showCommand(words)] };
}
