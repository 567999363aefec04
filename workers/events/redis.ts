import { createHash, randomBytes } from 'node:crypto';
import { isUtf8 } from 'node:buffer';
import type { Redis } from 'ioredis';
import { AnswerTooLargeError, limitAnswers, type AnswerLimit } from '../../runtime/services/answer-limit.ts';
import { closeRedis, connectRedis } from '../../runtime/services/redis-connection.ts';
import { tlsName } from '../../runtime/services/tls-name.ts';
import { eventBytesMax, type SourceEvent } from '../../runtime/domain/events.ts';
import { createBatchSize, pageBytes } from './pages.ts';
import { connectionFailure, SourceError, type OpenSource, type SourceRequest } from './source.ts';

/** Time-out of a command and of connecting. */
const commandMs = 10_000;
/** Maximum items in a page. */
const pageItems = 100;
/** Maximum items of one command; each may have more than a megabyte, and its size is unknown before it is read. */
const batchMax = 16;

/**
 * The items of a list, from its left end, so that items added with RPUSH are read in order. Each is first moved to the
 * function's own list (LMOVE), which it leaves once it is stored durably; so a crash loses none. Items that are not stored
 * are moved back, because only this function reads its list. Two equal items are two events: an event's id consists of
 * the item's number, counted since the function's list began, and a digest of the item, because a server that lost its
 * last second of writes assigns the same numbers again.
 */
export function createRedisSource(): OpenSource {
  return async (request) => {
    const { workloadId, settings } = request;
    const list = settings.list ?? '';
    const { processing, place, tooLarge } = listsOf(list, workloadId);
    let { redis, limit } = await connect(request);
    /** After an answer that was too large. */
    const reconnect = async () => {
      closeRedis(redis);
      ({ redis, limit } = await connect(request));
    };
    const rethrow = (error: unknown) => {
      throw toSourceError(limit.error ?? error);
    };
    let page: Item[] = [];
    const batch = createBatchSize(batchMax);

    /**
     * Gathers the items of one page in order: one batch at first and after large items, later several batches. So items
     * that exhausted this process's memory are read with fewer others the next time.
     */
    const gatherPage = async (nextItems: (at: number, count: number) => Promise<Buffer[]>): Promise<Buffer[]> => {
      const items: Buffer[] = [];
      let bytes = 0;
      const count = batch.count();
      const max = count < batchMax ? count : pageItems;
      while (items.length < max && bytes < pageBytes) {
        const next = await nextItems(items.length, Math.min(count, max - items.length));
        if (next.length === 0) break;
        items.push(...next);
        bytes += next.reduce((sum, { length }) => sum + length, 0);
      }
      return items;
    };

    /** @returns the number of items to read */
    const start = async (): Promise<number> => {
      await redis.hsetnx(place, 'series', randomBytes(6).toString('hex'));
      const [waiting, moved] = await Promise.all([redis.llen(list), redis.llen(processing)]);
      return waiting + moved;
    };

    const readItems = (at: number, count: number) => redis.lrangeBuffer(processing, at, at + count - 1);

    /** The first item alone; undefined where it is too large to be read at all. */
    const readFirst = async (): Promise<(Buffer | undefined)[]> => {
      try {
        return await readItems(0, 1);
      } catch (error) {
        if (!limit.error) throw error;
        await reconnect();
        return [undefined];
      }
    };

    /** The first items of the function's own list; the first alone where several together are too large to be read. */
    const readSome = async (): Promise<(Buffer | undefined)[]> => {
      try {
        return await gatherPage(readItems);
      } catch (error) {
        if (!limit.error) throw error;
        await reconnect();
        return readFirst();
      }
    };

    /** Reads the first items of the function's own list. */
    const readFront = async (): Promise<Item[]> => {
      for (;;) {
        const [series, taken] = await redis.hmget(place, 'series', 'taken');
        const items = await readSome();
        // Another worker removed items meanwhile.
        if ((await redis.hget(place, 'taken')) !== taken) continue;
        return items.map((item, index) => {
          const number = Number(taken ?? 0) + index;
          const id = `${series}-${number}-${item ? digestOf(item) : 'unread'}`;
          return { number, item, event: { id, payload: item && payloadOf(item) } };
        });
      }
    };

    const moveItems = async (): Promise<void> => {
      try {
        await moveSome();
      } catch (error) {
        // What was moved is read from the function's own list.
        if (!limit.error) throw error;
        await reconnect();
      }
    };

    const moveSome = async (): Promise<void> => {
      await gatherPage(async (_, count) => {
        const pipeline = redis.pipeline();
        for (let n = 0; n < count; n++) pipeline.lmoveBuffer(list, processing, 'LEFT', 'RIGHT');
        return ((await pipeline.exec()) ?? []).flatMap(([error, item]) => {
          if (error) throw error;
          return item === null ? [] : [item as Buffer];
        });
      });
    };

    const moveBack = async (): Promise<void> => {
      const [first] = page;
      if (!first || !(await isFront(redis, place, first.number))) return;
      const change = redis.multi();
      for (let n = 0; n < page.length; n++) change.lmove(processing, list, 'RIGHT', 'LEFT');
      await change.exec();
    };

    return {
      async *read() {
        // Items that are added during the reading are left for the next one.
        let remaining = await start().catch(rethrow);
        try {
          while (remaining > 0) {
            page = await readFront().catch(rethrow);
            if (page.length === 0) {
              await moveItems().catch(rethrow);
              page = await readFront().catch(rethrow);
            }
            if (page.length === 0) return;
            batch.record(page.reduce((sum, { item }) => sum + (item?.length ?? pageBytes), 0));
            remaining -= page.length;
            yield page.map(({ event }) => event);
          }
        } finally {
          // Items that cannot be moved back are the first of the next reading.
          await moveBack().catch(() => undefined);
        }
      },
      async confirm(events) {
        const items = page.slice(0, events.length);
        const [first] = items;
        if (!first) return;
        const lists = { redis, processing, place, tooLarge };
        if (first.item) await removeFront(lists, first.number, items).catch(rethrow);
        else await setAside(lists, first.number).catch(rethrow);
        page = page.slice(items.length);
      },
      markDone: () => Promise.resolve(new Map()),
      consumed: true,
      close: () => {
        closeRedis(redis);
        return Promise.resolve();
      },
    };
  };
}

