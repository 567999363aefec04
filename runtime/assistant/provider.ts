import type { IncomingMessage } from 'node:http';
import type { LookupFunction } from 'node:net';
import { createAddressMatcher } from '../domain/address.ts';
import { isTimeout, post } from '../process/outgoing-request.ts';
import { createChatReader, type ChatCall, type ChatEnd } from './chat-reader.ts';
import { ProviderError } from './provider-error.ts';
import { createRedact } from './redaction.ts';
import type { ToolView } from './tools.ts';
import { withoutUnseen } from './unseen.ts';

/** Where and how a provider is called. */
export interface Provider {
  /** Without a slash at its end. */
  url: string;
  model: string;
  key: string | undefined;
  networks: readonly string[];
  /** The installation's CA certificates, which are trusted besides the public ones. */
  caCertificates?: string | undefined;
  /** Default: the system's resolver. */
  lookup?: LookupFunction | undefined;
  /** How long the provider may send nothing, in ms; default a minute, in which a model on a processor reads a prompt. */
  silenceMs?: number | undefined;
}

/** A message of a chat completion. */
export type ChatMessage =
  | { role: 'system' | 'user'; content: string }
  | { role: 'assistant'; content: string; calls?: readonly ChatCall[] }
  | { role: 'tool'; content: string; callId: string };

export interface ChatRequest {
  messages: readonly ChatMessage[];
  tools: readonly ToolView[];
  /** Whether the model may call tools. */
  mayCall: boolean;
  signal: AbortSignal;
  timeoutMs: number;
}

const blocked = 'is in a private network. Name the network to allow it: svc platform assistant set --network <network>';
/** Bytes of an error response that are read, for platform admins. */
const errorMaxBytes = 16 * 1024;
const errorTextMax = 300;

/**
 * Asks a model, and streams the text of its answer.
 * @returns the end of the answer @throws ProviderError; the reason of the signal when it aborts
 */
export async function* chat(provider: Provider, request: ChatRequest): AsyncGenerator<string, ChatEnd> {
  const { url, key, networks, caCertificates, lookup, silenceMs = 60_000 } = provider;
  const { signal, timeoutMs } = request;
  const silent = new AbortController();
  const timer = setTimeout(() => silent.abort(new DOMException('silent', 'TimeoutError')), silenceMs);
  let response: IncomingMessage | undefined;
  try {
    const posted = await post({
      url: `${url}/chat/completions`,
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream',
        'user-agent': 'svc-assistant/1',
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify(bodyOf(provider, request)),
      allowed: createAddressMatcher(networks),
      blocked,
      timeoutMs,
      signal: AbortSignal.any([signal, silent.signal]),
      ...(lookup && { lookup }),
      caCertificates,
    });
    signal.throwIfAborted();
    if ('fault' in posted) throw posted.isTimeout ? silence() : new ProviderError('provider_unreachable', posted.fault);
    ({ response } = posted);
    await checkResponse(provider, response);
    const reader = createChatReader();
    for await (const bytes of response as AsyncIterable<Buffer>) {
      timer.refresh();
      const text = reader.push(bytes);
      if (text !== '') yield text;
      if (reader.isDone()) break;
    }
    return reader.end();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ProviderError) throw error;
    if (isTimeout(error)) throw silence();
    throw new ProviderError('provider_cut_off', 'the connection ended before the answer did');
  } finally {
    clearTimeout(timer);
    response?.destroy();
  }
}

function silence(): ProviderError {
  return new ProviderError('provider_timeout', 'the provider sent nothing for too long');
}

/** @throws ProviderError for a response that is no stream of events */
async function checkResponse(provider: Provider, response: IncomingMessage): Promise<void> {
  const { statusCode: status = 0, headers } = response;
  if (status === 200) {
    const type = headers['content-type'] ?? '';
    if (/^text\/event-stream\b/i.test(type)) return;
    throw new ProviderError('provider_invalid', 'the provider did not respond with a stream of events');
  }
  if (status === 429) throw new ProviderError('provider_busy', 'the provider refuses further requests for now (429)');
  const reason = await errorOf(provider, response);
  const text = `the provider responded with ${status}${reason === '' ? '' : `: ${reason}`}`;
  if (status === 401 || status === 403) throw new ProviderError('provider_refused', text);
  const redirect = status >= 300 && status < 400 ? '; redirects are not followed' : '';
  throw new ProviderError('provider_failed', text + redirect);
}

/** What a provider says about an error, without the key, which some repeat. */
async function errorOf({ key }: Provider, response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const bytesOfChunk of response as AsyncIterable<Buffer>) {
    chunks.push(bytesOfChunk);
    bytes += bytesOfChunk.length;
    if (bytes >= errorMaxBytes) break;
  }
  const text = Buffer.concat(chunks).subarray(0, errorMaxBytes).toString('utf8');
  const redact = createRedact(key === undefined ? [] : [key]);
  return withoutUnseen(redact(messageIn(text)).replaceAll(/\s+/g, ' ')).slice(0, errorTextMax);
}

function messageIn(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: unknown } | string | null };
    const message = typeof error === 'string' ? error : error?.message;
    return typeof message === 'string' ? message : '';
  } catch {
    return '';
  }
}

/** https://platform.openai.com/docs/api-reference/chat/create */
function bodyOf({ model }: Provider, { messages, tools, mayCall }: ChatRequest): object {
  return {
    model,
    messages: messages.map(messageOf),
    stream: true,
    stream_options: { include_usage: true },
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, inputSchema }) => ({
        type: 'function',
        function: { name, description, parameters: inputSchema },
      })),
      tool_choice: mayCall ? 'auto' : 'none',
    }),
  };
}

function messageOf(message: ChatMessage): object {
  const { role, content } = message;
  if (role === 'tool') return { role, content, tool_call_id: message.callId };
  if (role !== 'assistant' || message.calls === undefined) return { role, content };
  const calls = message.calls.map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
  }));
  return { role, content, tool_calls: calls };
}
