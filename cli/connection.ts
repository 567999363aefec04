import { lookup as systemLookup } from 'node:dns';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';

const connectTimeoutMs = 10_000;
/** Until the next address of a name is tried: after Node's 250 ms a busy machine, or a far one, would count as silent. */
const addressTimeoutMs = 2_500;
/** Commands that wait ask again and again; no single answer takes long. */
const answerTimeoutMs = 60_000;

/**
 * Names below `localhost` are this machine (RFC 6761, section 6.3). Many resolvers do not know that, so they are not asked.
 */
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
  /** By their names in lower case; those of a body's length and of the host are not needed. */
  headers: Readonly<Record<string, string>>;
  body?: string | undefined;
}

/** Connections to whatever a command asks. */
export interface Connections {
  /**
   * Sends a request; resolves when the answer begins. Both reject, or break off, with an error that {@link connectionFault}
   * knows: also when nothing comes for `silentMs`, 0 for ever.
   */
  send(url: URL, outgoing: Outgoing, silentMs?: number): Promise<IncomingMessage>;
  /** Ends them all, those in use too. */
  close(): void;
}

/**
 * Connections that outlast a request. They are of `node:http`, which is there already: a command that loads another client
 * starts a third slower.
 */
export function createConnections(defaultSilentMs = answerTimeoutMs): Connections {
  const options = { keepAlive: true, lookup: lookupHost, autoSelectFamilyAttemptTimeout: addressTimeoutMs };
  const [http, https] = [new HttpAgent(options), new HttpsAgent(options)];

  return {
    send(url, { method, headers, body }, silentMs = defaultSilentMs) {
      const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const settings = { method, headers: { ...headers, ...length } };
      const request =
        url.protocol === 'https:'
          ? httpsRequest(url, { ...settings, agent: https })
          : httpRequest(url, { ...settings, agent: http });
      return new Promise((resolve, reject) => {
        let answer: IncomingMessage | undefined;
        const giveUp = () => (answer ?? request).destroy(Object.assign(new Error('time-out'), { code: 'ETIMEDOUT' }));
        request.setTimeout(silentMs, giveUp);
        request.once('socket', (socket) => {
          if (!socket.connecting) return;
          const limit = setTimeout(giveUp, connectTimeoutMs);
          const end = () => clearTimeout(limit);
          socket.once('connect', end).once('close', end);
        });
        request.on('error', reject);
        request.once('response', (message) => {
          answer = message;
          resolve(message);
        });
        request.end(body);
      });
    },
    close() {
      http.destroy();
      https.destroy();
    },
  };
}

/** Why there was no answer, in words; undefined for an error that is none of the connection. */
export function connectionFault(error: unknown): string | undefined {
  for (let current = error; current instanceof Error; current = current.cause) {
    const { code } = current as NodeJS.ErrnoException;
    const fault = code === undefined ? undefined : faults[code];
    if (fault !== undefined) return fault;
    // Of a connection that was tried at several addresses, any reason will do.
    if (current instanceof AggregateError && current.errors.length > 0) return connectionFault(current.errors[0]);
    if (code?.startsWith('ERR_TLS') || code?.includes('CERT')) return `its certificate is not trusted (${code})`;
  }
  return undefined;
}

const faults: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection is refused',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  ENOTFOUND: 'its name is not known',
  EAI_AGAIN: 'its name cannot be looked up right now',
  EHOSTUNREACH: 'there is no route to it',
  ENETUNREACH: 'there is no route to it',
  ETIMEDOUT: 'it does not answer in time',
  EPROTO: 'it does not speak TLS; is it http://?',
};
