import { logDrainTest, logDrainView, type LogDrainView } from '../../runtime/contracts/api/log-drain.ts';
import { logDrainFormats } from '../../runtime/domain/log-drain.ts';
import { command, type Commands } from '../command.ts';
import { apiFlags, noPromptFlag } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { Failure, usageFailure } from '../failure.ts';
import { requiredChoice, requiredText, texts, toggle } from '../flags.ts';
import { ago, fields, type Output } from '../output.ts';
import { readStdin } from '../prompt.ts';
import { waitFlags, waitFor } from '../wait.ts';

const path = '/platform/log-drain';
const show = 'svc platform log-drain show';

function toOutput(drain: LogDrainView, now: Date): Output {
  const { url, format, status, error, failingSince, headers, networks, test } = drain;
  const since = failingSince === undefined ? '' : ` since ${failingSince}`;
  const table = fields([
    ['URL', url],
    ['Format', format],
    ['Headers', headers.join(', ') || undefined],
    ['Networks', networks.join(', ') || undefined],
    ['Status', `${status}${since}`],
    ['Error', error],
    ['Sent', `${drain.sentLines} lines`],
    ['Pending', `${drain.pendingLines} lines`],
    ['Refused', drain.refusedLines > 0 ? `${drain.refusedLines} lines, by the receiver` : undefined],
    [
      'Deleted',
      drain.deletedLines > 0 ? `${drain.deletedLines} lines, by the log store before they were sent` : undefined,
    ],
    ['Last sent', drain.lastSentAt && ago(drain.lastSentAt, now)],
    ['Test', test && [test.status, test.error].filter(Boolean).join(': ')],
  ]);
  return { data: drain, table, names: [url] };
}

/** The headers of the standard input: a token, or one header per line. @throws Failure (usage), without any value */
async function readHeaders(
  context: Context,
  { tokenStdin, headersStdin }: { tokenStdin: boolean; headersStdin: boolean },
): Promise<Record<string, string>> {
  if (tokenStdin && headersStdin) throw usageFailure('Use either --token-stdin or --headers-stdin.');
  if (!tokenStdin && !headersStdin) return {};
  const input = await readStdin(context);
  if (tokenStdin) {
    if (input.trim() === '') throw usageFailure('The token is empty. Pass it on standard input.');
    return { Authorization: `Bearer ${input.trim()}` };
  }
  const lines = input.split(/\r?\n/).filter((line) => line.trim() !== '');
  if (lines.length === 0) throw usageFailure('There are no headers. Pass them on standard input as "Name: value".');
  const headers = lines.map((line, at): [string, string] => {
    const colon = line.indexOf(':');
    if (colon < 1) throw usageFailure(`Line ${at + 1} of standard input is not a header such as "Name: value".`);
    return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
  });
  return Object.fromEntries(headers);
}

const set = command({
  name: 'set',
  description: 'Also send every log line to this address. Replaces the settings before.',
  flags: {
    url: requiredText('<address>', 'address of the log system, https:// or http://'),
    format: requiredChoice(logDrainFormats, 'wire format'),
    tokenStdin: toggle('read a token for "Authorization: Bearer" from standard input'),
    headersStdin: toggle('read headers from standard input, one "Name: value" per line'),
    network: texts('<network>', 'private network in which the address may be'),
    ...apiFlags,
  },
  data: logDrainView,
  examples: [
    'svc platform log-drain set --url https://loki.example.com/loki/api/v1/push --format loki --token-stdin < token',
    'svc platform log-drain set --url https://otel.example.com/v1/logs --format otlp --headers-stdin < headers',
    'svc platform log-drain set --url http://10.20.7.5:9428/insert/jsonline --format json --network 10.20.7.0/24',
  ],
  async run({ context, flags }) {
    const { url, format, network, tokenStdin, headersStdin } = flags;
    const headers = await readHeaders(context, { tokenStdin, headersStdin });
    const body = { url, format, headers, networks: network };
    const drain = await context.api(flags).call('PUT', path, logDrainView, { body });
    context.print(toOutput(drain, context.clock.now()), flags.output);
    if (drain.headers.length > 0 && drain.url.startsWith('http:')) {
      context.say('warning: the address is not encrypted; headers and lines are sent in plain text');
    }
  },
});

const showCommand = command({
  name: 'show',
  description: 'Show the log drain, without the values of its headers.',
  flags: apiFlags,
  data: logDrainView,
  watch: true,
  examples: [show],
  async run({ context, flags }) {
    const drain = await context.api(flags).call('GET', path, logDrainView);
    context.print(toOutput(drain, context.clock.now()), flags.output);
  },
});

const test = command({
  name: 'test',
  description: 'Send a test line and show the result.',
  flags: { ...waitFlags, ...apiFlags },
  data: logDrainTest,
  examples: ['svc platform log-drain test'],
  async run({ context, flags }) {
    const api = context.api(flags);
    const requested = await api.call('POST', `${path}/test`, logDrainTest);
    const read = async () => {
      const drain = await api.call('GET', path, logDrainView);
      const isDone = drain.test && (drain.test.id !== requested.id || drain.test.status !== 'pending');
      return isDone && drain.test ? { done: drain.test } : { progress: 'sending a test line' };
    };
    const result = flags.wait ? await waitFor(context, flags, read, show) : requested;
    if (result.status === 'failed') {
      throw new Failure(`The test line was not delivered: ${result.error ?? 'unknown reason'}.`, {
        code: 'not_delivered',
      });
    }
    context.print({ data: result, table: fields([['Status', result.status]]), names: [result.id] }, flags.output);
  },
});

const remove = command({
  name: 'remove',
  description: 'Remove the log drain. Lines that wait are not sent.',
  flags: { ...noPromptFlag, ...apiFlags },
  examples: ['svc platform log-drain remove'],
  async run({ context, flags }) {
    await context.api(flags).send('DELETE', path);
    context.say('the log drain is removed');
  },
});

export const logDrainCommands: Commands = { commands: [set, showCommand, test, remove] };
