import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { gateProbePath } from '../../runtime/contracts/gate-denials.ts';
import { connectionFault, createConnections } from '../connection.ts';
import type { Context } from '../context.ts';

/** As long as an ingress and the interceptors may take to learn of a route. */
const routeMs = 10_000;
const pauseMs = 250;
/** Interceptor and gate answer at once. */
const answerMs = 5_000;

/**
 * Waits until requests from here come as far as to the function's interceptor or gate, and wakes no pod. One that does not
 * in time is said, and no failure: the function is there, and this machine may be none of those that are to reach it.
 */
export async function untilRouted(context: Context, functionUrl: string): Promise<void> {
  const url = new URL(gateProbePath, functionUrl);
  const { clock } = context;
  const connections = createConnections(answerMs);
  const routedBy = clock.monotonic() + routeMs;
  try {
    while (await leadsNowhere(await connections.send(url, { method: 'GET', headers: {} }))) {
      if (clock.monotonic() >= routedBy) {
        context.say(`the ingress does not know ${url.host} yet: requests may get a 404 for a moment`);
        return;
      }
      await clock.sleep(pauseMs);
    }
  } catch (error) {
    const fault = connectionFault(error);
    if (fault === undefined) throw error;
    context.say(`${url.origin} cannot be reached from here: ${fault}`);
  } finally {
    connections.close();
  }
}

/** Whether it is the 404 of an ingress, or of an interceptor, that has not heard of the host. */
async function leadsNowhere(answer: IncomingMessage): Promise<boolean> {
  const body = await text(answer);
  if (answer.statusCode !== 404) return false;
  return answer.headers['x-request-id'] === undefined || body.includes('"unknown_host"');
}
