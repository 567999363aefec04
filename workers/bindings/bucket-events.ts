import { askStore, ObjectStoreError, type Bucket } from '../../runtime/host/object-store.ts';
import { toldEvents } from '../../runtime/contracts/store-events.ts';

/** The webhook that the server was started with, see `infra/images/minio/start.sh`. */
const target = 'arn:minio:sqs::SVC:webhook';

/**
 * Has a MinIO server tell the platform what comes and goes in a bucket, or no longer. What others set up stays. Repeating it
 * is free. https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketNotificationConfiguration.html
 * @returns false where the server was not started with the platform's webhook, and for a bucket that is gone
 * @throws ObjectStoreError, and what the connection throws
 */
export async function tellOfBucket(bucket: Bucket, told: boolean): Promise<boolean> {
  const query = { notification: '' };
  try {
    const before = await askStore(bucket, { query });
    const all = [...before.matchAll(/<(Queue|Topic|CloudFunction)Configuration>.*?<\/\1Configuration>/gs)];
    const [ours, others] = [true, false].map((is) =>
      all.map(([xml]) => xml).filter((xml) => xml.includes(`<Queue>${target}</Queue>`) === is),
    );
    if (told === ours?.some((xml) => toldEvents.every((event) => xml.includes(`<Event>${event}</Event>`)))) return told;
    await askStore(bucket, {
      method: 'PUT',
      query,
      body: configuration([...(others ?? []), ...(told ? [queue] : [])]),
    });
    return told;
  } catch (error) {
    if (!(error instanceof ObjectStoreError)) throw error;
    const away = error.code === 'NoSuchBucket' || (told && /ARN/.test(error.message));
    if (!away) throw error;
    return false;
  }
}

const queue = `<QueueConfiguration><Id>svc</Id><Queue>${target}</Queue>${toldEvents
  .map((event) => `<Event>${event}</Event>`)
  .join('')}</QueueConfiguration>`;

function configuration(parts: readonly string[]): string {
  const xmlns = 'http://s3.amazonaws.com/doc/2006-03-01/';
  return `<NotificationConfiguration xmlns="${xmlns}">${parts.join('')}</NotificationConfiguration>`;
}
