import { hostname } from 'node:os';
import type { AddressMatcher } from '../../../runtime/domain/address.ts';
import type { RouteRequest } from './exchange.ts';
import { setForwardedHeaders } from './forwarded-headers.ts';
import { headersOf } from './headers.ts';
import { parseTarget } from './target.ts';

/** A megabyte for a request's head and 4 KiB on top, as Go has it. */
export const headBytes = 1024 * 1024 + 4096;

/** A request as a protocol delivers it. */
export interface Arrival {
  method: string | undefined;
  /** The request target, as it was sent. */
  uri: string | undefined;
  /** Names and values; no pseudo-headers. */
  rawHeaders: readonly string[];
  /** The host where the protocol has it beside the headers; it counts instead of theirs. */
  authority?: string | undefined;
  remoteAddress: string | undefined;
  body: RouteRequest['body'];
  upgrade: string | undefined;
  signal: AbortSignal;
}

/** Makes a request for routes of what arrived; undefined when it is to be answered 400. */
export type Entrance = (arrival: Arrival) => RouteRequest | undefined;

/** @param trusted whose X-Forwarded headers are believed */
export function createEntrance(trusted: AddressMatcher): Entrance {
  const server = hostname();
  return ({ method, uri, rawHeaders, authority, remoteAddress, body, upgrade, signal }) => {
    const headers = headersOf(rawHeaders);
    const hosts = authority === undefined ? (headers.get('Host') ?? []) : [authority];
    const target = parseTarget(uri ?? '', hosts);
    if (!target || method === undefined || remoteAddress === undefined) return undefined;
    // Kept apart, so that nothing a client or a layer says of them matters: node:http frames what was received.
    for (const name of ['Host', 'Content-Length', 'Transfer-Encoding', 'Expect']) headers.delete(name);
    // What comes over IPv4 to a socket of both.
    const client = remoteAddress.replace(/^::ffff:(?=[\d.]+$)/, '').replace(/%.*$/, '');
    const request = { method, ...target, headers, remoteAddress: client, body, upgrade, signal };
    setForwardedHeaders(request, { trusted, server });
    return request;
  };
}
