import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { BodyDiscards } from '../../runtime/http/body-discard.ts';
import { clientOf, keyPrefixOf, senderOf, type DenialLog } from '../../runtime/process/denial-log.ts';
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
export function refuseGateCheck(
  request: IncomingMessage,
  response: ServerResponse,
  { denials, clock, discards }: { denials: Pick<DenialLog, 'record'>; clock: Clock; discards: BodyDiscards },
): void {
  discards.discard(request);
  const { status, headers, body } = gateUnavailable;
  response.writeHead(status, [...headers, 'Connection', 'close']).end(body, 'latin1');
  denials.record({
    at: clock.now(),
    reason: 'unavailable',
    fault: 'no_checker',
    ...clientOf(request),
    // It knows no trusted proxies: the address that the ingress has seen.
    sender: senderOf(request, () => false),
    keyPrefix: keyPrefixOf(request),
    app: undefined,
  });
}
