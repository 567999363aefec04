import { z } from 'zod';

/**
 * The events that MinIO sends about objects in its buckets, to webhooks and to listeners alike.
 * https://min.io/docs/minio/linux/administration/monitoring/bucket-notifications.html
 */
export const storeEvents = z.object({
  Records: z.array(
    z.object({
      eventName: z.string(),
      s3: z.object({
        bucket: z.object({ name: z.string() }),
        object: z.object({
          /** URL-encoded, as in a form. */
          key: z.string(),
          sequencer: z.string(),
          versionId: z.string().optional(),
          eTag: z.string().optional(),
          size: z.int().nonnegative().optional(),
        }),
      }),
    }),
  ),
});

/** A notice of a store about one object. */
export interface ObjectNotice {
  event: 'created' | 'removed';
  bucket: string;
  key: string;
  /** Empty for a removed object. */
  etag: string;
  /** When the object was last changed, as in a listing, or removed; RFC 3339. */
  modified: string;
  /** Bytes. */
  size: number;
}

/** The events that create or remove an object and have enough details to identify it in a listing. */
export const objectEvents = [
  's3:ObjectCreated:Put',
  's3:ObjectCreated:Post',
  's3:ObjectCreated:Copy',
  's3:ObjectCreated:CompleteMultipartUpload',
  's3:ObjectRemoved:Delete',
  's3:ObjectRemoved:DeleteMarkerCreated',
] as const;

/** The notices in a store's records. Ambiguous records, such as the removal of one version, are left to the next listing. Pure. */
export function noticesOf({ Records: records }: z.output<typeof storeEvents>): ObjectNotice[] {
  return records.flatMap(({ eventName, s3: { bucket, object } }): ObjectNotice[] => {
    const { versionId = '', eTag: etag = '', size = 0 } = object;
    const [key, modified] = [unescaped(object.key), timeOf(object.sequencer)];
    if (!objectEvents.some((name) => name === eventName) || key === undefined || modified === undefined) return [];
    const common = { bucket: bucket.name, key, modified };
    if (eventName.startsWith('s3:ObjectCreated:'))
      return etag === '' ? [] : [{ event: 'created', ...common, etag, size }];
    const oneVersion = versionId !== '' && eventName === 's3:ObjectRemoved:Delete';
    return oneVersion ? [] : [{ event: 'removed', ...common, etag: '', size: 0 }];
  });
}

function unescaped(key: string): string | undefined {
  try {
    const text = decodeURIComponent(key.replaceAll('+', '%20'));
    // PostgreSQL does not accept zero characters.
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

/** A sequencer is a time in ns, in hexadecimal digits: of the object's last change, or of the event if there is no object. */
function timeOf(sequencer: string): string | undefined {
  if (!/^[0-9a-f]{1,16}$/i.test(sequencer)) return undefined;
  const at = new Date(Number(BigInt(`0x${sequencer}`) / 1_000_000n));
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}
