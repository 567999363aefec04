import type { IncomingMessage, ServerResponse } from 'node:http';
import { checkerHost, gateUnavailable } from '../../runtime/contracts/gate-denials.ts';

/**
 * Whether the ingress asks for a checker's verdict. It comes before the search for a function, so that no function can
 * answer such a question, whatever its host is.
 */
export function isGateCheck({ headers: { host } }: IncomingMessage): boolean {
  return host === checkerHost;
}

/**
 * Denies every request of a gated route, whatever its key and method: the answer while no checker is ready
 * (docs/decisions/0057-interceptors-stand-in-for-checkers.md). It closes the connection, so that the ingress asks a
 * checker with its next request once there is one.
 */
export function refuseGateCheck(response: ServerResponse): void {
  const { status, headers, body } = gateUnavailable;
  response.writeHead(status, [...headers, 'Connection', 'close']).end(body, 'latin1');
}
