import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import type { ListedObject } from '../../runtime/services/object-store.ts';
import type { SourceEvent } from '../../runtime/domain/events.ts';
import { originOf } from '../../runtime/records/function-events.ts';
import { listBucket, type BucketTarget, type ListBucket } from './bucket-listing.ts';
import { forgetObjects, knownObjects, recordObjects, type ObjectChange } from './inventory.ts';
import { readNotices, recordNotices, type ComparedNotice } from './bucket-notices.ts';
import { SourceError, type OpenSource, type SourceRequest } from './source.ts';

/** Changes in one page. */
const pageChanges = 250;

/**
 * Objects created in or removed from a bucket: first the notifications of the store (decision 0031), then the differences
 * between its listing and the recorded inventory. Only two things are lost while nothing reads or receives notifications:
 * objects that were created and removed meanwhile, and all uploads of a key but the last. At the first reading all objects
 * are new.
 * @param pageKeys objects in a page of the listing, default 1,000
 * @param list default: lists in this process
 */
export function createMinioSource({
  pool,
  pageKeys,
  list = listBucket,
}: {
  pool: Pool;
  pageKeys?: number;
  list?: ListBucket;
}): OpenSource {
  return async (request) => {
    const { workloadId } = request;
    const origin = originOf(request.settings);
    const target: BucketTarget = { ...targetOf(request), ...(pageKeys !== undefined && { pageKeys }) };
    const { bucket } = target;
    const pending = new Map<string, ObjectChange>();
    /** The current page while notifications are read; undefined during the listing. */
    let notices: ComparedNotice[] | undefined;
    await forgetObjects(pool, workloadId, origin);

    async function* readNotifications(): AsyncGenerator<SourceEvent[]> {
      for await (notices of readNotices(pool, { workloadId, origin, limit: pageChanges })) {
        const events = notices.flatMap(({ change }) => (change ? [toEvent(bucket, change)] : []));
        if (events.length > 0) yield events;
        else await recordNotices(pool, { workloadId, origin }, notices);
      }
      notices = undefined;
    }

    async function* readListing(signal: AbortSignal): AsyncGenerator<SourceEvent[]> {
      let page: SourceEvent[] = [];
      const listing = flatten(list(target, signal));
      for await (const change of compare(listing, knownObjects(pool, workloadId, origin))) {
        const event = toEvent(bucket, change);
        pending.set(event.id, change);
        page.push(event);
        if (page.length < pageChanges) continue;
        yield page;
        page = [];
      }
      if (page.length > 0) yield page;
    }

    return {
      async *read(signal) {
        pending.clear();
        yield* readNotifications();
        yield* readListing(signal);
      },
      async confirm(events) {
        if (notices) {
          await recordNotices(pool, { workloadId, origin }, noticesOfEvents(notices, events.length));
          return;
        }
        const changes = events.flatMap(({ id }) => pending.get(id) ?? []);
        await recordObjects(pool, workloadId, origin, changes);
        for (const { id } of events) pending.delete(id);
      },
      markDone: () => Promise.resolve(new Map()),
      close: () => Promise.resolve(),
    };
  };
}

/** The notices of the first `count` events, and those without an event up to the next one. */
function noticesOfEvents(notices: readonly ComparedNotice[], count: number): ComparedNotice[] {
  let remaining = count;
  const next = notices.findIndex(({ change }) => change !== undefined && remaining-- === 0);
  return notices.slice(0, next < 0 ? notices.length : next);
}

function targetOf({ project, settings, credentials, address }: SourceRequest): BucketTarget {
  const { host, port, tls, accessKey, secretKey, region } = credentials;
  const bucket = settings.bucket ?? credentials.bucket;
  if (bucket === undefined) throw new SourceError('Neither the function nor the service names a bucket.');
  if (accessKey === undefined || secretKey === undefined) throw new SourceError('The service has no access key.');
  return { project, host, port, tls, address, accessKey, secretKey, bucket, ...(region !== undefined && { region }) };
}

async function* flatten(pages: AsyncGenerator<ListedObject[]>): AsyncGenerator<ListedObject> {
  for await (const page of pages) yield* page;
}

/** The differences between two sequences that are sorted by the bytes of their keys. */
async function* compare(
  listing: AsyncGenerator<ListedObject>,
  inventory: AsyncGenerator<ListedObject>,
): AsyncGenerator<ObjectChange> {
  try {
    let [current, previous] = await Promise.all([listing.next(), inventory.next()]);
    while (!current.done || !previous.done) {
      const order = current.done
        ? 1
        : previous.done
          ? -1
          : Buffer.compare(Buffer.from(current.value.key), Buffer.from(previous.value.key));
      if (!current.done && order < 0) yield { event: 'created', object: current.value };
      if (!previous.done && order > 0) yield { event: 'removed', object: previous.value };
      if (!current.done && !previous.done && order === 0 && versionOf(current.value) !== versionOf(previous.value)) {
        yield { event: 'created', object: current.value };
      }
      if (order <= 0) current = await listing.next();
      if (order >= 0) previous = await inventory.next();
    }
  } finally {
    await Promise.allSettled([listing.return(undefined), inventory.return(undefined)]);
  }
}

function versionOf({ etag, modified }: ListedObject): string {
  return `${etag} ${modified}`;
}

function toEvent(bucket: string, { event, object }: ObjectChange): SourceEvent {
  const { key, etag, modified, size } = object;
  const digest = createHash('sha256')
    .update(`${key}\0${versionOf(object)}`)
    .digest('base64url');
  const payload = event === 'created' ? { event, bucket, key, size, etag, modified } : { event, bucket, key };
  return { id: `${event}-${digest}`, payload: JSON.stringify(payload) };
}
