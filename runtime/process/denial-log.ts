import type { IncomingHttpHeaders } from 'node:http';
import { pino } from 'pino';
import { Counter, type Registry } from 'prom-client';
import { clientAddress, clientNetwork, type AddressMatcher } from '../domain/address.ts';
import { parseApiKey } from '../domain/api-key.ts';
import type { Clock } from '../domain/clock.ts';
import type { Denial } from './denial.ts';
import { createDenialOverflow } from './denial-overflow.ts';
import type { LineOutput } from './line-output.ts';

/** Maximum logged length of X-Forwarded-For (docs/reference/logs.md#gate). */
const forwardedForMaxBytes = 256;
/** Clients can send anything as an address; a real one has at most 45 characters. */
const clientIpMax = 64;
/** Entries per second. A node's log shipper takes 100,000 a minute from all pods together. */
const linesPerSecond = 1_000;
/** Denials that wait for an entry, each of less than a kilobyte. */
const waitingMax = 20_000;
/** How many of them one sender can have, so that a flood from it leaves room for the others. */
const waitingMaxOfSender = waitingMax / 8;
const flushMs = 100;

/** The parts of a request that an entry shows. */
export interface LoggedRequest {
  headers: IncomingHttpHeaders;
  /** The connection to the ingress. */
  socket: { remoteAddress?: string | undefined };
}

/**
 * The log of denials (docs/decisions/0058-every-denial-is-logged.md). Each has an entry of its own, with its client and
 * its key's handle, at up to 1,000 entries per second; up to 20,000 wait. Beyond that, denials of one client, key and
 * reason share an entry per second with their `count`, and what is even beyond 100 such entries is only counted.
 */
export interface DenialLog {
  record(denial: Denial): void;
  /** Writes an entry that is no denial; it may be dropped. */
  note(message: string, denial: Omit<Denial, 'reason' | 'fault'>): void;
  /** Writes what waits. Do not record anything afterwards. */
  close(): void;
}

export interface DenialLogOptions {
  /** The process name in each entry. */
  name: string;
  output: LineOutput;
  clock: Clock;
  /** Called for each denial that no entry shows. */
  onLost: () => void;
}

/** The client and the proxies of a request. Without X-Forwarded-For, the client is the ingress itself. Pure. */
export function clientOf({ headers, socket }: LoggedRequest): Pick<Denial, 'clientIp' | 'forwardedFor'> {
  const forwardedFor = joined(headers['x-forwarded-for']);
  if (forwardedFor === undefined) return { clientIp: socket.remoteAddress, forwardedFor };
  const clipped = clip(forwardedFor);
  const comma = clipped.indexOf(',');
  const first = comma < 0 ? clipped : clipped.slice(0, comma);
  return { clientIp: first.trim().slice(0, clientIpMax), forwardedFor: clipped };
}

/**
 * Whom limits count for a request: its client, unlike in {@link clientOf} only as far as its address can be trusted, since
 * a client can send another first hop each time. Pure.
 */
export function senderOf({ headers, socket }: LoggedRequest, trustedProxies: AddressMatcher): string | undefined {
  const address = clientAddress(joined(headers['x-forwarded-for']), trustedProxies) ?? socket.remoteAddress;
  // A copy, as in clip.
  return address === undefined ? undefined : Buffer.from(clientNetwork(address)).toString();
}

/** The handle of the key that a request brings, if that is well-formed; whether it exists is not known. Pure. */
export function keyPrefixOf({ headers }: LoggedRequest): string | undefined {
  const key = joined(headers['x-api-key']);
  return key === undefined ? undefined : parseApiKey(key)?.handle;
}

function joined(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header;
}

/** The first 256 bytes in UTF-8, cut between characters. */
function clip(text: string): string {
  if (text.length <= forwardedForMaxBytes / 4) return text;
  let bytes = Buffer.from(text.slice(0, forwardedForMaxBytes));
  while (bytes.length > forwardedForMaxBytes) bytes = bytes.subarray(0, lastCharacterAt(bytes));
  // A copy: a part of a string would keep the whole header in memory, up to a megabyte, while the entry waits.
  return bytes.toString();
}

