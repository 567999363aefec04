import { z } from 'zod';
import { ProviderError } from './provider-error.ts';

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

/** Limits of one answer of a provider. */
const limits = {
  bytes: 4 * 1024 * 1024,
  lineLength: 256 * 1024,
  events: 50_000,
  /** Calls of tools. */
  calls: 8,
  argumentsLength: 16 * 1024,
  tokens: 10_000_000,
} as const;

const tokens = z.int().min(0).max(limits.tokens).nullish();

/** The parts of a chunk that are read. https://platform.openai.com/docs/api-reference/chat-streaming */
const chunk = z.object({
  choices: z
    .array(
      z.object({
        delta: z
          .object({
            content: z.string().nullish(),
            tool_calls: z
              .array(
                z.object({
                  index: z.int().min(0).max(1_000).nullish(),
                  id: z.string().max(200).nullish(),
                  function: z
                    .object({ name: z.string().max(200).nullish(), arguments: z.string().nullish() })
                    .nullish(),
                }),
              )
              .nullish(),
          })
          .nullish(),
        finish_reason: z.string().max(100).nullish(),
      }),
    )
    .nullish(),
  usage: z.object({ prompt_tokens: tokens, completion_tokens: tokens }).nullish(),
  error: z.unknown().optional(),
});

/** Reads the server-sent events of a chat completion. */
export interface ChatReader {
  /** @returns the text that the bytes add @throws ProviderError */
  push(bytes: Uint8Array): string;
  /** @throws ProviderError for a stream that ended before the answer did */
  end(): ChatEnd;
  /** Whether the provider has said that it sends nothing more. */
  isDone(): boolean;
}

/**
 * A reader that trusts nothing: it bounds bytes, events, and calls, and keeps none of the text. Pure but for its state.
 */
export function createChatReader(): ChatReader {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const calls = new Map<number, ChatCall>();
  let [rest, bytes, events] = ['', 0, 0];
  let [isDone, finish]: [boolean, string | undefined] = [false, undefined];
  let usage: ChatEnd['usage'];

  const addCall = (index: number, { id, name, text }: { id: string; name: string; text: string }) => {
    const call = calls.get(index) ?? { id: '', name: '', arguments: '' };
    calls.set(index, call);
    call.id ||= id;
    // Some servers repeat the name in each part.
    if (call.name !== name) call.name += name;
    call.arguments += text;
    if (calls.size > limits.calls) throw invalid(`more than ${limits.calls} calls of tools at once`);
    if (call.arguments.length > limits.argumentsLength || call.name.length > 200) {
      throw invalid('a call of a tool that is too long');
    }
  };
  const readEvent = (data: string): string => {
    if (++events > limits.events) throw invalid(`more than ${limits.events} events`);
    if (data === '[DONE]') isDone = true;
    if (isDone) return '';
    const { choices, usage: counted, error } = parseChunk(data);
    if (error !== undefined && error !== null) {
      throw new ProviderError('provider_failed', 'the provider reported an error while it answered');
    }
    const { prompt_tokens: input, completion_tokens: output } = counted ?? {};
    if (typeof input === 'number' || typeof output === 'number') {
      usage = { inputTokens: input ?? 0, outputTokens: output ?? 0 };
    }
    const [choice] = choices ?? [];
    finish = choice?.finish_reason ?? finish;
    for (const part of choice?.delta?.tool_calls ?? []) {
      // Without an index, a part with an id begins a call.
      const index = part.index ?? Math.max(0, calls.size - (part.id ? 0 : 1));
      const { name, arguments: text } = part.function ?? {};
      addCall(index, { id: part.id ?? '', name: name ?? '', text: text ?? '' });
    }
    return choice?.delta?.content ?? '';
  };

  return {
    push(more) {
      bytes += more.length;
      if (bytes > limits.bytes) throw invalid(`more than ${limits.bytes} bytes`);
      // Only the new text is searched: a provider that sends a long line byte by byte would else take quadratic time.
      const [first = '', ...others] = decode(decoder, more).split('\n');
      rest += first;
      const lines: string[] = [];
      for (const other of others) {
        lines.push(rest);
        rest = other;
      }
      if (rest.length > limits.lineLength) throw invalid('a line that is too long');
      let text = '';
      for (const line of lines) {
        if (line.length > limits.lineLength) throw invalid('a line that is too long');
        if (line.startsWith('data:')) text += readEvent(line.slice('data:'.length).trim());
      }
      return text;
    },
    end() {
      if (finish === undefined && !isDone) {
        throw new ProviderError('provider_cut_off', 'the connection ended before the answer did');
      }
      // Ids that a provider left out; it gets them back with the results.
      const complete = [...calls.values()].map((call, at) => ({ ...call, id: call.id || `call_${at}` }));
      return { calls: complete, usage, isCut: finish === 'length' };
    },
    isDone: () => isDone,
  };
}

function decode(decoder: InstanceType<typeof TextDecoder>, bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: true });
  } catch {
    throw invalid('text that is not UTF-8');
  }
}

function parseChunk(data: string): z.infer<typeof chunk> {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    throw invalid('an event that is not JSON');
  }
  const parsed = chunk.safeParse(value);
  if (!parsed.success) throw invalid('an event that is no chunk of a chat completion');
  return parsed.data;
}

/** @param what what the provider sent */
function invalid(what: string): ProviderError {
  return new ProviderError('provider_invalid', `the provider sent ${what}`);
}
