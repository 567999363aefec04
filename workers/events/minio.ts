import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { listObjects, ObjectStoreError, type Bucket, type ListedObject } from '../../runtime/host/object-store.ts';
import { httpAgent } from '../../runtime/host/service-address.ts';
import { originOf, type FoundEvent } from '../../runtime/records/function-events.ts';
import { forgetObjects, knownObjects, recordObjects, type ObjectChange } from './inventory.ts';
import { readNotices, recordNotices, type Noticed } from './noticed.ts';
import { SourceError, type OpenSource, type SourceRequest } from './source.ts';

/** Changes of a page. */
const pageChanges = 250;

/**
 * Objects that were put into a bucket or removed from it: first what the store told of it (decision 0031), then what its
 * listing says now, compared with what was known when the last change was kept. So nothing is lost while nobody looks or
 * hears, except, then, an object that came and went in between, and all uploads of a key but the last. The first time
 * all objects are new.
 * @param pageKeys how many objects are listed at a time, default 1,000
 */
export function createMinioSource({ pool, pageKeys }: { pool: Pool; pageKeys?: number }): OpenSource {
  return async (request) => {
    const { workloadId } = request;
    const origin = originOf(request.settings);
    const bucket = bucketOf(request);
    const via = httpAgent(request.address);
    const pending = new Map<string, ObjectChange>();
    /** The page that is read, as long as it is not one of the listing. */
    let noticed: Noticed[] | undefined;
    await forgetObjects(pool, workloadId, origin);

    return {
      async *read(signal) {
        pending.clear();
        for await (noticed of readNotices(pool, { workloadId, origin, limit: pageChanges })) {
          const events = noticed.flatMap(({ change }) => (change ? [eventOf(bucket.bucket, change)] : []));
          if (events.length > 0) yield events;
          else await recordNotices(pool, { workloadId, origin }, noticed);
        }
        noticed = undefined;
        let page: FoundEvent[] = [];
        const listed = objectsIn({ ...bucket, via }, { signal, ...(pageKeys !== undefined && { pageKeys }) });
        for await (const change of changes(listed, knownObjects(pool, workloadId, origin))) {
          const event = eventOf(bucket.bucket, change);
          pending.set(event.id, change);
          page.push(event);
          if (page.length < pageChanges) continue;
          yield page;
          page = [];
        }
        if (page.length > 0) yield page;
      },
      async taken(events) {
        if (noticed) {
          await recordNotices(pool, { workloadId, origin }, upToEvents(noticed, events.length));
          return;
        }
        const found = events.flatMap(({ id }) => pending.get(id) ?? []);
        await recordObjects(pool, workloadId, origin, found);
        for (const { id } of events) pending.delete(id);
      },
      markDone: () => Promise.resolve(new Map()),
      close: () => via.destroy(),
    };
  };
}

/** The first notices, as many as make so many events, with those that make none before the next one. */
function upToEvents(noticed: readonly Noticed[], count: number): Noticed[] {
  let left = count;
  const next = noticed.findIndex(({ change }) => change !== undefined && left-- === 0);
  return noticed.slice(0, next < 0 ? noticed.length : next);
}

function bucketOf({ settings, credentials }: SourceRequest): Bucket {
  const { host, port, tls, accessKey, secretKey, region } = credentials;
  const bucket = settings.bucket ?? credentials.bucket;
  if (bucket === undefined) throw new SourceError('The function names no bucket, and neither does the service.');
  if (accessKey === undefined || secretKey === undefined) throw new SourceError('The service has no keys.');
  return { host, port, tls, accessKey, secretKey, bucket, ...(region !== undefined && { region }) };
}

async function* objectsIn(bucket: Bucket, options: Parameters<typeof listObjects>[1]): AsyncGenerator<ListedObject> {
  try {
    for await (const page of listObjects(bucket, options)) yield* page;
  } catch (error) {
    throw sourceError(error);
  }
}

/** Compares two sequences that are in the order of their keys' bytes. */
async function* changes(
  listed: AsyncGenerator<ListedObject>,
  known: AsyncGenerator<ListedObject>,
): AsyncGenerator<ObjectChange> {
  try {
    let [now, before] = await Promise.all([listed.next(), known.next()]);
    while (!now.done || !before.done) {
      const order = now.done
        ? 1
        : before.done
          ? -1
          : Buffer.compare(Buffer.from(now.value.key), Buffer.from(before.value.key));
      if (!now.done && order < 0) yield { event: 'created', object: now.value };
      if (!before.done && order > 0) yield { event: 'removed', object: before.value };
      if (!now.done && !before.done && order === 0 && versionOf(now.value) !== versionOf(before.value)) {
        yield { event: 'created', object: now.value };
      }
      if (order <= 0) now = await listed.next();
      if (order >= 0) before = await known.next();
    }
  } finally {
    await Promise.allSettled([listed.return(undefined), known.return(undefined)]);
  }
}

function versionOf({ etag, modified }: ListedObject): string {
  return `${etag} ${modified}`;
}

function eventOf(bucket: string, { event, object }: ObjectChange): FoundEvent {
  const { key, etag, modified, size } = object;
  const digest = createHash('sha256')
    .update(`${key}\0${versionOf(object)}`)
    .digest('base64url');
  const shown = event === 'created' ? { event, bucket, key, size, etag, modified } : { event, bucket, key };
  return { id: `${event}-${digest}`, payload: JSON.stringify(shown) };
}

function sourceError(error: unknown): SourceError {
  if (error instanceof SourceError) return error;
  if (error instanceof ObjectStoreError) {
    return new SourceError(`The object store refused the function: ${error.message} (${error.code}).`);
  }
  const { message, code, name } = error as Error & { code?: string };
  if (name === 'AbortError') return new SourceError('Reading the source took too long.');
  return new SourceError(`The service does not answer (${code ?? message}).`, { cause: error });
}
