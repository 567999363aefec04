import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { gateProbePath } from '../../runtime/contracts/gate-denials.ts';
import { connectionFault, createConnections } from '../connection.ts';
import type { Context } from '../context.ts';

/** How long an ingress and the interceptors take to apply a route. */
const routeMs = 10_000;
const pauseMs = 250;
/** Interceptor and gate respond without starting a pod. */
const responseMs = 5_000;

/**
 * Waits until requests from this machine reach the function's interceptor or gate, without starting a pod. A time-out is
 * reported but is no failure: the function exists, and this machine may not be meant to reach it.
 */
export async function waitForRoute(context: Context, functionUrl: string): Promise<void> {
  const url = new URL(gateProbePath, functionUrl);
  const { clock } = context;
  const connections = createConnections(responseMs);
  const deadline = clock.monotonic() + routeMs;
  try {
    while (await isUnrouted(await connections.send(url, { method: 'GET', headers: {} }))) {
      if (clock.monotonic() >= deadline) {
        context.say(`the ingress does not serve ${url.host} yet; requests may return 404 for a moment`);
        return;
      }
      await clock.sleep(pauseMs);
    }
  } catch (error) {
    const fault = connectionFault(error);
    if (fault === undefined) throw error;
    context.say(`${url.origin} is unreachable from this machine: ${fault}`);
  } finally {
    connections.close();
  }
}

/** Whether this is the 404 of an ingress or interceptor that does not know the host yet. */
async function isUnrouted(response: IncomingMessage): Promise<boolean> {
  const body = await text(response);
  if (response.statusCode !== 404) return false;
  return response.headers['x-request-id'] === undefined || body.includes('"unknown_host"');
}
