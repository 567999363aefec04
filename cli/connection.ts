import { lookup as systemLookup } from 'node:dns';
import type { IncomingMessage } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';
import type { LookupFunction } from 'node:net';

// An import statement would evaluate all exports of node:http. One of them loads undici, which takes longer than all
// modules of svc.
const { Agent: HttpAgent, request: httpRequest } = process.getBuiltinModule('node:http');

/** Loaded for an address with https only, since TLS takes longer than all of HTTP. */
function loadHttps() {
  return process.getBuiltinModule('node:https');
}

const connectTimeoutMs = 10_000;
/** Wait before the next address of a host is tried. Node's 250 ms is too short for a busy or distant machine. */
const addressTimeoutMs = 2_500;
/** Commands that wait send many short requests, so no single response takes long. */
const responseTimeoutMs = 60_000;

/** Resolves `localhost` and names below it to this machine (RFC 6761, section 6.3), which many resolvers do not do. */
export const lookupHost: LookupFunction = (host, options, callback) => {
  if (host !== 'localhost' && !host.endsWith('.localhost')) {
    systemLookup(host, options, callback);
    return;
  }
  const loopback = [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ];
  if (options.all) callback(null, loopback);
  else callback(null, '127.0.0.1', 4);
};

/** One HTTP request. */
export interface Outgoing {
  method: string;
  /** With lower-case names, without content-length and host. */
  headers: Readonly<Record<string, string>>;
  body?: string | undefined;
}

/** The HTTP connections of one command. */
export interface Connections {
  /**
   * Sends a request; resolves when the response begins. Request and response fail with an error that
   * {@link connectionFault} explains, also when nothing arrives for `silentMs` (0: no limit).
   */
  send(url: URL, outgoing: Outgoing, silentMs?: number): Promise<IncomingMessage>;
  /** Closes all connections, including those in use. */
  close(): void;
}

/** Creates keep-alive connections. They use `node:http`, since loading another client slows the start by a third. */
export function createConnections(defaultSilentMs = responseTimeoutMs): Connections {
  const options = { keepAlive: true, lookup: lookupHost, autoSelectFamilyAttemptTimeout: addressTimeoutMs };
  const http = new HttpAgent(options);
  let https: HttpsAgent | undefined;

  return {
    send(url, { method, headers, body }, silentMs = defaultSilentMs) {
      const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const settings = { method, headers: { ...headers, ...length } };
      const request =
        url.protocol === 'https:'
          ? loadHttps().request(url, { ...settings, agent: (https ??= new (loadHttps().Agent)(options)) })
          : httpRequest(url, { ...settings, agent: http });
      return new Promise((resolve, reject) => {
        let response: IncomingMessage | undefined;
        const abort = () => (response ?? request).destroy(Object.assign(new Error('time-out'), { code: 'ETIMEDOUT' }));
        request.setTimeout(silentMs, abort);
        request.once('socket', (socket) => {
          if (!socket.connecting) return;
          const limit = setTimeout(abort, connectTimeoutMs);
          const end = () => clearTimeout(limit);
          socket.once('connect', end).once('close', end);
        });
        request.on('error', reject);
        request.once('response', (message) => {
          response = message;
          resolve(message);
        });
        request.end(body);
      });
    },
    close() {
      http.destroy();
      https?.destroy();
    },
  };
}

/** Why a connection failed; undefined for an error with another cause. */
export function connectionFault(error: unknown): string | undefined {
  for (let current = error; current instanceof Error; current = current.cause) {
    const { code } = current as NodeJS.ErrnoException;
    const fault = code === undefined ? undefined : faults[code];
    if (fault !== undefined) return fault;
    // A connection that failed at several addresses has an error for each. The first one is enough.
    if (current instanceof AggregateError && current.errors.length > 0) return connectionFault(current.errors[0]);
    if (code?.startsWith('ERR_TLS') || code?.includes('CERT')) return `untrusted certificate (${code})`;
  }
  return undefined;
}

const faults: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection reset',
  ENOTFOUND: 'unknown host name',
  EAI_AGAIN: 'host name lookup failed temporarily',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'no route to host',
  ETIMEDOUT: 'timed out',
  EPROTO: 'the server does not use TLS; try http://',
};
