import {
  assistantSettingsView,
  assistantTest,
  type AssistantSettingsView,
} from '../../runtime/contracts/api/assistant.ts';
import { assistantLevels } from '../../runtime/domain/assistant.ts';
import { command, type Commands } from '../command.ts';
import { apiFlags, noPromptFlag } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { Failure, unlessMissing, usageFailure } from '../failure.ts';
import { amount, choice, negated, text, texts, toggle } from '../flags.ts';
import { fields, type Output } from '../output.ts';
import { readStdin } from '../prompt.ts';

const path = '/platform/assistant';
const show = 'svc platform assistant show';

function toOutput(settings: AssistantSettingsView): Output {
  const { url, model, key, level, networks, messagesPerHour, tokensPerDay, tokensToday } = settings;
  const sent = assistantLevels.slice(0, assistantLevels.indexOf(level) + 1).join(', ');
  const table = fields([
    ['URL', url],
    ['Model', model],
    ['Key', key ? 'set' : 'none'],
    ['Level', `${level} (sends ${sent})`],
    ['Networks', networks.join(', ') || undefined],
    ['Messages', `${messagesPerHour} per user and hour`],
    ['Tokens', `${tokensToday} of ${tokensPerDay} today`],
  ]);
  return { data: settings, table, names: [url] };
}

/** The key of the standard input; null to remove it, undefined to keep it. @throws Failure (usage) */
async function readKey(
  context: Context,
  { keyStdin, withoutKey }: { keyStdin: boolean; withoutKey: boolean },
): Promise<string | null | undefined> {
  if (keyStdin && withoutKey) throw usageFailure('Use either --key-stdin or --without-key.');
  if (withoutKey) return null;
  if (!keyStdin) return undefined;
  const key = (await readStdin(context)).trim();
  if (key === '') throw usageFailure('The key is empty. Pass it on standard input.');
  return key;
}

const set = command({
  name: 'set',
  description: 'Set the AI provider of the assistant. Other settings keep their values.',
  flags: {
    url: text('<address>', 'base address of an OpenAI-compatible server'),
    model: text('<model>', 'name of the model'),
    keyStdin: toggle('read the API key from standard input'),
    withoutKey: toggle('remove the API key'),
    level: choice(assistantLevels, 'what may be sent: names, also state, also logs (default names)'),
    network: texts('<network>', 'private network in which the address may be'),
    networks: negated('allow only an address on the internet'),
    messagesPerHour: amount('<n>', 'messages per user and hour (default 30)', { min: 1, max: 10_000 }),
    tokensPerDay: amount('<n>', 'tokens of all users per day (default 2000000)', { min: 1, max: 10_000_000_000 }),
    ...apiFlags,
  },
  data: assistantSettingsView,
  examples: [
    'svc platform assistant set --url https://api.openai.com/v1 --model gpt-5-mini --key-stdin < key',
    'svc platform assistant set --url http://10.20.7.5:11434/v1 --model qwen3:14b --network 10.20.7.0/24',
    'svc platform assistant set --level logs',
  ],
  async run({ context, flags }) {
    const { keyStdin, withoutKey, network } = flags;
    if (network.length > 0 && !flags.networks) throw usageFailure('You cannot set and clear the same list.');
    const key = await readKey(context, { keyStdin, withoutKey });
    const api = context.api(flags);
    const before = await unlessMissing(api.call('GET', path, assistantSettingsView));
    const url = flags.url ?? before?.url;
    const model = flags.model ?? before?.model;
    if (url === undefined || model === undefined) {
      throw usageFailure('The assistant has no provider yet: --url and --model are required.');
    }
    const body = {
      url,
      model,
      ...(key !== undefined && { key }),
      level: flags.level ?? before?.level,
      networks: network.length > 0 || !flags.networks ? network : before?.networks,
      messagesPerHour: flags.messagesPerHour ?? before?.messagesPerHour,
      tokensPerDay: flags.tokensPerDay ?? before?.tokensPerDay,
    };
    const settings = await api.call('PUT', path, assistantSettingsView, { body });
    context.print(toOutput(settings), flags.output);
    if (before?.key && !settings.key && key === undefined) {
      context.say('the key is removed, because it belonged to the address before');
    }
    if (settings.url.startsWith('http:')) {
      context.say('warning: the address is not encrypted; questions and the key are sent in plain text');
    }
  },
});

const showCommand = command({
  name: 'show',
  description: 'Show the AI provider of the assistant and its limits, without the key.',
  flags: apiFlags,
  data: assistantSettingsView,
  watch: true,
  examples: [show],
  async run({ context, flags }) {
    context.print(toOutput(await context.api(flags).call('GET', path, assistantSettingsView)), flags.output);
  },
});

const test = command({
  name: 'test',
  description: 'Ask the model for one word, and show the result.',
  flags: apiFlags,
  data: assistantTest,
  examples: ['svc platform assistant test'],
  async run({ context, flags }) {
    const result = await context.api(flags).call('POST', `${path}/test`, assistantTest);
    if (result.status === 'failed') {
      throw new Failure(`The provider gave no answer: ${result.error ?? 'unknown reason'}.`, { code: result.code });
    }
    const table = fields([
      ['Status', result.status],
      ['Model', result.model],
      ['Time', `${result.milliseconds} ms`],
    ]);
    context.print({ data: result, table, names: [result.model] }, flags.output);
  },
});

const disable = command({
  name: 'disable',
  description: 'Disable the assistant, and forget its provider and key.',
  flags: { ...noPromptFlag, ...apiFlags },
  examples: ['svc platform assistant disable'],
  async run({ context, flags }) {
    await context.api(flags).send('DELETE', path);
    context.say('the assistant is disabled; conversations are kept for 30 days');
  },
});

export const assistantCommands: Commands = { commands: [set, showCommand, test, disable] };
