import { graceLimitSeconds, webhookView, type WebhookView } from '../../runtime/contracts/api/webhooks.ts';
import { command, type Commands } from '../command.ts';
import { scopeFlags, noPromptFlag } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { choice, duration, textOrNone } from '../flags.ts';
import { fields } from '../output.ts';
import { resolveScope, type Scope } from '../scope.ts';
import { deliveriesCommand, redeliverCommand, testCommand } from './webhook-delivery.ts';

function toOutput(app: string, webhook: WebhookView) {
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
      ['Secret URL', webhook.secretUrl ?? (webhook.hasSecretUrl ? 'on (shown only once)' : undefined)],
    ]),
    names: [app],
  };
}

const settingFlags = {
  branch: textOrNone('<branch>', "only branch to deploy from (empty resets; default: git source's branch)"),
  tags: textOrNone('<patterns>', "image tags to deploy, such as 'v*,release-*' (empty resets; default: any)"),
  secretUrl: choice(['on', 'off'], 'secret URL for senders without signatures; on creates a new one'),
};

type Settings = { branch: string | undefined; tags: string | undefined; secretUrl: 'on' | 'off' | undefined };

function settingsBody({ branch, tags, secretUrl }: Settings): Record<string, string | boolean | null> {
  return {
    ...(branch !== undefined && { branch: branch === '' ? null : branch }),
    ...(tags !== undefined && { tags: tags === '' ? null : tags }),
    ...(secretUrl !== undefined && { secretUrl: secretUrl === 'on' }),
  };
}

function warnSecretUrl(context: Context, webhook: WebhookView): void {
  if (webhook.secretUrl !== undefined)
    context.say('anyone with the secret URL can deploy; store it now, it is not shown again');
}

const pathOf = (scope: Scope, app: string) => scope.path('apps', app, 'webhook');

const enable = command({
  name: 'enable',
  args: ['app'],
  description: 'Enable the deploy webhook of an app, or replace its token.',
  flags: {
    grace: duration('<duration>', 'how long the previous token stays valid, up to 30d (default 0)', {
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
    const scope = resolveScope(context, flags);
    const grace = flags.grace === undefined ? {} : { graceSeconds: flags.grace };
    const body = { ...grace, ...settingsBody(flags) };
    const options = { query: scope.query, ...(Object.keys(body).length > 0 && { body }) };
    const webhook = await scope.api.call('PUT', pathOf(scope, args.app), webhookView, options);
    context.print(toOutput(args.app, webhook), flags.output);
    const until = webhook.graceUntil;
    const previous =
      until === undefined ? 'any previous token is now invalid' : `the previous token works until ${until}`;
    context.say(`send the token in the header X-Svc-Token; ${previous}`);
    warnSecretUrl(context, webhook);
  },
});

const set = command({
  name: 'set',
  args: ['app'],
  description: 'Change the branch, tags or secret URL of a webhook. The token is kept.',
  flags: { ...settingFlags, ...scopeFlags },
  examples: [
    "svc app webhook set api --branch main --tags 'v*'",
    'svc app webhook set api --secret-url on',
    "svc app webhook set api --tags ''",
  ],
  async run({ context, args, flags }) {
    const body = settingsBody(flags);
    if (Object.keys(body).length === 0) throw usageFailure('Use --branch, --tags or --secret-url.');
    const scope = resolveScope(context, flags);
    const options = { query: scope.query, body };
    const webhook = await scope.api.call('PATCH', pathOf(scope, args.app), webhookView, options);
    context.print(toOutput(args.app, webhook), flags.output);
    warnSecretUrl(context, webhook);
  },
});

const status = command({
  name: 'status',
  args: ['app'],
  description: 'Show the webhook of an app, including its token.',
  flags: scopeFlags,
  data: webhookView,
  watch: true,
  examples: ['svc app webhook status api'],
  async run({ context, args, flags }) {
    const scope = resolveScope(context, flags);
    const webhook = await scope.api.call('GET', pathOf(scope, args.app), webhookView, { query: scope.query });
    context.print(toOutput(args.app, webhook), flags.output);
  },
});

const disable = command({
  name: 'disable',
  args: ['app'],
  description: 'Disable the webhook. Its token and secret URL become invalid.',
  flags: { ...noPromptFlag, ...scopeFlags },
  examples: ['svc app webhook disable api'],
  async run({ context, args, flags }) {
    const scope = resolveScope(context, flags);
    await scope.api.send('DELETE', pathOf(scope, args.app), { query: scope.query });
    context.say(`the webhook of ${args.app} is disabled`);
  },
});

export const webhookCommands: Commands = {
  commands: [enable, set, status, disable, deliveriesCommand, redeliverCommand, testCommand],
};
