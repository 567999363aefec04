import { once } from 'node:events';
import { lookup as systemLookup } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { createFairPlaces } from '../domain/fair-places.ts';

/** All addresses of a host name that a tenant chose. @param owner the tenant, such as a project */
export type NameLookup = (owner: string, host: string) => Promise<NameAddress[]>;

interface NameAddress {
  address: string;
  family: number;
}

export interface NameLookupOptions {
  /** Default: the system's resolver, which also knows the names of the cluster. */
  lookup?: (host: string) => Promise<NameAddress[]>;
  /** How long a lookup may take, with its wait for a turn, in ms; default 5 s. */
  timeoutMs?: number;
}

/**
 * At once, in all: the system's resolver has half of libuv's threads, which are 16 in svc-workers (UV_THREADPOOL_SIZE), so
 * that names of the platform itself always find one.
 */
const lookupsMax = 4;

/**
 * Resolves names of tenants' servers. The owner of a domain decides how long its name servers take to answer, and the
 * system's resolver cannot be interrupted: a tenant has one lookup at once, until it has really ended, and tenants get turns.
 * @returns rejects with the code `EAI_AGAIN` when the time is up
 */
export function createNameLookup({ lookup = lookupAll, timeoutMs = 5_000 }: NameLookupOptions = {}): NameLookup {
  const places = createFairPlaces({ total: lookupsMax, perKey: 1, waitingPerKey: 50, waitingTotal: 500 });
  return async (owner, host) => {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), timeoutMs);
    try {
      const leave = await places.enter(owner, late.signal).catch(() => {
        throw tooSlow(host);
      });
      const isLate = once(late.signal, 'abort').then(() => {
        throw tooSlow(host);
      });
      return await Promise.race([lookup(host).finally(leave), isLate]);
    } finally {
      clearTimeout(timer);
    }
  };
}

function lookupAll(host: string): Promise<NameAddress[]> {
  return systemLookup(host, { all: true });
}

function tooSlow(host: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${host} was not resolved in time`), { code: 'EAI_AGAIN' });
}

/** The same for connections of one owner. */
export function lookupOf(names: NameLookup, owner: string): LookupFunction {
  const resolve = callbackify((host: string) => names(owner, host));
  return (host, _options, callback) => resolve(host, (error, addresses) => callback(error, error ? [] : addresses));
}
