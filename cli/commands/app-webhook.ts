import type { z } from 'zod';
import { webhookView } from '../../runtime/contracts/api/apps.ts';
import { command, type Group } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { fields } from '../output.ts';
import { placeOf } from '../place.ts';

function shown(app: string, webhook: z.infer<typeof webhookView>) {
  return {
    data: webhook,
    table: fields([
      ['Webhook', webhook.enabled ? 'enabled' : 'disabled'],
      ['URL', webhook.url],
      ['Token', webhook.token],
    ]),
    names: [app],
  };
}

const enable = command({
  name: 'enable',
  args: ['app'],
  description: 'Let a CI system deploy an app; prints URL and token. Run again, it makes a new token.',
  flags: scopeFlags,
  examples: ['svc app webhook enable api --project shop --environment prod'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const path = place.path('apps', args.app, 'webhook');
    const webhook = await place.api.call('PUT', path, webhookView, { query: place.query });
    context.print(shown(args.app, webhook), flags.output);
    context.say('send the token in the header X-Svc-Token; an earlier one no longer works');
  },
});

const status = command({
  name: 'status',
  args: ['app'],
  description: 'Show the webhook of an app with its token.',
  flags: scopeFlags,
  examples: ['svc app webhook status api'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const path = place.path('apps', args.app, 'webhook');
    context.print(
      shown(args.app, await place.api.call('GET', path, webhookView, { query: place.query })),
      flags.output,
    );
  },
});

const disable = command({
  name: 'disable',
  args: ['app'],
  description: 'Refuse deployments by webhook; the token no longer works.',
  flags: scopeFlags,
  examples: ['svc app webhook disable api'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    await place.api.send('DELETE', place.path('apps', args.app, 'webhook'), { query: place.query });
    context.say(`the webhook of ${args.app} is disabled`);
  },
});

export const webhookGroup: Group = {
  name: 'webhook',
  description: 'Deployments by webhook.',
  commands: [enable, status, disable],
};
