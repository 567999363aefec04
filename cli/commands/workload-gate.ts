import { gateView, type GateView } from '../../runtime/contracts/api/public-route.ts';
import { command, type Command, type Group } from '../command.ts';
import { scopeFlags, unaskedFlag } from '../common-flags.ts';
import { ago, fields, type Shown } from '../output.ts';
import { placeOf } from '../place.ts';
import { waitFlags, waitFor } from '../wait.ts';

/** The workloads that the commands are for. */
interface Gated {
  what: 'app' | 'function';
  article: 'an app' | 'a function';
  /** Such a workload's name, for examples. */
  example: string;
}

/** For people only the phase, as a script would read it too. */
function shown({ what }: Gated, name: string, view: GateView): Shown {
  return { data: { [what]: name, ...view }, table: view.gate, names: [name] };
}

/** As {@link shown}, with since when and why. */
function shownInFull(gated: Gated, name: string, view: GateView, now: Date): Shown {
  const { gate, since, message } = view;
  return {
    ...shown(gated, name, view),
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

/** `enable` and `disable`, each of which waits until the route is as wished. */
function switchCommand(gated: Gated, enabled: boolean): Command {
  const { what, article, example } = gated;
  const name = enabled ? 'enable' : 'disable';
  return command({
    name,
    args: [what],
    description: enabled
      ? `Require an API key on the public route of ${article}.`
      : `Serve the public route of ${article} to everybody again.`,
    flags: { ...unaskedFlag, ...waitFlags, ...scopeFlags },
    examples: [`svc ${what} gate ${name} ${example}`],
    async run({ context, args, flags }) {
      const place = placeOf(context, flags);
      const path = place.path(`${what}s`, args[what], 'gate');
      const options = { query: place.query, body: { enabled } };
      const wished = await place.api.call('PUT', path, gateView, options);
      const done = enabled ? 'gated' : 'off';
      const view = flags.wait
        ? await waitFor(
            context,
            flags,
            async () => {
              const found = await place.api.call('GET', path, gateView, { query: place.query });
              return found.gate === done ? { done: found } : { progress: progress(args[what], found) };
            },
            `it goes on: svc ${what} gate status ${args[what]} ${place.flags}`,
          )
        : wished;
      context.print(shown(gated, args[what], view), flags.output);
    },
  });
}

function statusCommand(gated: Gated): Command {
  const { what, article, example } = gated;
  return command({
    name: 'status',
    args: [what],
    description: `Show whether the public route of ${article} requires an API key, since when, and what was last seen of it.`,
    flags: scopeFlags,
    examples: [`svc ${what} gate status ${example}`],
    async run({ context, args, flags }) {
      const place = placeOf(context, flags);
      const path = place.path(`${what}s`, args[what], 'gate');
      const view = await place.api.call('GET', path, gateView, { query: place.query });
      context.print(shownInFull(gated, args[what], view, context.clock.now()), flags.output);
    },
  });
}

/** The commands for the gates of apps, or of functions. */
export function gateGroup(gated: Gated): Group {
  return {
    name: 'gate',
    description: `The API-key gate in front of ${gated.article}.`,
    commands: [switchCommand(gated, true), switchCommand(gated, false), statusCommand(gated)],
  };
}
