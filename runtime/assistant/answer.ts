import type { AnswerEvent, AssistantPage } from '../contracts/api/assistant.ts';
import { assistantLimits, type AssistantLevel } from '../domain/assistant.ts';
import { answerFaultOf } from './answer-fault.ts';
import { createAnswerCleaner } from './clean-answer.ts';
import type { Attachment } from './attachments.ts';
import { createModelTools, type ModelTools, type RecordCall } from './model-tools.ts';
import type { ToolCaller } from './call-route.ts';
import { historyMessages, questionMessage, systemPrompt, type Exchange } from './prompt.ts';
import { chat, type ChatCall, type ChatEnd, type ChatMessage } from './provider.ts';
import type { Provider } from './provider-connection.ts';
import { ProviderError } from './provider-error.ts';
import type { Redact } from './redaction.ts';
import type { Tools } from './tools.ts';

/** A question of a user. */
export interface AnswerRequest {
  /** The only project that the tools are about. */
  project: string;
  question: string;
  files: readonly Attachment[];
  page: AssistantPage;
  history: readonly Exchange[];
  caller: ToolCaller;
}

export interface AnswerDependencies {
  provider: Provider;
  level: AssistantLevel;
  tools: Tools;
  /** Masks what the user wrote; the tools mask their results. */
  redact: Redact;
  /** Stores the audit entry of a call of a tool, or rejects: then the provider does not get the result. */
  recordCall: RecordCall;
  /** Whether the user may use further tokens. */
  hasTokens: () => Promise<boolean>;
  countTokens: (tokens: number) => Promise<void>;
  /** Of the whole answer; default 120 s. */
  timeoutMs?: number | undefined;
}

/** A line of an answer, without the id of the message. */
export type AnswerPart =
  Exclude<AnswerEvent, { type: 'done' }> | Omit<Extract<AnswerEvent, { type: 'done' }>, 'message'>;

/** Faults for which a provider counts no tokens. */
const freeFaults: readonly string[] = ['provider_unreachable', 'provider_refused', 'provider_busy', 'provider_failed'];

/**
 * Answers a question: asks the model, calls the tools that it asks for with the rights of the user, and asks again with
 * their results, a few times. A tool that changes something only prepares a request. Nothing is sent after the caller's
 * signal has aborted.
 */
export async function* answer(request: AnswerRequest, dependencies: AnswerDependencies): AsyncGenerator<AnswerPart> {
  const { timeoutMs = assistantLimits.seconds * 1000 } = dependencies;
  const { caller } = request;
  const deadline = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([caller.signal, deadline]);
  try {
    yield* steps({ ...request, caller: { ...caller, signal } }, { ...dependencies, timeoutMs });
  } catch (error) {
    // Nobody reads the answer.
    if (caller.signal.aborted) throw error;
    yield answerFaultOf(error, caller, deadline.aborted);
  }
}

async function* steps(
  request: AnswerRequest,
  dependencies: AnswerDependencies & { timeoutMs: number },
): AsyncGenerator<AnswerPart> {
  const { project, caller, history } = request;
  const { level, redact, hasTokens } = dependencies;
  const tools = createModelTools({ ...dependencies, project, caller, level });
  const messages: ChatMessage[] = [
    { role: 'system', content: systemPrompt(project, tools.views.length > 0) },
    ...historyMessages(history, redact),
    questionMessage(request, redact),
  ];
  const written: Written = { text: '', isCut: false, usage: { inputTokens: 0, outputTokens: 0 } };
  for (let step = 1; step <= assistantLimits.steps && !written.isCut; step++) {
    if (!(await hasTokens())) throw new ProviderError('assistant_budget_used', 'the tokens of the day are used up');
    const isLast = step === assistantLimits.steps;
    const { text, calls } = yield* ask(messages, { ...dependencies, tools, isLast, signal: caller.signal }, written);
    if (calls.length === 0 || isLast) break;
    messages.push({ role: 'assistant', content: text, calls });
    for (const call of calls) {
      const { content, events } = await tools.call(call);
      caller.signal.throwIfAborted();
      yield* events;
      messages.push({ role: 'tool', call, content });
    }
  }
  yield* tools.linesIn(written.text);
  yield { type: 'done', usage: written.usage, cut: written.isCut };
}

/** What the answer has so far. */
interface Written {
  text: string;
  isCut: boolean;
  usage: { inputTokens: number; outputTokens: number };
}

interface AskOptions extends Pick<AnswerDependencies, 'provider' | 'countTokens'> {
  tools: ModelTools;
  isLast: boolean;
  signal: AbortSignal;
  timeoutMs: number;
}

/** Asks the model once, and streams its text, cleaned. */
async function* ask(
  messages: readonly ChatMessage[],
  { provider, tools, isLast, signal, timeoutMs, countTokens }: AskOptions,
  written: Written,
): AsyncGenerator<AnswerPart, { text: string; calls: readonly ChatCall[] }> {
  const stream = chat(provider, { messages, tools: tools.views, mayCall: !isLast, signal, timeoutMs });
  const cleaner = createAnswerCleaner();
  let text = '';
  let end: ChatEnd | undefined;
  let isFree = false;
  /** The text of an event; empty for one that adds nothing. */
  const cut = (cleaned: string): string => {
    // The text of each step begins as a paragraph.
    const separated = text === '' && written.text !== '' && cleaned !== '' ? `\n\n${cleaned}` : cleaned;
    const fitting = separated.slice(0, Math.max(0, assistantLimits.answerLength - written.text.length));
    if (fitting.length < separated.length) written.isCut = true;
    const part = fitting.toWellFormed();
    written.text += part;
    return part;
  };
  try {
    while (!written.isCut) {
      const { value, done } = await stream.next();
      if (done) {
        end = value;
        break;
      }
      const part = cut(cleaner.push(value));
      text += value;
      if (part !== '') yield { type: 'text', text: part };
    }
    const rest = cut(cleaner.end());
    if (rest !== '') yield { type: 'text', text: rest };
    if (end?.isCut) written.isCut = true;
    return { text, calls: end?.calls ?? [] };
  } catch (error) {
    isFree = error instanceof ProviderError && freeFaults.includes(error.code);
    throw error;
  } finally {
    // Ends the connection, if the answer was cut or nobody reads it.
    await stream.return({ calls: [], usage: undefined, isCut: true });
    const usage = isFree ? { inputTokens: 0, outputTokens: 0 } : (end?.usage ?? estimate(messages, text));
    written.usage.inputTokens += usage.inputTokens;
    written.usage.outputTokens += usage.outputTokens;
    await countTokens(usage.inputTokens + usage.outputTokens);
  }
}

/** Characters of a token, on average. */
const tokenLength = 4;

/** For a provider that does not count, and an answer that ended early. */
function estimate(messages: readonly ChatMessage[], text: string): Written['usage'] {
  const length = messages.reduce((sum, { content }) => sum + content.length, 0);
  return { inputTokens: Math.ceil(length / tokenLength), outputTokens: Math.ceil(text.length / tokenLength) };
}
