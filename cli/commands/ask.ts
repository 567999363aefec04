import { basename } from 'node:path';
import {
  answerEvent,
  assistantView,
  conversationView,
  type AnswerEvent,
  type AssistantMessage,
} from '../../runtime/contracts/api/assistant.ts';
import { page } from '../../runtime/contracts/api/common.ts';
import { answerFooter } from '../answer-text.ts';
import type { askFlags } from '../ask-flags.ts';
import { segment } from '../client.ts';
import type { Context } from '../context.ts';
import { Failure, usageFailure } from '../failure.ts';
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
  checkFollowOutput({ follow: true, output, by: 'svc ask' });
  const scope = resolveScope(context, flags);
  const body = {
    text: question,
    files: file.map((path) => ({ name: basename(path), content: readInputFile(path).toString('base64') })),
    page: pageOf(scope, flags),
  };
  const conversations = scope.path('assistant/conversations');
  const conversation = await conversationOf(scope, flags);
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
  if (!isComplete) throw new Failure('The answer ended early.', { code: 'unreachable', hint: 'ask again' });
  context.say(`ask further: svc ask --conversation ${id} ${scope.flags} "…"`);
}

/** The conversation to continue, if the user names one. @throws Failure */
async function conversationOf(scope: Scope, flags: FlagValues<typeof askFlags>): Promise<string | undefined> {
  if (!flags.continue) return flags.conversation;
  if (flags.conversation !== undefined) throw usageFailure('Use only one of --conversation and --continue.');
  const path = scope.path('assistant/conversations');
  const { items } = await scope.api.call('GET', path, page(conversationView), { query: { limit: 1 } });
  const [newest] = items;
  if (newest) return newest.id;
  throw new Failure(`You have no conversation in ${scope.project}.`, {
    code: 'not_found',
    hint: 'to start one, ask without --continue',
  });
}

function pageOf({ query }: Scope, flags: FlagValues<typeof askFlags>): Record<string, string> {
  const { app, function: fn, job, service, deployment } = flags;
  const entries = Object.entries({ environment: query.environment, app, function: fn, job, service, deployment });
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Names the provider and what it gets, before anything is sent to it. */
async function sayWhatIsSent({ say }: Context, { api }: Scope): Promise<void> {
  const { available, host, model, sends } = await api.call('GET', '/assistant', assistantView);
  // The question is refused with the reason.
  if (!available) return;
  say(`${model} at ${host ?? 'a server of your platform’s admins'} gets ${sends.join('; ')}`);
}

function printLines({ stdout, formatter }: Context): (event: AnswerEvent) => void {
  return (event) => void stdout.write(formatter.line(event));
}

/** Prints the text as it arrives, then its sources and the prepared commands. */
function createView({ stdout, say }: Context): (event: AnswerEvent) => void {
  const rest: Pick<AssistantMessage, 'sources' | 'prepared'> = { sources: [], prepared: [] };
  let last = '\n';
  const write = (text: string) => {
    stdout.write(text);
    last = text.at(-1) ?? last;
  };
  return (event) => {
    if (event.type === 'text') write(event.text);
    else if (event.type === 'tool') say(`${event.refused ? 'refused' : 'called'}: ${toolText(event)}`);
    else if (event.type === 'source') rest.sources.push(event);
    else if (event.type === 'prepared') rest.prepared.push(event);
    else {
      if (last !== '\n') write('\n');
      const footer = answerFooter(rest);
      if (footer !== '') write(footer);
      if (event.type === 'done' && event.cut) say('the answer was too long, and was cut');
    }
  };
}

function toolText({ tool, names }: { tool: string; names: Readonly<Record<string, string>> }): string {
  return [tool, ...Object.entries(names).map(([name, value]) => `${name}=${value}`)].join(' ');
}
