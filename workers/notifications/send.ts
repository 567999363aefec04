import { lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { Agent, request } from 'undici';
import type { AddressMatcher } from '../../runtime/domain/address.ts';
import { mayBeSentTo } from '../../runtime/domain/public-address.ts';

/** What a receiver answered, or why there was no answer. */
export type SendResult = { status: number; retryAfterSeconds?: number } | { fault: string };

export interface SendOptions {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** Private networks that the platform's admin opened. */
  allowed: AddressMatcher;
  /** Of the whole exchange. */
  timeoutMs: number;
  signal: AbortSignal;
  /** Default: the system's resolver. */
  lookup?: LookupFunction;
}

class ClosedAddressError extends Error {}

/**
 * Posts one message, on a connection of its own, and follows no redirect. The name is looked up once, every address that it
 * leads to has to be open, and the connection goes to these and no other: a name that answers differently a moment later
 * gains nothing. Never rejects.
 */
export async function send(options: SendOptions): Promise<SendResult> {
  const { url, headers, body, allowed, timeoutMs, lookup = systemLookup } = options;
  const { hostname } = new URL(url);
  const literal = hostname.replace(/^\[(.*)\]$/, '$1');
  // Sockets look up names only.
  if (isIP(literal) !== 0 && !mayBeSentTo(literal, allowed)) return { fault: closed(hostname) };
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(timeoutMs)]);
  const agent = new Agent({ connect: { lookup: guarded(lookup, allowed), timeout: timeoutMs }, pipelining: 0 });
  try {
    const answer = await request(url, { dispatcher: agent, method: 'POST', headers, body, signal });
    const retryAfter = /^\d{1,6}$/.exec(String(answer.headers['retry-after'] ?? ''))?.[0];
    return {
      status: answer.statusCode,
      ...(retryAfter !== undefined && { retryAfterSeconds: Number(retryAfter) }),
    };
  } catch (error) {
    return { fault: faultOf(error, hostname, timeoutMs) };
  } finally {
    // Whatever is left of the answer is nobody's.
    await agent.destroy().catch(() => undefined);
  }
}

function guarded(lookup: LookupFunction, allowed: AddressMatcher): LookupFunction {
  return (host, options, callback) => {
    lookup(host, { ...options, all: true }, (error, found) => {
      if (error) {
        callback(error, []);
        return;
      }
      const addresses = typeof found === 'string' ? [{ address: found, family: isIP(found) }] : found;
      const [first] = addresses;
      if (!first || addresses.some(({ address }) => !mayBeSentTo(address, allowed))) {
        callback(new ClosedAddressError(), []);
      } else if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

/** Names no address: what the platform's resolver knows of a private network is not the receiver's to tell. */
function closed(host: string): string {
  return `${host} is in no network to which notifications may be sent; an admin of the platform can open one: svc platform config set --notification-network`;
}

function faultOf(error: unknown, host: string, timeoutMs: number): string {
  for (let current = error; current instanceof Error; current = current.cause) {
    if (current instanceof ClosedAddressError) return closed(host);
    if (current.name === 'TimeoutError') return `no answer within ${timeoutMs / 1000} seconds`;
    const { code } = current as NodeJS.ErrnoException;
    if (code !== undefined && code in words) return words[code] ?? '';
    if (code?.includes('CERT') || code?.startsWith('ERR_TLS')) return `its certificate is not trusted (${code})`;
    if (current instanceof AggregateError && current.errors.length > 0) {
      return faultOf(current.errors[0], host, timeoutMs);
    }
  }
  return 'it did not answer in HTTP';
}

const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  UND_ERR_SOCKET: 'the connection was cut',
  ENOTFOUND: 'its name is not known',
  EAI_AGAIN: 'its name could not be looked up',
  EHOSTUNREACH: 'there is no route to it',
  ENETUNREACH: 'there is no route to it',
  ETIMEDOUT: 'it could not be connected in time',
  UND_ERR_CONNECT_TIMEOUT: 'it could not be connected in time',
};