/** Where the last character of UTF-8 bytes begins. */
function lastCharacterAt(bytes: Buffer): number {
  let index = bytes.length - 1;
  while (index > 0 && ((bytes[index] ?? 0) & 0xc0) === 0x80) index--;
  return index;
}

/** The counter of denials that no log entry shows, for {@link DenialLogOptions.onLost}. */
export function createLostDenials(registry: Registry): Counter {
  return new Counter({
    name: 'authz_denials_not_logged_total',
    help: 'Denials that no log entry shows, because there were too many from too many clients.',
    registers: [registry],
  });
}

export function createDenialLog({ name, output, clock, onLost }: DenialLogOptions): DenialLog {
  const closing = new AbortController();
  let accepted = true;
  /** The time of the entry that is being written. */
  let at = clock.now();
  // Independent of LOG_LEVEL: denials are always logged.
  const log = pino(
    {
      level: 'info',
      base: { name },
      timestamp: () => `,"time":"${at.toISOString()}"`,
      formatters: { level: (label: string) => ({ level: label }) },
    },
    { write: (line: string) => (accepted = output.write(line)) },
  );

  const write = (level: 'info' | 'warn', message: string, denial: Partial<Denial>, more: object = {}): boolean => {
    at = denial.at ?? clock.now();
    const { clientIp, keyPrefix, reason, fault, app, forwardedFor } = denial;
    const fields = { client_ip: clientIp, key_prefix: keyPrefix, reason, fault, app, forwarded_for: forwardedFor };
    log[level]({ ...fields, ...more }, message);
    return accepted;
  };

  const overflow = createDenialOverflow({
    clock,
    write: ({ denial, count }) => write('warn', 'authorize deny', denial, { count }),
    writeLost: (count) => write('warn', 'denials not logged', {}, { count }),
    onLost,
  });

  /** Oldest first; those before `next` are written. */
  let waiting: Denial[] = [];
  let next = 0;
  const perSender = new Map<string | undefined, number>();
  let lines = linesPerSecond;
  let refilledAt = clock.monotonic();
  let flushing = false;

  const refill = () => {
    const now = clock.monotonic();
    lines = Math.min(linesPerSecond, lines + ((now - refilledAt) / 1000) * linesPerSecond);
    refilledAt = now;
  };

  const writeOrCount = (denial: Denial) => {
    if (!write('info', 'authorize deny', denial)) overflow.add(denial);
  };

  const flush = (limit: number) => {
    for (let count = 0; count < limit && next < waiting.length; count++) {
      const denial = waiting[next++];
      if (!denial) break;
      const left = (perSender.get(denial.sender) ?? 1) - 1;
      if (left > 0) perSender.set(denial.sender, left);
      else perSender.delete(denial.sender);
      lines--;
      writeOrCount(denial);
    }
    if (next === waiting.length) [waiting, next] = [[], 0];
    else if (next > waitingMax) [waiting, next] = [waiting.slice(next), 0];
  };

  const run = async () => {
    flushing = true;
    while (next < waiting.length && !closing.signal.aborted) {
      await clock.sleep(flushMs, closing.signal).catch(() => undefined);
      if (closing.signal.aborted) break;
      refill();
      flush(Math.floor(lines));
    }
    flushing = false;
  };

  return {
    record(denial) {
      if (next === waiting.length) {
        refill();
        if (lines >= 1) {
          lines--;
          writeOrCount(denial);
          return;
        }
      }
      const ofSender = perSender.get(denial.sender) ?? 0;
      if (waiting.length - next >= waitingMax || ofSender >= waitingMaxOfSender) {
        overflow.add(denial);
        return;
      }
      waiting.push(denial);
      perSender.set(denial.sender, ofSender + 1);
      if (!flushing) void run();
    },
    note: (message, denial) => void write('info', message, denial),
    close() {
      closing.abort();
      flush(Infinity);
      overflow.close();
    },
  };
}
