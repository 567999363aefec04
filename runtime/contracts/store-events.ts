import { z } from 'zod';

/**
 * What MinIO tells of the objects in its buckets, to a webhook as to who listens.
 * https://min.io/docs/minio/linux/administration/monitoring/bucket-notifications.html
 */
export const storeEvents = z.object({
  Records: z.array(
    z.object({
      eventName: z.string(),
      s3: z.object({
        bucket: z.object({ name: z.string() }),
        object: z.object({
          /** Written as in a form. */
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

/** What a store told of one object. */
export interface ObjectNotice {
  event: 'created' | 'removed';
  bucket: string;
  key: string;
  /** Empty for one that was removed. */
  etag: string;
  /** Of the object, as in a listing, or when it was removed; RFC 3339. */
  modified: string;
  /** Bytes. */
  size: number;
}

/** Those by which an object comes or goes, and that say enough of it to know it again in a listing. */
export const toldEvents = [
  ...['s3:ObjectCreated:Put', 's3:ObjectCreated:Post', 's3:ObjectCreated:Copy'],
  ...['s3:ObjectCreated:CompleteMultipartUpload', 's3:ObjectRemoved:Delete', 's3:ObjectRemoved:DeleteMarkerCreated'],
] as const;

/** What records of a store say that a listing would; what they leave open, such as which version is left, the next listing tells. Pure. */
export function noticesOf({ Records: records }: z.output<typeof storeEvents>): ObjectNotice[] {
  return records.flatMap(({ eventName, s3: { bucket, object } }): ObjectNotice[] => {
    const { versionId = '', eTag: etag = '', size = 0 } = object;
    const [key, modified] = [unescaped(object.key), timeOf(object.sequencer)];
    if (!toldEvents.some((name) => name === eventName) || key === undefined || modified === undefined) return [];
    const told = { bucket: bucket.name, key, modified };
    if (eventName.startsWith('s3:ObjectCreated:'))
      return etag === '' ? [] : [{ event: 'created', ...told, etag, size }];
    const oneVersion = versionId !== '' && eventName === 's3:ObjectRemoved:Delete';
    return oneVersion ? [] : [{ event: 'removed', ...told, etag: '', size: 0 }];
  });
}

function unescaped(key: string): string | undefined {
  try {
    return decodeURIComponent(key.replaceAll('+', '%20'));
  } catch {
    return undefined;
  }
}

/** A sequencer is a time in ns, in hexadecimal digits: of the object's last change, or of the event where there is no object. */
function timeOf(sequencer: string): string | undefined {
  if (!/^[0-9a-f]{1,16}$/i.test(sequencer)) return undefined;
  const at = new Date(Number(BigInt(`0x${sequencer}`) / 1_000_000n));
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}
