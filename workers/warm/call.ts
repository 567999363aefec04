import { Agent, request, type IncomingMessage, type RequestOptions } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { warmPort, type WarmStart } from '../../runtime/contracts/warm-start.ts';

/** Of the whole call. Also on a busy machine, the function's own pod is about to be ready after this. */
const timeoutMs = 5_000;
/** Pause between attempts to connect. */
const retryMs = 50;
/** A pod's uid is shorter. */
const answerMaxBytes = 256;

/** A generic pod. */
export interface WarmPod {
  host: string;
  uid: string;
}

/** Starts a function in a generic pod. @throws Error when the pod refuses, is another one, or does not answer in time */
export type CallWarmPod = (pod: WarmPod, token: string, start: WarmStart) => Promise<void>;

/**
 * Over HTTP, on one connection. The pod names itself first: another one at its address gets neither token nor variables. A
 * container runs before its program listens, so a refused connection is tried again.
 */
export function createWarmCall({ port = warmPort }: { port?: number } = {}): CallWarmPod {
  return async ({ host, uid }, token, start) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const named = await onceListening(() => exchange({ agent, host, port, path: '/pod', signal }), signal);
      if (named.status !== 200 || named.text !== uid) throw new Error('another pod answers at the address');
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const options = { agent, host, port, path: '/start', method: 'POST', headers, signal };
      const { status } = await exchange(options, JSON.stringify(start));
      if (status !== 202) throw new Error(`the pod answered ${status}`);
    } finally {
      agent.destroy();
    }
  };
}

/** @throws the AbortError of the signal as well */
async function onceListening<T>(connect: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await connect();
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED')) throw error;
      await setTimeout(retryMs, undefined, { signal });
    }
  }
}

async function exchange(options: RequestOptions, body?: string): Promise<{ status: number; text: string }> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(options, resolve).on('error', reject).end(body);
  });
  let text = '';
  for await (const chunk of response) {
    text += String(chunk);
    if (text.length > answerMaxBytes) throw new Error('the answer of the pod is too long');
  }
  return { status: response.statusCode ?? 0, text };
}
