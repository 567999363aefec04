import { createHash, randomBytes } from 'node:crypto';
import { isUtf8 } from 'node:buffer';
import type { Redis } from 'ioredis';
import { connectRedis } from '../../runtime/host/redis-connection.ts';
import { tlsName } from '../../runtime/host/service-address.ts';
import { eventBytesMax, type FoundEvent } from '../../runtime/records/function-events.ts';
import { createPace, pageBytes } from './pages.ts';
import { SourceError, type OpenSource, type SourceRequest } from './source.ts';

/** What takes longer is given up. */
const commandMs = 10_000;
/** Items of a page. */
const pageItems = 100;
/** Items that are moved or read at once, at most: each may have a megabyte and more, which is known once it is here. */
const togetherMax = 16;

/**
 * Items of a list, from its left end: what is put in with RPUSH comes out in its order. Each is moved to a list of the
 * function's own first (LMOVE), and leaves that one when it is kept durably, so that it lies in one of the two however this
 * ends; what is not kept after all goes back, since nobody else looks for it there. Two equal items are two events: an
 * event's id is its item's place, counted since the function's list began, with a digest of the item, since a server that
 * lost its last second counts over again.
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
    const pace = createPace(togetherMax);

    /**
     * Items of one page, in their order: few in the first ones and after large ones, then several times some. So what was
     * too much for this process has less beside it when it is met again.
     */
    const somePage = async (some: (at: number, count: number) => Promise<Buffer[]>): Promise<Buffer[]> => {
      const items: Buffer[] = [];
      let bytes = 0;
      const count = pace.count();
      const most = count < togetherMax ? count : pageItems;
      while (items.length < most && bytes < pageBytes) {
        const found = await some(items.length, Math.min(count, most - items.length));
        if (found.length === 0) break;
        items.push(...found);
        bytes += found.reduce((sum, { length }) => sum + length, 0);
      }
      return items;
    };

    const start = async (): Promise<number> => {
      await redis.hsetnx(place, 'series', randomBytes(6).toString('hex'));
      const [waiting, moved] = await Promise.all([redis.llen(list), redis.llen(processing)]);
      return waiting + moved;
    };

    /** The first items of the function's own list, and which ones they are. */
    const front = async (): Promise<Item[]> => {
      for (;;) {
        const [series, taken] = await redis.hmget(place, 'series', 'taken');
        const items = await somePage((at, count) => redis.lrangeBuffer(processing, at, at + count - 1));
        // Somebody else has removed some meanwhile.
        if ((await redis.hget(place, 'taken')) !== taken) continue;
        return items.map((item, index) => {
          const number = Number(taken ?? 0) + index;
          const digest = createHash('sha256').update(item).digest('base64url').slice(0, 16);
          return { number, item, event: { id: `${series}-${number}-${digest}`, payload: payloadOf(item) } };
        });
      }
    };

    const move = async (): Promise<void> => {
      await somePage(async (_, count) => {
        const pipeline = redis.pipeline();
        for (let n = 0; n < count; n++) pipeline.lmoveBuffer(list, processing, 'LEFT', 'RIGHT');
        return ((await pipeline.exec()) ?? []).flatMap(([error, item]) => {
          if (error) throw error;
          return item === null ? [] : [item as Buffer];
        });
      });
    };

    const giveBack = async (): Promise<void> => {
      const [first] = page;
      if (!first || !(await isFront(redis, place, first.number))) return;
      const change = redis.multi();
      for (let n = 0; n < page.length; n++) change.lmove(processing, list, 'RIGHT', 'LEFT');
      await change.exec();
    };

    return {
      async *read() {
        // What comes meanwhile is for the next time.
        let left = await start().catch(refuse);
        try {
          while (left > 0) {
            page = await front().catch(refuse);
            if (page.length === 0) {
              await move().catch(refuse);
              page = await front().catch(refuse);
            }
            if (page.length === 0) return;
            pace.came(page.reduce((sum, { item }) => sum + item.length, 0));
            left -= page.length;
            yield page.map(({ event }) => event);
          }
        } finally {
          // What cannot go back is the first that is read the next time.
          await giveBack().catch(() => undefined);
        }
      },
      async taken(events) {
        const items = page.slice(0, events.length);
        const [first] = items;
        if (!first) return;
        await removeFront({ redis, processing, place, tooLarge }, first.number, items).catch(refuse);
        page = page.slice(items.length);
      },
      markDone: () => Promise.resolve(new Map()),
      consumed: true,
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
  if (!(await isFront(redis, place, first))) return;
  const change = redis.multi();
  for (const { item, event } of items) {
    if (event.payload === undefined) change.rpush(tooLarge, item);
  }
  const answers = await change.ltrim(processing, items.length, -1).hincrby(place, 'taken', items.length).exec();
  for (const [error] of answers ?? []) if (error) throw error;
}

/** Whether an item is still the first of the function's own list; a change is refused then if that changes before it. */
async function isFront(redis: Redis, place: string, number: number): Promise<boolean> {
  await redis.watch(place);
  if (Number((await redis.hget(place, 'taken')) ?? 0) === number) return true;
  await redis.unwatch();
  return false;
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

/** The item as the function gets it; undefined when that is too large. */
function payloadOf(item: Buffer): string | undefined {
  // As JSON it is no smaller.
  if (item.length > eventBytesMax) return undefined;
  const payload = jsonOf(item);
  return Buffer.byteLength(payload) > eventBytesMax ? undefined : payload;
}

/** JSON is passed on as it is, other text as a string of JSON, and bytes that are no text as `{"base64": …}`. */
function jsonOf(item: Buffer): string {
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
