import type { OpenAICompatibleChatLanguageModel } from '@ai-sdk/openai-compatible';
import { invalid } from './event-lines.ts';
import { connectProvider, cutOff, type Provider, type ProviderConnection } from './provider-connection.ts';
import { ProviderError } from './provider-error.ts';
import type { ToolView } from './tools.ts';

/** A call of a tool that a model asks for. */
export interface ChatCall {
  id: string;
  name: string;
  /** JSON, as the model wrote it. */
  arguments: string;
}

/** The end of a model's answer. */
export interface ChatEnd {
  calls: ChatCall[];
  /** What the provider counted; undefined when it did not say so. */
  usage: { inputTokens: number; outputTokens: number } | undefined;
  /** Whether the model stopped because its answer was too long. */
  isCut: boolean;
}

/** A message of a chat completion. */
export type ChatMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string }
  | { role: 'assistant'; content: string; calls?: readonly ChatCall[] }
  | { role: 'tool'; content: string; call: ChatCall };

export interface ChatRequest {
  messages: readonly ChatMessage[];
  tools: readonly ToolView[];
  /** Whether the model may call tools. */
  mayCall: boolean;
  signal: AbortSignal;
  timeoutMs: number;
}

type StreamOptions = Parameters<OpenAICompatibleChatLanguageModel['doStream']>[0];
type Stream = Awaited<ReturnType<OpenAICompatibleChatLanguageModel['doStream']>>['stream'];
type StreamPart = Stream extends ReadableStream<infer Part> ? Part : never;
type PromptMessage = StreamOptions['prompt'][number];

/** Limits of the calls of tools in one answer. */
const limits = { calls: 8, nameLength: 200, argumentsLength: 16 * 1024, tokens: 10_000_000 } as const;

/**
 * Asks a model, and streams the text of its answer.
 * @returns the end of the answer @throws ProviderError; the reason of the signal when it aborts
 */
export async function* chat(provider: Provider, request: ChatRequest): AsyncGenerator<string, ChatEnd> {
  const { messages, tools, mayCall, signal } = request;
  // Loaded by the first question: most installations have no provider, and it takes some memory.
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  const connection = connectProvider(provider, request);
  const { url, model: name } = provider;
  const { fetch } = connection;
  const model = createOpenAICompatible({ name: 'provider', baseURL: url, includeUsage: true, fetch }).chatModel(name);
  try {
    signal.throwIfAborted();
    const { stream } = await model.doStream({
      prompt: messages.map(promptOf),
      ...(tools.length > 0 && {
        tools: tools.map(({ name: tool, description, inputSchema }) => ({
          type: 'function' as const,
          name: tool,
          description,
          inputSchema,
        })),
        toolChoice: { type: mayCall ? ('auto' as const) : ('none' as const) },
      }),
    });
    const reader = createPartReader(connection);
    for await (const part of stream) {
      const text = reader.push(part);
      if (text !== '') yield text;
    }
    return reader.end();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ProviderError) throw error;
    // The library's errors contain the request, so they go no further.
    throw connection.fault() ?? invalid('something that is no answer');
  } finally {
    connection.close();
  }
}

/** Reads the parts of an answer, and bounds its calls. */
function createPartReader(connection: ProviderConnection) {
  const sizes = new Map<string, number>();
  const end: ChatEnd = { calls: [], usage: undefined, isCut: false };
  let hasEnded = false;

  return {
    /** @returns the text that the part adds @throws ProviderError */
    push(part: StreamPart): string {
      if (part.type === 'text-delta') return part.delta;
      if (part.type === 'tool-input-start') {
        sizes.set(part.id, 0);
        if (sizes.size > limits.calls) throw invalid(`more than ${limits.calls} calls of tools at once`);
      } else if (part.type === 'tool-input-delta') {
        const size = (sizes.get(part.id) ?? 0) + part.delta.length;
        sizes.set(part.id, size);
        if (size > limits.argumentsLength) throw invalid('a call of a tool that is too long');
      } else if (part.type === 'tool-call') {
        const { toolCallId: id, toolName: name, input } = part;
        if (Math.max(id.length, name.length) > limits.nameLength || input.length > limits.argumentsLength) {
          throw invalid('a call of a tool that is too long');
        }
        end.calls.push({ id, name, arguments: input });
      } else if (part.type === 'error') {
        // Some servers give no reason for the end.
        if (!isWithoutReason(part.error) || !connection.isDone()) throw connection.fault() ?? faultOf(part.error);
      } else if (part.type === 'finish') {
        const { total: inputTokens } = part.usage.inputTokens;
        const { total: outputTokens } = part.usage.outputTokens;
        if (inputTokens !== undefined || outputTokens !== undefined) {
          end.usage = { inputTokens: tokens(inputTokens), outputTokens: tokens(outputTokens) };
        }
        end.isCut = part.finishReason.unified === 'length';
        hasEnded = true;
      }
      return '';
    },
    end(): ChatEnd {
      if (!hasEnded) throw connection.fault() ?? cutOff();
      return end;
    },
  };
}

function isWithoutReason(error: unknown): boolean {
  return error instanceof Error && error.name === 'AI_InvalidResponseDataError';
}

/** The fault of an error in the stream: of the library if it is one, or else of the provider. */
function faultOf(error: unknown): ProviderError {
  if (isWithoutReason(error)) return cutOff();
  if (error instanceof Error) return invalid('an event that is no chunk of a chat completion');
  return new ProviderError('provider_failed', 'the provider reported an error while it answered');
}

function tokens(count = 0): number {
  if (Number.isSafeInteger(count) && count >= 0 && count <= limits.tokens) return count;
  throw invalid('a number of tokens that cannot be');
}

function promptOf(message: ChatMessage): PromptMessage {
  const { content } = message;
  const text = { type: 'text' as const, text: content };
  if (message.role === 'system') return { role: message.role, content };
  if (message.role === 'user') return { role: message.role, content: [text] };
  if (message.role === 'tool') {
    const { id, name } = message.call;
    const output = { type: 'text' as const, value: content };
    return { role: message.role, content: [{ type: 'tool-result', toolCallId: id, toolName: name, output }] };
  }
  const calls = (message.calls ?? []).map(({ id, name, arguments: input }) => ({
    type: 'tool-call' as const,
    toolCallId: id,
    toolName: name,
    input: input.trim() === '' ? '{}' : input,
  }));
  return { role: message.role, content: [text, ...calls] };
}
