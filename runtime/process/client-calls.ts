import type { Duplex } from 'node:stream';
import { readFrames, writeFrame } from './frames.ts';

/** What a client process does on request, by name. Parameters and results are JSON. */
export type CallHandlers = Readonly<Record<string, (parameters: unknown) => Promise<unknown>>>;

/** The answer to a call. */
export type CallReply = { result?: unknown } | { error: { name: string; message: string } };

/** Answers the calls of {@link createClientPool}, one at a time. */
export function serveCalls(socket: Duplex, handlers: CallHandlers): void {
  readFrames(socket, (message) => {
    const { method, parameters } = message as { method: string; parameters: unknown };
    void answer(handlers, method, parameters).then((reply) => writeReply(socket, reply));
  });
}

async function answer(handlers: CallHandlers, method: string, parameters: unknown): Promise<CallReply> {
  try {
    const handler = handlers[method];
    if (!handler) throw new Error(`There is no method ${method}.`);
    return { result: await handler(parameters) };
  } catch (error) {
    return { error: describe(error) };
  }
}

function writeReply(socket: Duplex, reply: CallReply): void {
  try {
    writeFrame(socket, reply);
  } catch (error) {
    writeFrame(socket, { error: describe(error) });
  }
}

const messageLengthMax = 1_000;

function describe(error: unknown): { name: string; message: string } {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  return { name, message: message.slice(0, messageLengthMax) };
}
