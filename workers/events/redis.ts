import { createHash, randomBytes } from 'node:crypto';
import { isUtf8 } from 'node:buffer';
import type { Redis } from 'ioredis';
import { connectRedis } from '../../runtime/host/redis-connection.ts';
import { tlsName } from '../../runtime/host/service-address.ts';
import { eventBytesMax, type FoundEvent } from '../../runtime/records/function-events.ts';
import { SourceError, type OpenSource, type SourceRequest } from './source.ts';

/** What takes longer is given up. */
const commandMs = 10_000;
/** Items that are moved at a time; each may have a megabyte and more. */
const pageItems = 100;

/**
 * Items of a list, from its left end: what is put in with RPUSH comes out in its order. Each is moved to a list of the
 * function's own first (LMOVE), and leaves that one when it is kept durably, so that it lies in one of the two however this
 * ends. Two equal items are two events: an event's id is its item's place, counted since the function's list began, with a
 * digest of the item, since a server that lost its last second counts over again.
 */
export function createRedisSource(): OpenSource {
  return async (request) => {
    const { workloadId, settings } = request;
    const list = settings.list ?? '';
    const { processing, place, tooLarge } = listsOf(list, workloadId);
    const redis = await connect(request);
    const refuse = (error: unknown) => {
      throw sourceError(error);
    };
    let page: Item[] = [];

    const start = async (): Promise<number> => {
      await redis.hsetnx(place, 'series', randomBytes(6).toString('hex'));
      const [waiting, moved] = await Promise.all([redis.llen(list), redis.llen(processing)]);
      return waiting + moved;
    };

    /** The first items of the function's own list, and which ones they are. */
    const front = async (): Promise<Item[]> => {
      const [[series, taken], items] = await Promise.all([
        redis.hmget(place, 'series', 'taken'),
        redis.lrangeBuffer(processing, 0, pageItems - 1),
      ]);
      return items.map((item, index) => {
        const number = Number(taken ?? 0) + index;
        const digest = createHash('sha256').update(item).digest('base64url').slice(0, 16);
        return { number, item, event: { id: `${series}-${number}-${digest}`, payload: payloadOf(item) } };
      });
    };

    const move = async (): Promise<void> => {
      const pipeline = redis.pipeline();
      for (let n = 0; n < pageItems; n++) pipeline.lmove(list, processing, 'LEFT', 'RIGHT');
      for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error;
    };

    return {
      async *read() {
        // What comes meanwhile is for the next time.
        let left = await start().catch(refuse);
        while (left > 0) {
          page = await front().catch(refuse);
          if (page.length === 0) {
            await move().catch(refuse);
            page = await front().catch(refuse);
          }
          if (page.length === 0) return;
          left -= page.length;
          yield page.map(({ event }) => event);
        }
      },
      async taken(events) {
        const items = page.slice(0, events.length);
        const [first] = items;
        if (!first) return;
        await removeFront({ redis, processing, place, tooLarge }, first.number, items).catch(refuse);
      },
      markDone: () => Promise.resolve(new Map()),
      close: () => {
        redis.disconnect();
        return Promise.resolve();
      },
    };
  };
}

/** The lists beside a function's: what was moved, which place it begins with, and what is too large to be delivered. */
export function listsOf(list: string, workloadId: string) {
  const processing = `${list}:svc:${workloadId}`;
  return { processing, place: `${processing}:place`, tooLarge: `${processing}:too-large` };
}

interface Item {
  /** Its place since the function's own list began. */
  number: number;
  item: Buffer;
  event: FoundEvent;
}

/**
 * Removes the first items of the function's own list, unless somebody else has removed some meanwhile. What is too large to
 * be kept as an event goes to a list of its own.
 */
async function removeFront(
  { redis, processing, place, tooLarge }: { redis: Redis } & ReturnType<typeof listsOf>,
  first: number,
  items: readonly Item[],
): Promise<void> {
  await redis.watch(place);
  if (Number((await redis.hget(place, 'taken')) ?? 0) !== first) {
    await redis.unwatch();
    return;
  }
  const change = redis.multi();
  for (const { item, event } of items) {
    if (Buffer.byteLength(event.payload) > eventBytesMax) change.rpush(tooLarge, item);
  }
  const answers = await change.ltrim(processing, items.length, -1).hincrby(place, 'taken', items.length).exec();
  for (const [error] of answers ?? []) if (error) throw error;
}

async function connect({ credentials, address }: SourceRequest): Promise<Redis> {
  const { host, port, tls, username, password } = credentials;
  return connectRedis({
    ...{ host: address, port, connectTimeout: commandMs, commandTimeout: commandMs },
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls && { tls: tlsName(host) }),
  }).catch((error: unknown) => {
    throw sourceError(error);
  });
}

/** JSON is passed on as it is, other text as a string of JSON, and bytes that are no text as `{"base64": …}`. */
function payloadOf(item: Buffer): string {
  if (!isUtf8(item)) return JSON.stringify({ base64: item.toString('base64') });
  const text = item.toString('utf8');
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify(text);
  }
}

function sourceError(error: unknown): SourceError {
  if (error instanceof SourceError) return error;
  const { message, code, name } = error as Error & { code?: string };
  if (name === 'ReplyError') return new SourceError(`Redis refused the function: ${message}.`);
  return new SourceError(`The service does not answer (${code ?? message}).`, { cause: error });
}
