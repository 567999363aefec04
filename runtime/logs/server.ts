import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Logger } from 'pino';
import { systemClock, type Clock } from '../domain/clock.ts';
import { equalInConstantTime } from '../domain/constant-time.ts';
import { createFairPlaces, PlacesFull } from '../domain/fair-places.ts';
import { readBytes } from '../domain/read-bytes.ts';
import { createBodyDiscards } from '../http/body-discard.ts';
import { close, listen } from '../process/listening.ts';
import { isPosition } from './feed.ts';
import {
  BatchTooLarge,
  StoreBusy,
  type LogBatch,
  type LogCursor,
  type LogStore,
  type ReadBudget,
} from './log-store.ts';
import { cursorOf, parseQuery, QueryError } from './query.ts';
import { isPodName, type StoredLine } from './record.ts';

/** Maximum bytes of a batch, and of its lines before compression. */
const batchMaxBytes = 8 * 1024 * 1024;
const linesMaxBytes = 32 * 1024 * 1024;
/** Batches that are received at once; each takes as much memory as its lines. */
const appendsMax = 4;
/** Answers to readings at once, in all and of one reader. Each has a few blocks in memory. */
const readPlaces = { total: 8, perKey: 2, waitingPerKey: 8, waitingTotal: 64 };
/**
 * What one answer costs at most, in bytes that are examined and in time. It then ends with a cursor, with which its client
 * continues after others had their turn: neither a long search nor a slow client keeps a place.
 */
const answerLimits = { bytes: 64 * 1024 * 1024, ms: 2_000 };
/** Pages of all lines that are read at once. */
const feedsMax = 2;
/** Characters that are written at once. */
const writeLength = 64 * 1024;
/** A client that takes nothing for this long is disconnected. */
const stallMs = 30_000;
const decompress = promisify(gunzip);

export interface LogServerOptions {
  store: Pick<LogStore, 'append' | 'read' | 'feed' | 'status' | 'isReady'>;
  /** The tokens; undefined for one that is not known yet, which refuses every request. */
  tokens: { append: () => Promise<string | undefined>; read: () => Promise<string | undefined> };
  log: Logger;
  /** 0 selects a free port. */
  port: number;
  /** Default: all interfaces. */
  host?: string | undefined;
  /** Measures how long an answer takes; default the machine's. */
  clock?: Pick<Clock, 'monotonic'>;
  /** What one answer costs; for tests. */
  limits?: { bytes: number; ms: number };
}

export interface LogServer {
  /** @returns the port */
  start(): Promise<number>;
  stop(): Promise<void>;
}

/** An answer that is no success. */
class Refusal extends Error {
  readonly status: number;
  readonly retryAfter: number | undefined;
  constructor(status: number, message: string, retryAfter?: number) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/**
 * The HTTP server of a log store: `POST /append`, `GET /read`, `GET /feed`, `GET /status`
 * (docs/decisions/0060-log-store.md).
 */
export function createLogServer(options: LogServerOptions): LogServer {
  const { store, tokens, log, port, host, clock = systemClock, limits = answerLimits } = options;
  const places = createFairPlaces(readPlaces);
  const discards = createBodyDiscards();
  let appends = 0;
  let feeds = 0;

  const append = async (request: IncomingMessage, response: ServerResponse) => {
    const shipper = shipperOf(request);
    if (appends >= appendsMax) throw new Refusal(429, 'Too many batches at once.', 1);
    appends += 1;
    try {
      const records = parseLines(await readBody(request));
      await store.append({ shipper, records });
    } finally {
      appends -= 1;
    }
    response.writeHead(204).end();
  };

  const read = async (url: URL, response: ServerResponse) => {
    const query = parseQuery(url.searchParams);
    const disconnected = new AbortController();
    response.once('close', () => disconnected.abort(new Error('the client disconnected')));
    const leave = await places.enter(query.reader ?? query.namespace, disconnected.signal);
    try {
      const deadline = clock.monotonic() + limits.ms;
      const budget = createBudget(limits.bytes, () => clock.monotonic() >= deadline);
      const { keptSince, batches } = await store.read(query, disconnected.signal, budget);
      response.writeHead(200, { 'Content-Type': 'application/x-ndjson', 'X-Svc-Kept-Since': keptSince });
      // A search may take long to find its first line.
      response.flushHeaders();
      response.setTimeout(stallMs, () => response.destroy());
      const left = () => deadline - clock.monotonic();
      const next = await writeBatches(response, batches, { signal: disconnected.signal, left });
      // A reader that does not get this line has not read everything.
      response.end(`${JSON.stringify(next ? { next: cursorOf(next) } : { end: true })}\n`);
    } finally {
      leave();
    }
  };

  const feed = async (url: URL, response: ServerResponse) => {
    const position = url.searchParams.get('position') ?? undefined;
    if (position !== undefined && !isPosition(position)) throw new Refusal(400, 'position must be that of a page');
    if (feeds >= feedsMax) throw new Refusal(429, 'Too many readings at once.', 1);
    feeds += 1;
    const disconnected = new AbortController();
    response.once('close', () => disconnected.abort(new Error('the client disconnected')));
    try {
      const { lines, ...end } = await store.feed(position, disconnected.signal);
      response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
      response.setTimeout(stallMs, () => response.destroy());
      // A page is small, and the place is kept until the client has it.
      response.end([...lines, { end }].map((line) => `${JSON.stringify(line)}\n`).join(''));
      if (!response.closed) await once(response, 'close');
    } finally {
      feeds -= 1;
    }
  };

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '/', 'http://log-store');
    const operation = `${request.method ?? ''} ${url.pathname}`;
    if (operation === 'POST /append') {
      await authorize(request, tokens.append);
      await append(request, response);
      return;
    }
    discards.discard(request);
    if (request.isPaused()) response.setHeader('Connection', 'close');
    if (!['GET /read', 'GET /feed', 'GET /status'].includes(operation)) {
      throw new Refusal(404, 'There is no such operation.');
    }
    await authorize(request, tokens.read);
    if (!store.isReady()) throw new StoreBusy('stopped');
    if (operation === 'GET /read') await read(url, response);
    else if (operation === 'GET /feed') await feed(url, response);
    else response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(store.status()));
  };

  const server = createServer({ requestTimeout: 60_000, headersTimeout: 10_000 }, (request, response) => {
    answer(request, response).catch((error: unknown) => {
      const { status, message, retryAfter } = refusalOf(error);
      if (status === 500 && !response.closed) log.error({ err: error }, 'log store request failed');
      if (response.headersSent || response.closed) {
        response.destroy();
        return;
      }
      // A batch that was refused before it was read.
      if (!request.complete && request.readableFlowing === null) discards.discard(request);
      const isLeft = !request.complete && (request.isPaused() || request.destroyed);
      response.writeHead(status, {
        'Content-Type': 'application/json',
        ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
        // The rest of the body is not read.
        ...(isLeft && { Connection: 'close' }),
      });
      response.end(JSON.stringify({ message }));
    });
  });
  // Clients are processes of the platform, each with few connections.
  server.maxConnections = 1_000;

  return {
    start: () => listen(server, port, host),
    async stop() {
      if (server.listening) await close(server);
    },
  };
}

