import { ServerResponse, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import { sessionCodes } from '../contracts/session-codes.ts';
import { Problem } from '../domain/problem.ts';
import { watchAccess, type AccessChecks } from './access-watch.ts';

export interface SocketLimits {
  /** Open WebSockets of the process. */
  total: number;
  /** Open WebSockets of one user. */
  perUser: number;
  /** Interval at which the caller's session or token is checked again, in ms; the role at each tenth. */
  checkMs: number;
  /** How long a client whose rights have ended may take to close its connection, in ms. */
  closeMs: number;
}

/** Each WebSocket holds a few megabytes at most: `messageMax`, what relays let wait, and what was read before a pause. */
const defaults: SocketLimits = { total: 200, perUser: 20, checkMs: 1_000, closeMs: 1_000 };
/** Largest message of a client, in bytes. */
const messageMax = 128 * 1024;
/** Interval of pings: proxies close a silent connection, most of them after 60 s. */
const pingMs = 15_000;

/** The connection of a request that asks for a WebSocket. */
interface Upgrade {
  socket: Duplex;
  head: Buffer;
}

/** The WebSockets of a server: accepts them, counts them, and closes them when the server stops. */
export interface WebSockets {
  /** Passes a request for a WebSocket to the listener of all requests, with a response that can still refuse it. */
  offer(
    listener: (request: IncomingMessage, response: ServerResponse) => unknown,
  ): (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** The connection of a request that asks for a WebSocket; undefined for others. */
  connectionOf(request: IncomingMessage): Duplex | undefined;
  /** @throws Problem `upgrade_required`, `invalid_request` for a request that asks for no WebSocket of this protocol */
  check(request: IncomingMessage, protocol: string): void;
  /** Takes a place for one WebSocket. @returns a function that frees it @throws Problem `too_many_requests`, `overloaded` */
  enter(userId: string): () => void;
  /**
   * Completes the handshake.
   * @param checks called at intervals; when one rejects, the WebSocket is closed with the code of the Problem
   * @returns undefined when the client has gone
   */
  accept(request: IncomingMessage, response: ServerResponse, checks: AccessChecks): WebSocket | undefined;
  /** Asks the clients of all WebSockets to close them, because the server goes away. */
  stop(): void;
  /** Closes the connections of all WebSockets at once. */
  terminate(): void;
}

/** @param limits default: 200 in all, 20 per user; the session is checked every second, and 1 s to close when it ends */
export function createWebSockets(limits: Partial<SocketLimits> = {}): WebSockets {
  const { total, perUser, checkMs, closeMs } = { ...defaults, ...limits };
  const upgrades = new WeakMap<IncomingMessage, Upgrade>();
  const users = new Map<string, number>();
  let open = 0;
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: messageMax,
    // `check` has compared it with the route's.
    handleProtocols: (offered) => [...offered][0] ?? false,
  });

  return {
    offer: (listener) => (request, socket, head) => {
      upgrades.set(request, { socket, head });
      const response = new ServerResponse(request);
      // A refusal closes the connection.
      response.shouldKeepAlive = false;
      response.assignSocket(socket as Socket);
      socket.on('error', () => socket.destroy());
      response.once('finish', () => socket.end());
      listener(request, response);
    },
    connectionOf: (request) => upgrades.get(request)?.socket,
    check(request, protocol) {
      if (!upgrades.has(request)) {
        throw new Problem('upgrade_required', `This route is a WebSocket with the subprotocol ${protocol}.`);
      }
      if (request.headers['sec-websocket-protocol'] !== protocol) {
        throw new Problem('invalid_request', `Sec-WebSocket-Protocol must be ${protocol}.`);
      }
    },
    enter(userId) {
      const own = users.get(userId) ?? 0;
      if (own >= perUser) {
        throw new Problem(
          'too_many_requests',
          `You have ${perUser} open sessions (exec, run and port-forward). Close one of them first.`,
          { details: { retryAfterSeconds: 10 } },
        );
      }
      if (open >= total) {
        throw new Problem('overloaded', 'The server has too many open sessions. Try again later.', {
          details: { retryAfterSeconds: 30 },
        });
      }
      open += 1;
      users.set(userId, own + 1);
      let hasLeft = false;
      return () => {
        if (hasLeft) return;
        hasLeft = true;
        open -= 1;
        const rest = (users.get(userId) ?? 1) - 1;
        if (rest > 0) users.set(userId, rest);
        else users.delete(userId);
      };
    },
    accept(request, response, checks) {
      const upgrade = upgrades.get(request);
      if (!upgrade || upgrade.socket.destroyed) return undefined;
      response.detachSocket(upgrade.socket as Socket);
      let accepted: WebSocket | undefined;
      server.handleUpgrade(request, upgrade.socket, upgrade.head, (socket) => {
        accepted = socket;
        socket.on('error', () => socket.terminate());
        watch(socket, checks, { checkMs, closeMs });
      });
      return accepted;
    },
    stop() {
      for (const socket of server.clients)
        socket.close(sessionCodes.goingAway, 'The platform restarts. Connect again.');
    },
    terminate() {
      for (const socket of server.clients) socket.terminate();
    },
  };
}

function watch(
  socket: WebSocket,
  checks: AccessChecks,
  { checkMs, closeMs }: Pick<SocketLimits, 'checkMs' | 'closeMs'>,
): void {
  const ping = setInterval(() => socket.ping(), pingMs);
  let closing: NodeJS.Timeout | undefined;
  const onEnd = ({ code }: Problem) => {
    socket.close(sessionCodes.policyViolation, code);
    // A client that does not answer would keep its session: `ws` gives it 30 s.
    closing = setTimeout(() => socket.terminate(), closeMs);
  };
  const stopWatch = watchAccess(checks, onEnd, checkMs);
  socket.once('close', () => {
    clearInterval(ping);
    stopWatch();
    clearTimeout(closing);
  });
}

/** Whether a request asks for a WebSocket. Requests for other protocols are answered as if they did not. */
export function isWebSocketRequest({ method, headers }: IncomingMessage): boolean {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && !hasBody;
}
