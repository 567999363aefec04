import { graceLimitSeconds, webhookView, type WebhookView } from '../../runtime/contracts/api/webhooks.ts';
import { command, type Group } from '../command.ts';
import { scopeFlags, unaskedFlag } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { choice, duration, textOrNone } from '../flags.ts';
import { fields } from '../output.ts';
import { placeOf, type Place } from '../place.ts';
import { deliveriesCommand, redeliverCommand, testCommand } from './webhook-delivery.ts';

function shown(app: string, webhook: WebhookView) {
  return {
    data: webhook,
    table: fields([
      ['Webhook', webhook.enabled ? 'enabled' : 'disabled'],
      ['URL', webhook.url],
      ['Token', webhook.token],
      ['Signing secret', webhook.signingSecret],
      ['Old token until', webhook.graceUntil],
      ['Branch', webhook.branch],
      ['Tags', webhook.tags],
      ['Secret URL', webhook.secretUrl ?? (webhook.hasSecretUrl ? 'on (shown once, when it was made)' : undefined)],
    ]),
    names: [app],
  };
}

const settingFlags = {
  branch: textOrNone('<branch>', 'the only branch whose pushes deploy (default: of the git source; empty: that again)'),
  tags: textOrNone(
    '<patterns>',
    "tags that a registry may deploy, such as 'v*,release-*' (default: any; empty: any again)",
  ),
  secretUrl: choice(['on', 'off'], 'a secret URL for senders that sign nothing; on makes a new one'),
};

type Settings = { branch: string | undefined; tags: string | undefined; secretUrl: 'on' | 'off' | undefined };

function settingsBody({ branch, tags, secretUrl }: Settings): Record<string, string | boolean | null> {
  return {
    ...(branch !== undefined && { branch: branch === '' ? null : branch }),
    ...(tags !== undefined && { tags: tags === '' ? null : tags }),
    ...(secretUrl !== undefined && { secretUrl: secretUrl === 'on' }),
  };
}

function sayOnce(context: Context, webhook: WebhookView): void {
  if (webhook.secretUrl !== undefined) context.say('whoever knows the secret URL can deploy; it is not shown again');
}

const pathOf = (place: Place, app: string) => place.path('apps', app, 'webhook');

const enable = command({
  name: 'enable',
  args: ['app'],
  description:
    'Let a CI system, a git host or a registry deploy an app; prints URL and token. Run again, it makes a new token.',
  flags: {
    grace: duration('<duration>', 'how long the token before this one stays valid (default: not at all; at most 30d)', {
      max: graceLimitSeconds,
    }),
    ...settingFlags,
    ...scopeFlags,
  },
  examples: [
    'svc app webhook enable api --project shop --environment prod',
    "svc app webhook enable api --branch main --tags 'v*'",
    'svc app webhook enable api --grace 1h',
  ],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const grace = flags.grace === undefined ? {} : { graceSeconds: flags.grace };
    const body = { ...grace, ...settingsBody(flags) };
    const options = { query: place.query, ...(Object.keys(body).length > 0 && { body }) };
    const webhook = await place.api.call('PUT', pathOf(place, args.app), webhookView, options);
    context.print(shown(args.app, webhook), flags.output);
    const until = webhook.graceUntil;
    const earlier = until === undefined ? 'an earlier one no longer works' : `the one before works until ${until}`;
    context.say(`send the token in the header X-Svc-Token; ${earlier}`);
    sayOnce(context, webhook);
  },
});

const set = command({
  name: 'set',
  args: ['app'],
  description: 'Choose which branch and tags deploy, and switch the secret URL; the token stays.',
  flags: { ...settingFlags, ...scopeFlags },
  examples: [
    "svc app webhook set api --branch main --tags 'v*'",
    'svc app webhook set api --secret-url on',
    "svc app webhook set api --tags ''",
  ],
  async run({ context, args, flags }) {
    const body = settingsBody(flags);
    if (Object.keys(body).length === 0) throw usageFailure('Give --branch, --tags or --secret-url.');
    const place = placeOf(context, flags);
    const options = { query: place.query, body };
    const webhook = await place.api.call('PATCH', pathOf(place, args.app), webhookView, options);
    context.print(shown(args.app, webhook), flags.output);
    sayOnce(context, webhook);
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
    const webhook = await place.api.call('GET', pathOf(place, args.app), webhookView, { query: place.query });
    context.print(shown(args.app, webhook), flags.output);
  },
});

const disable = command({
  name: 'disable',
  args: ['app'],
  description: 'Refuse deployments by webhook; the token and the secret URL no longer work.',
  flags: { ...unaskedFlag, ...scopeFlags },
  examples: ['svc app webhook disable api'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    await place.api.send('DELETE', pathOf(place, args.app), { query: place.query });
    context.say(`the webhook of ${args.app} is disabled`);
  },
});

export const webhookGroup: Group = {
  name: 'webhook',
  description: 'Deployments by webhook.',
  commands: [enable, set, status, disable, deliveriesCommand, redeliverCommand, testCommand],
};