async function authorize(request: IncomingMessage, token: () => Promise<string | undefined>): Promise<void> {
  const [, presented] = /^Bearer ([\w.~+/=-]{1,500})$/.exec(request.headers.authorization ?? '') ?? [];
  const expected = await token().catch(() => undefined);
  if (
    presented === undefined ||
    expected === undefined ||
    expected === '' ||
    !equalInConstantTime(presented, expected)
  ) {
    throw new Refusal(401, 'The token is missing or wrong.');
  }
}

function shipperOf({ headers }: IncomingMessage): LogBatch['shipper'] {
  const [name, sequence] = [headers['x-svc-shipper'], headers['x-svc-sequence']];
  if (name === undefined && sequence === undefined) return undefined;
  if (!isPodName(name) || typeof sequence !== 'string' || !/^\d{1,15}$/.test(sequence)) {
    throw new Refusal(400, 'X-Svc-Shipper must be a node and X-Svc-Sequence a number.');
  }
  return { name, sequence: Number(sequence) };
}

/** @throws Refusal 413 */
async function readBody(request: IncomingMessage): Promise<Buffer> {
  const tooLarge = () => new Refusal(413, 'A batch may have 8 MiB, and its lines 32 MiB before compression.');
  if (Number(request.headers['content-length'] ?? 0) > batchMaxBytes) throw tooLarge();
  const body = await readBytes(request, batchMaxBytes, tooLarge);
  if (request.headers['content-encoding'] !== 'gzip' && body[0] !== 0x1f) return body;
  try {
    return await decompress(body, { maxOutputLength: linesMaxBytes });
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge();
    throw new Refusal(400, 'The body is not valid gzip.');
  }
}

/** The values of JSON lines; undefined for a line that is none, which the store counts. */
function parseLines(body: Buffer): unknown[] {
  return body
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line): unknown => {
      try {
        return JSON.parse(line);
      } catch {
        return undefined;
      }
    });
}

function createBudget(bytes: number, isLate: () => boolean): ReadBudget {
  let left = bytes;
  return {
    spend(examined) {
      left -= examined;
    },
    isSpent: () => left <= 0 || isLate(),
  };
}

/**
 * Writes lines as fast as a client takes them, and has only a few of them as text at once.
 * @param left the time that is left, in ms
 * @returns where to continue, when the reading ended early or the client takes longer
 */
async function writeBatches(
  response: ServerResponse,
  batches: AsyncGenerator<StoredLine[], LogCursor | undefined>,
  { signal, left }: { signal: AbortSignal; left: () => number },
): Promise<LogCursor | undefined> {
  for (let batch = await batches.next(); ; batch = await batches.next()) {
    if (batch.done) return batch.value;
    let text = '';
    for (const [position, line] of batch.value.entries()) {
      text += `${JSON.stringify(line)}\n`;
      if (text.length < writeLength && position < batch.value.length - 1) continue;
      const isTaken = response.write(text);
      text = '';
      if (isTaken || (await drained(response, signal, left()))) continue;
      await batches.return(undefined);
      return line;
    }
  }
}

/** Waits until the client has taken what was written. @returns whether it has */
async function drained(response: ServerResponse, signal: AbortSignal, ms: number): Promise<boolean> {
  const late = AbortSignal.timeout(Math.max(0, Math.ceil(ms)));
  try {
    await once(response, 'drain', { signal: AbortSignal.any([signal, late]) });
    return true;
  } catch (error) {
    signal.throwIfAborted();
    if (late.aborted) return false;
    throw error;
  }
}

function refusalOf(error: unknown): { status: number; message: string; retryAfter?: number | undefined } {
  if (error instanceof Refusal) return error;
  if (error instanceof QueryError) return { status: 400, message: error.message };
  if (error instanceof BatchTooLarge) return { status: 413, message: error.message };
  if (error instanceof PlacesFull) return { status: 429, message: 'Too many readings at once.', retryAfter: 1 };
  if (error instanceof StoreBusy) {
    return { status: 503, message: error.message, retryAfter: error.reason === 'disk_full' ? 10 : 1 };
  }
  return { status: 500, message: 'The log store failed.' };
}