/** The keys of a function: the list of moved items, the hash with its first number, and the list of items that are too large. */
export function listsOf(list: string, workloadId: string) {
  const processing = `${list}:svc:${workloadId}`;
  return { processing, place: `${processing}:place`, tooLarge: `${processing}:too-large` };
}

interface Item {
  /** Counted since the function's own list began. */
  number: number;
  /** Undefined for one that is too large to be read, which is alone on its page. */
  item: Buffer | undefined;
  event: SourceEvent;
}

type Lists = { redis: Redis } & ReturnType<typeof listsOf>;

/**
 * Removes the first items of the function's own list, unless another worker removed some meanwhile. Items that are too
 * large for an event move to a list of their own.
 */
async function removeFront(
  { redis, processing, place, tooLarge }: Lists,
  first: number,
  items: readonly Item[],
): Promise<void> {
  if (!(await isFront(redis, place, first))) return;
  const change = redis.multi();
  for (const { item, event } of items) {
    if (item && event.payload === undefined) change.rpush(tooLarge, item);
  }
  const answers = await change.ltrim(processing, items.length, -1).hincrby(place, 'taken', items.length).exec();
  for (const [error] of answers ?? []) if (error) throw error;
}

/**
 * Moves the first item of the function's own list to the list of items that are too large, without reading it: the server
 * leaves out the replies, of which one would contain it.
 */
async function setAside({ redis, processing, place, tooLarge }: Lists, number: number): Promise<void> {
  if (!(await isFront(redis, place, number))) return;
  const commands = [
    ['CLIENT', 'REPLY', 'OFF'],
    ['MULTI'],
    ['LMOVE', processing, tooLarge, 'LEFT', 'RIGHT'],
    ['HINCRBY', place, 'taken', '1'],
    ['EXEC'],
  ];
  redis.stream.write(commands.map(encode).join(''));
  await redis.call('CLIENT', 'REPLY', 'ON');
}

/** A command as the server reads it. https://redis.io/docs/latest/develop/reference/protocol-spec/ */
function encode(words: readonly string[]): string {
  const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
  return `*${words.length}\r\n${parts.join('')}`;
}

/** Whether an item is still the first of the function's own list; if so, the next MULTI fails once that has changed. */
async function isFront(redis: Redis, place: string, number: number): Promise<boolean> {
  await redis.watch(place);
  if (Number((await redis.hget(place, 'taken')) ?? 0) === number) return true;
  await redis.unwatch();
  return false;
}

async function connect({ credentials, address }: SourceRequest): Promise<{ redis: Redis; limit: AnswerLimit }> {
  const { host, port, tls, username, password } = credentials;
  const limit = limitAnswers();
  const settings = {
    host: address,
    port,
    connectTimeout: commandMs,
    commandTimeout: commandMs,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls && { tls: tlsName(host) }),
  };
  try {
    return { redis: await connectRedis(settings, limit), limit };
  } catch (error) {
    throw toSourceError(limit.error ?? error);
  }
}

function digestOf(item: Buffer): string {
  return createHash('sha256').update(item).digest('base64url').slice(0, 16);
}

/** The item as JSON; undefined when it is too large for an event. */
function payloadOf(item: Buffer): string | undefined {
  // Spares the conversion of an item that is too large before it.
  if (item.length > eventBytesMax) return undefined;
  const payload = toJson(item);
  return Buffer.byteLength(payload) > eventBytesMax ? undefined : payload;
}

/** Keeps JSON unchanged, makes other text a JSON string, and bytes that are not UTF-8 `{"base64": …}`. */
function toJson(item: Buffer): string {
  if (!isUtf8(item)) return JSON.stringify({ base64: item.toString('base64') });
  const text = item.toString('utf8');
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify(text);
  }
}

function toSourceError(error: unknown): SourceError {
  if (error instanceof SourceError) return error;
  if (error instanceof AnswerTooLargeError) return new SourceError(`Reading stopped: ${error.message}.`);
  const { message, name } = error as Error;
  if (name === 'ReplyError') return new SourceError(`Redis refused the request: ${message}.`);
  return connectionFailure(error);
}
