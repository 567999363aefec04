import { gateView, type GateView } from '../../runtime/contracts/api/public-route.ts';
import { command, type Command, type Commands } from '../command.ts';
import { scopeFlags, noPromptFlag } from '../common-flags.ts';
import { ago, fields, type Output } from '../output.ts';
import { resolveScope } from '../scope.ts';
import { waitFlags, waitFor } from '../wait.ts';
import type { WorkloadWords } from './workload-restart.ts';

/** The status alone, so that scripts can read it. */
function toOutput({ kind }: WorkloadWords, name: string, view: GateView): Output {
  return { data: { [kind]: name, ...view }, table: view.gate, names: [name] };
}

/** {@link toOutput} with the time and the reason. */
function detailedOutput(words: WorkloadWords, name: string, view: GateView, now: Date): Output {
  const { gate, since, message } = view;
  return {
    ...toOutput(words, name, view),
    table: fields([
      ['Gate', gate],
      ['Since', since && `${since} (${ago(since, now)})`],
      ['Message', message],
    ]),
  };
}

function progress(name: string, { gate, message }: GateView): string {
  if (message !== undefined) return `${name}: ${gate}. ${message.replace(/\.$/, '')}`;
  return `${name}: ${gate}; ${gate === 'applying' ? 'not protected yet' : 'not open yet'}`;
}

/** `enable` and `disable`; both wait until the route has changed. */
function switchCommand(words: WorkloadWords, enabled: boolean): Command {
  const { kind, article, example } = words;
  const name = enabled ? 'enable' : 'disable';
  return command({
    name,
    args: [kind],
    description: enabled
      ? `Require an API key on the public route of ${article}.`
      : `Stop requiring an API key on the public route of ${article}.`,
    flags: { ...noPromptFlag, ...waitFlags, ...scopeFlags },
    examples: [`svc ${kind} gate ${name} ${example}`],
    async run({ context, args, flags }) {
      const scope = resolveScope(context, flags);
      const path = scope.path(`${kind}s`, args[kind], 'gate');
      const options = { query: scope.query, body: { enabled } };
      const accepted = await scope.api.call('PUT', path, gateView, options);
      const target = enabled ? 'gated' : 'off';
      const view = flags.wait
        ? await waitFor(
            context,
            flags,
            async () => {
              const current = await scope.api.call('GET', path, gateView, { query: scope.query });
              return current.gate === target ? { done: current } : { progress: progress(args[kind], current) };
            },
            `svc ${kind} gate status ${args[kind]} ${scope.flags}`,
          )
        : accepted;
      context.print(toOutput(words, args[kind], view), flags.output);
    },
  });
}

function statusCommand(words: WorkloadWords): Command {
  const { kind, article, example } = words;
  return command({
    name: 'status',
    args: [kind],
    description: `Show the status of the gate of ${article}.`,
    flags: scopeFlags,
    data: gateView,
    watch: true,
    examples: [`svc ${kind} gate status ${example}`],
    async run({ context, args, flags }) {
      const scope = resolveScope(context, flags);
      const path = scope.path(`${kind}s`, args[kind], 'gate');
      const view = await scope.api.call('GET', path, gateView, { query: scope.query });
      context.print(detailedOutput(words, args[kind], view, context.clock.now()), flags.output);
    },
  });
}

/** The commands for the gates of apps or functions. */
export function gateCommands(words: WorkloadWords): Commands {
  return { commands: [switchCommand(words, true), switchCommand(words, false), statusCommand(words)] };
}
