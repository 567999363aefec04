import { basename } from 'node:path';
import {
  answerEvent,
  assistantView,
  conversationView,
  type AnswerEvent,
  type AnswerSource,
} from '../../runtime/contracts/api/assistant.ts';
import type { askFlags } from '../ask-flags.ts';
import { segment } from '../client.ts';
import type { Context } from '../context.ts';
import { Failure } from '../failure.ts';
import type { FlagValues } from '../flags.ts';
import { readInputFile } from '../input-file.ts';
import { checkFollowOutput } from '../log-lines.ts';
import { resolveScope, type Scope } from '../scope.ts';

/** Runs `svc ask`: streams the answer, and prints the commands that the assistant has prepared. None of them is run. */
export async function ask(
  context: Context,
  { question }: { question: string },
  flags: FlagValues<typeof askFlags>,
): Promise<void> {
  const { output, file } = flags;
  checkFollowOutput({ follow: true, output });
  const scope = resolveScope(context, flags);
  const body = {
    text: question,
    files: file.map((path) => ({ name: basename(path), content: readInputFile(path).toString('base64') })),
    page: pageOf(scope, flags),
  };
  const conversations = scope.path('assistant/conversations');
  const { conversation } = flags;
  if (conversation === undefined) await sayWhatIsSent(context, scope);
  const id = conversation ?? (await scope.api.call('POST', conversations, conversationView)).id;
  const print = output === 'json' ? printLines(context) : createView(context);
  let isComplete = false;
  for await (const line of scope.api.lines(`${conversations}/${segment(id)}/messages`, {}, body)) {
    if (line === '') continue;
    const { data: event } = answerEvent.safeParse(JSON.parse(line));
    // A line that a newer platform has.
    if (!event) continue;
    print(event);
    if (event.type === 'error') throw new Failure(event.error, { code: event.code });
    isComplete = event.type === 'done';
  }
  if (!isComplete) throw new Failure('The answer broke off.', { code: 'unreachable', hint: 'ask again' });
  context.say(`ask further: svc ask --conversation ${id} ${scope.flags} "…"`);
}

function pageOf({ query }: Scope, flags: FlagValues<typeof askFlags>): Record<string, string> {
  const { app, function: fn, job, service, deployment } = flags;
  const entries = Object.entries({ environment: query.environment, app, function: fn, job, service, deployment });
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Names the provider, before anything is sent to it. */
async function sayWhatIsSent({ say }: Context, { api }: Scope): Promise<void> {
  const { available, host, model, sends } = await api.call('GET', '/assistant', assistantView);
  // The question is refused with the reason.
  if (!available) return;
  say(`${model} at ${host ?? 'a server of your platform’s admins'} gets ${sends.join('; ')}`);
}

function printLines({ stdout, formatter }: Context): (event: AnswerEvent) => void {
  return (event) => void stdout.write(formatter.line(event));
}

/** The text as it arrives; then what it rests on, and the commands. */
function createView({ stdout, say }: Context): (event: AnswerEvent) => void {
  const sources = new Set<string>();
  const commands: string[] = [];
  let last = '\n';
  const write = (text: string) => {
    stdout.write(text);
    last = text.at(-1) ?? last;
  };
  return (event) => {
    if (event.type === 'text') write(event.text);
    else if (event.type === 'tool') say(`${event.refused ? 'refused' : 'called'}: ${toolText(event)}`);
    else if (event.type === 'source') sources.add(sourceText(event));
    else if (event.type === 'prepared') commands.push(event.command);
    else {
      if (last !== '\n') write('\n');
      if (sources.size > 0) write(`\nBased on: ${[...sources].join(', ')}\n`);
      if (commands.length > 0) write(`\nPrepared, not run:\n${commands.map((line) => `  ${line}\n`).join('')}`);
      if (event.type === 'done' && event.cut) say('the answer was too long, and was cut');
    }
  };
}

function toolText({ tool, names }: { tool: string; names: Readonly<Record<string, string>> }): string {
  return [tool, ...Object.entries(names).map(([name, value]) => `${name}=${value}`)].join(' ');
}

function sourceText({ kind, name, environment, of }: AnswerSource): string {
  const object = of === undefined ? `${kind} ${name}` : `${kind} of the ${of} ${name}`;
  return environment === undefined ? object : `${object} in ${environment}`;
}
