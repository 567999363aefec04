import type { IncomingMessage } from 'node:http';
import type { LookupFunction } from 'node:net';
import { createAddressMatcher } from '../domain/address.ts';
import { isTimeout, post } from '../process/outgoing-request.ts';
import { createEventLines } from './event-lines.ts';
import { ProviderError } from './provider-error.ts';
import { createRedact } from './redaction.ts';
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

/** One request to a provider. */
export interface ProviderConnection {
  /**
   * Sends the body of a chat completion to the provider, whatever address it is called with. The body of the response
   * ends where the answer does. @throws ProviderError for a response that is no stream of events
   */
  fetch: typeof globalThis.fetch;
  /** Why the request or its response failed: a library can hide it in an error of its own. */
  fault(): ProviderError | undefined;
  /** Whether the provider has said that it sends nothing more. */
  isDone(): boolean;
  close(): void;
}

const blocked = 'is in a private network. Name the network to allow it: svc platform assistant set --network <network>';
/** Bytes of an error response that are read, for platform admins. */
const errorMaxBytes = 16 * 1024;
const errorTextMax = 300;

/**
 * A connection with the limits of requests that leave the installation: names are resolved once and checked, redirects
 * are not followed, and the response is bounded in bytes, lines, events and silence. Only this file has the key.
 */
export function connectProvider(
  provider: Provider,
  { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
): ProviderConnection {
  const { url, key, networks, caCertificates, lookup, silenceMs = 60_000 } = provider;
  const silent = new AbortController();
  const timer = setTimeout(() => silent.abort(new DOMException('silent', 'TimeoutError')), silenceMs);
  const lines = createEventLines();
  let response: IncomingMessage | undefined;
  let fault: ProviderError | undefined;

  const open = async (body: string): Promise<IncomingMessage> => {
    const posted = await post({
      url: `${url}/chat/completions`,
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream',
        'user-agent': 'svc-assistant/1',
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
      body,
      allowed: createAddressMatcher(networks),
      blocked,
      timeoutMs,
      signal: AbortSignal.any([signal, silent.signal]),
      ...(lookup && { lookup }),
      caCertificates,
    });
    if ('fault' in posted) throw posted.isTimeout ? silence() : new ProviderError('provider_unreachable', posted.fault);
    ({ response } = posted);
    await checkResponse(provider, response);
    return response;
  };
  const read = async function* (stream: IncomingMessage): AsyncGenerator<Uint8Array> {
    try {
      for await (const bytes of stream as AsyncIterable<Buffer>) {
        timer.refresh();
        const text = lines.push(bytes);
        if (text !== '') yield Buffer.from(text);
        if (lines.isDone()) break;
      }
    } catch (error) {
      throw (fault ??= faultOf(error));
    } finally {
      stream.destroy();
    }
  };

  return {
    async fetch(_address, init) {
      try {
        if (typeof init?.body !== 'string') throw new TypeError('a chat completion is sent as text');
        const stream = await open(init.body);
        return new Response(ReadableStream.from(read(stream)), { headers: { 'content-type': 'text/event-stream' } });
      } catch (error) {
        throw (fault ??= faultOf(error));
      }
    },
    fault: () => fault,
    isDone: () => lines.isDone(),
    close() {
      clearTimeout(timer);
      response?.destroy();
    },
  };
}

function faultOf(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error;
  return isTimeout(error) ? silence() : cutOff();
}

function silence(): ProviderError {
  return new ProviderError('provider_timeout', 'the provider sent nothing for too long');
}

/** The fault of an answer without its end. */
export function cutOff(): ProviderError {
  return new ProviderError('provider_cut_off', 'the connection ended before the answer did');
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
