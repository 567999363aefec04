import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** One request of a chat completion as it arrived. */
interface ChatCompletion {
  path: string;
  headers: IncomingHttpHeaders;
  body: {
    model: string;
    stream: boolean;
    messages: { role: string; content: string; tool_call_id?: string; tool_calls?: unknown[] }[];
    tools?: { function: { name: string; parameters: { properties: Record<string, unknown> } } }[];
    tool_choice?: string;
  };
}

/** What the provider answers to one request. */
export type ScriptStep = (response: ServerResponse, request: ChatCompletion) => void;

/** An OpenAI-compatible server on this machine that follows a script. */
export interface ScriptedProvider {
  /** The base address. */
  url: string;
  requests: ChatCompletion[];
  /** The steps that follow; the last one is repeated. */
  script: ScriptStep[];
  /** Connections that were closed before their response had ended. */
  cutOff(): number;
  /** Everything that arrived, as text. */
  received(): string;
}

export async function startScriptedProvider(
  t: { teardown(end: () => unknown): void },
  script: ScriptStep[] = [says('OK')],
): Promise<ScriptedProvider> {
  let cutOff = 0;
  const server = createServer((request, response) => {
    response.once('close', () => (cutOff += response.writableFinished ? 0 : 1));
    void (async () => {
      const body = (await json(request)) as ChatCompletion['body'];
      const completion = { path: request.url ?? '', headers: request.headers, body };
      provider.requests.push(completion);
      const step = provider.script.length > 1 ? provider.script.shift() : provider.script[0];
      step?.(response, completion);
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const provider: ScriptedProvider = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests: [],
    script,
    cutOff: () => cutOff,
    received: () => JSON.stringify(provider.requests),
  };
  return provider;
}

/** Begins a stream of events. */
export function beginStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
}

/** Writes one event. */
export function writeEvent(response: ServerResponse, data: unknown): boolean {
  return response.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
}

const ofChoice = (delta: object, finish: string | null = null) => ({ choices: [{ delta, finish_reason: finish }] });

/** The text of a delta. */
export function textEvent(content: string): object {
  return ofChoice({ content });
}

function endStream(response: ServerResponse, finish: string): void {
  writeEvent(response, ofChoice({}, finish));
  writeEvent(response, { choices: [], usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 } });
  writeEvent(response, '[DONE]');
  response.end();
}

/** Answers with a text, in parts. */
export function says(...parts: string[]): ScriptStep {
  return (response) => {
    beginStream(response);
    for (const part of parts) writeEvent(response, textEvent(part));
    endStream(response, 'stop');
  };
}

/** Asks for calls of tools; arguments that are no object are sent as they are. */
export function calls(...list: [name: string, args: object | string][]): ScriptStep {
  return (response) => {
    beginStream(response);
    for (const [index, [name, args]] of list.entries()) {
      const text = typeof args === 'string' ? args : JSON.stringify(args);
      const call = { index, id: `call_${index}`, type: 'function', function: { name, arguments: '' } };
      writeEvent(response, ofChoice({ tool_calls: [call] }));
      // In two parts, as models write them.
      for (const part of [text.slice(0, 5), text.slice(5)]) {
        writeEvent(response, ofChoice({ tool_calls: [{ index, function: { arguments: part } }] }));
      }
    }
    endStream(response, 'tool_calls');
  };
}

/** A model that calls tools once, and then says an answer. */
export function scriptOf({ reads, prepares, answer }: ScriptedAnswer): ScriptStep[] {
  const list = [...reads, ...(prepares ? [prepares.call] : [])].map(([tool, args]): [string, object] => [tool, args]);
  return [calls(...list), says(answer)];
}

interface ScriptedAnswer {
  reads: readonly (readonly [tool: string, args: object])[];
  prepares?: { call: readonly [tool: string, args: object] };
  answer: string;
}
