import { gateView, type GateView } from '../../runtime/contracts/api/apps.ts';
import { command, type Command, type Group } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { ago, fields, type Shown } from '../output.ts';
import { placeOf } from '../place.ts';
import { waitFlags, waitFor } from '../wait.ts';

/** For people only the phase, as a script would read it too. */
function shown(app: string, view: GateView): Shown {
  return { data: { app, ...view }, table: view.gate, names: [app] };
}

/** As {@link shown}, with since when and why. */
function shownInFull(app: string, view: GateView, now: Date): Shown {
  const { gate, since, message } = view;
  return {
    ...shown(app, view),
    table: fields([
      ['Gate', gate],
      ['Since', since && `${since} (${ago(since, now)})`],
      ['Message', message],
    ]),
  };
}

function progress(app: string, { gate, message }: GateView): string {
  if (message !== undefined) return `${app}: ${gate}. ${message.replace(/\.$/, '')}`;
  return `${app}: ${gate}; ${gate === 'applying' ? 'not protected yet' : 'not open yet'}`;
}

/** `enable` and `disable`, each of which waits until the route is as wished. */
function switchCommand(enabled: boolean): Command {
  const name = enabled ? 'enable' : 'disable';
  return command({
    name,
    args: ['app'],
    description: enabled
      ? 'Require an API key on the public route of an app.'
      : 'Serve the public route of an app to everybody again.',
    flags: { ...waitFlags, ...scopeFlags },
    examples: [`svc app gate ${name} api`],
    async run({ context, args, flags }) {
      const place = placeOf(context, flags);
      const path = place.path('apps', args.app, 'gate');
      const options = { query: place.query, body: { enabled } };
      const wished = await place.api.call('PUT', path, gateView, options);
      const done = enabled ? 'gated' : 'off';
      const view = flags.wait
        ? await waitFor(
            context,
            flags,
            async () => {
              const found = await place.api.call('GET', path, gateView, { query: place.query });
              return found.gate === done ? { done: found } : { progress: progress(args.app, found) };
            },
            `it goes on: svc app gate status ${args.app} ${place.flags}`,
          )
        : wished;
      context.print(shown(args.app, view), flags.output);
    },
  });
}

const status = command({
  name: 'status',
  args: ['app'],
  description: 'Show whether the public route of an app requires an API key, since when, and what was last seen of it.',
  flags: scopeFlags,
  examples: ['svc app gate status api'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const path = place.path('apps', args.app, 'gate');
    const view = await place.api.call('GET', path, gateView, { query: place.query });
    context.print(shownInFull(args.app, view, context.clock.now()), flags.output);
  },
});

export const gateGroup: Group = {
  name: 'gate',
  description: 'The API-key gate in front of an app.',
  commands: [switchCommand(true), switchCommand(false), status],
};
