import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { Agent } from 'undici';

const connectTimeoutMs = 10_000;
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

/** Connections that wait so long for an answer, 0 for ever; close it when the command ends. */
export function createConnections(timeoutMs = answerTimeoutMs): Agent {
  return new Agent({
    connect: { lookup: lookupHost, timeout: connectTimeoutMs },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
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
  UND_ERR_SOCKET: 'the connection was cut',
  ENOTFOUND: 'its name is not known',
  EAI_AGAIN: 'its name cannot be looked up right now',
  EHOSTUNREACH: 'there is no route to it',
  ENETUNREACH: 'there is no route to it',
  ETIMEDOUT: 'it does not answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'it does not answer in time',
  UND_ERR_HEADERS_TIMEOUT: 'it does not answer in time',
  UND_ERR_BODY_TIMEOUT: 'it does not answer in time',
};
