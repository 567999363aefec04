import { gateView } from '../../runtime/contracts/api/apps.ts';
import { command, type Command, type Group } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { placeOf } from '../place.ts';
import { waitFlags, waitFor } from '../wait.ts';

function shown(app: string, gate: string) {
  return { data: { app, gate }, table: gate, names: [app] };
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
      const gate = flags.wait
        ? await waitFor(
            context,
            flags,
            async () => {
              const found = await place.api.call('GET', path, gateView, { query: place.query });
              if (found.gate === (enabled ? 'gated' : 'off')) return { done: found.gate };
              return {
                progress: enabled ? `${args.app}: applying; not protected yet` : `${args.app}: opening the route`,
              };
            },
            `it goes on: svc app gate status ${args.app} ${place.flags}`,
          )
        : wished.gate;
      context.print(shown(args.app, gate), flags.output);
    },
  });
}

const status = command({
  name: 'status',
  args: ['app'],
  description: 'Show whether the public route of an app requires an API key.',
  flags: scopeFlags,
  examples: ['svc app gate status api'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const path = place.path('apps', args.app, 'gate');
    const { gate } = await place.api.call('GET', path, gateView, { query: place.query });
    context.print(shown(args.app, gate), flags.output);
  },
});

export const gateGroup: Group = {
  name: 'gate',
  description: 'The API-key gate in front of an app.',
  commands: [switchCommand(true), switchCommand(false), status],
};
