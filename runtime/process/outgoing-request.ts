import { lookup as systemLookup } from 'node:dns';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import type { AddressMatcher } from '../domain/address.ts';
import { trustBundle } from '../domain/certificates.ts';
import { mayBeSentTo } from '../domain/public-address.ts';

/** The response of a receiver, with the beginning of its body if it was asked for, or why there is none. */
export type SendResult = { status: number; retryAfterSeconds?: number; body?: string } | { fault: string };

export interface OutgoingRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string | Buffer;
  /** Private networks that the platform's admin allowed. */
  allowed: AddressMatcher;
  /** What a receiver in another private network is, for people, after its host name. */
  blocked: string;
  /** Of the whole request, until the end of the response's body. */
  timeoutMs: number;
  signal: AbortSignal;
  /** Default: the system's resolver. */
  lookup?: LookupFunction;
  /** CA certificates in PEM that are trusted besides the public ones. */
  caCertificates?: string | undefined;
}

export interface SendOptions extends OutgoingRequest {
  /** Maximum bytes of the response's body; default 0. */
  bodyMaxBytes?: number;
}

class BlockedAddressError extends Error {}

/** Posts one message as {@link post} does, and reads the beginning of the response. Never rejects. */
export async function send({ bodyMaxBytes = 0, ...options }: SendOptions): Promise<SendResult> {
  const posted = await post(options);
  if ('fault' in posted) return { fault: posted.fault };
  const { response } = posted;
  const text = bodyMaxBytes > 0 ? { body: await beginningOf(response, bodyMaxBytes) } : {};
  response.destroy();
  const retryAfter = /^\d{1,6}$/.exec(response.headers['retry-after'] ?? '')?.[0];
  const retryAfterSeconds = retryAfter !== undefined && { retryAfterSeconds: Number(retryAfter) };
  return { status: response.statusCode ?? 0, ...retryAfterSeconds, ...text };
}

/**
 * Posts one message on a new connection, without redirects. The host name is resolved once, all of its addresses must be
 * allowed, and the connection uses these, so that a later change of the name has no effect. Whatever the connection has
 * reached is checked again before anything is sent. The caller reads the response, which emits an error when the time is
 * up, and destroys it. Never rejects.
 */
export async function post(
  options: OutgoingRequest,
): Promise<{ response: IncomingMessage } | { fault: string; isTimeout: boolean }> {
  const { url, headers, body, allowed, timeoutMs, blocked, lookup = systemLookup } = options;
  const { hostname } = new URL(url);
  const literal = hostname.replace(/^\[(.*)\]$/, '$1');
  // The lookup is not called for an IP address.
  if (isIP(literal) !== 0 && !mayBeSentTo(literal, allowed)) {
    return { fault: `${hostname} ${blocked}`, isTimeout: false };
  }
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(timeoutMs)]);
  const secure = url.startsWith('https:');
  const request = secure ? httpsRequest : httpRequest;
  const { caCertificates } = options;
  const outgoing = {
    method: 'POST',
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    agent: false,
    lookup: checkedLookup(lookup, allowed),
    signal,
    ...(secure && caCertificates !== undefined && { ca: trustBundle(caCertificates) }),
  };
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request(url, outgoing, resolve)
        .on('socket', (socket) => socket.prependOnceListener('connect', () => checkRemote(socket, allowed)))
        .on('error', reject)
        .end(body);
    });
    return { response };
  } catch (error) {
    return { fault: faultOf(error, `${hostname} ${blocked}`, timeoutMs), isTimeout: isTimeout(error) };
  }
}

function checkRemote(socket: Socket, allowed: AddressMatcher): void {
  if (!mayBeSentTo(socket.remoteAddress ?? '', allowed)) socket.destroy(new BlockedAddressError());
}

function checkedLookup(lookup: LookupFunction, allowed: AddressMatcher): LookupFunction {
  return (host, options, callback) => {
    lookup(host, { ...options, all: true }, (error, result) => {
      if (error) {
        callback(error, []);
        return;
      }
      const addresses = typeof result === 'string' ? [{ address: result, family: isIP(result) }] : result;
      const [first] = addresses;
      if (!first || addresses.some(({ address }) => !mayBeSentTo(address, allowed))) {
        callback(new BlockedAddressError(), []);
      } else if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

/** What a body has until its end, the limit or the time-out; the status counts whatever the body does. */
async function beginningOf(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= maxBytes) break;
    }
  } catch {
    // The receiver was too slow, or closed the connection.
  }
  return Buffer.concat(chunks).subarray(0, maxBytes).toString('utf8');
}

/** Whether a request or its response ended because its time was up. */
export function isTimeout(error: unknown): boolean {
  for (let current = error; current instanceof Error; current = current.cause) {
    if (current.name === 'TimeoutError') return true;
  }
  return false;
}

/** @param blocked the fault of a blocked address; it names no address, since users must not learn those of a private network */
function faultOf(error: unknown, blocked: string, timeoutMs: number): string {
  for (let current = error; current instanceof Error; current = current.cause) {
    if (current instanceof BlockedAddressError) return blocked;
    if (current.name === 'TimeoutError') return `no response within ${timeoutMs / 1000} seconds`;
    const { code } = current as NodeJS.ErrnoException;
    if (code !== undefined && code in faults) return faults[code] ?? '';
    if (code?.includes('CERT') || /^(ERR_TLS|UNABLE_TO_)/.test(code ?? ''))
      return `its certificate is not trusted (${code})`;
    if (current instanceof AggregateError && current.errors.length > 0) {
      return faultOf(current.errors[0], blocked, timeoutMs);
    }
  }
  return 'it did not send an HTTP response';
}

const faults: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was closed',
  EPIPE: 'the connection was closed',
  ENOTFOUND: 'its host name does not exist',
  EAI_AGAIN: 'its host name could not be resolved',
  EHOSTUNREACH: 'there is no route to it',
  ENETUNREACH: 'there is no route to it',
  ETIMEDOUT: 'the connection timed out',
};
