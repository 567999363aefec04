import type { IncomingMessage, ServerResponse } from 'node:http';
import { eventExchange } from '../../runtime/contracts/event-exchange.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { BodyMemory } from '../../runtime/http/body-memory.ts';
import { largeBodyLimit, parseJson, readBody } from '../../runtime/http/body.ts';
import { problemOf, problemTextOf } from '../../runtime/http/errors.ts';
import { createExchange, type ExchangeDependencies } from './exchange.ts';
import { createIdentify, type IdentifyDependencies, type Sidecar } from './identify.ts';
import { createStoreEvents, type StoreEventsDependencies } from './store-events.ts';

export type EventDeliveryDependencies = ExchangeDependencies &
  IdentifyDependencies &
  StoreEventsDependencies & {
    /** Shared with the process's other servers. */
    bodies: BodyMemory;
  };

/**
 * The listener from which sidecars of function pods get events, `POST /exchange`, and to which object stores report changes
 * of their buckets, `POST /stores/<namespace>/<service>`. Never rejects.
 */
export function createEventDelivery(dependencies: EventDeliveryDependencies) {
  const { log, bodies } = dependencies;
  const identify = createIdentify(dependencies);
  const exchange = createExchange(dependencies);
  const receiveStoreEvents = createStoreEvents(dependencies);

  const exchangeOf = async (request: IncomingMessage, sidecar: Sidecar) => {
    const place = bodies.place({ name: sidecar.id, isKnown: true });
    try {
      const body = await readBody(request, place, largeBodyLimit);
      // A function's response, which the sidecar quotes, may contain anything.
      return parseJson(eventExchange, body, request.headers['content-type'], { allowNul: true });
    } finally {
      place.free();
    }
  };

  const handle = async (request: IncomingMessage, signal: AbortSignal) => {
    const accepted = await receiveStoreEvents(request);
    if (accepted) return accepted;
    if (request.url !== '/exchange') throw new Problem('not_found', 'No operation has this path.');
    if (request.method !== 'POST') throw new Problem('method_not_allowed', 'Use POST to exchange events.');
    const sidecar = await identify(request.headers.authorization);
    return exchange(sidecar, await exchangeOf(request, sidecar), signal);
  };

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const disconnect = new AbortController();
    response.once('close', () => disconnect.abort());
    try {
      send(response, 200, JSON.stringify(await handle(request, disconnect.signal)));
    } catch (error) {
      const problem = problemOf(error, newId());
      if (problem.status >= 500) log.warn({ err: error }, 'event exchange failed');
      bodies.discards.discard(request);
      // The rest of the body is not read, so the connection cannot be reused.
      if (request.isPaused() && !response.headersSent) response.setHeader('Connection', 'close');
      send(response, problem.status, problemTextOf(problem));
    }
  };
}

function send(response: ServerResponse, status: number, json: string): void {
  if (response.destroyed) return;
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(json);
}
