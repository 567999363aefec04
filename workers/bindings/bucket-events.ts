import { ObjectStoreError, type ObjectStore } from '../../runtime/services/object-store.ts';
import { objectEvents } from '../../runtime/contracts/store-events.ts';
import { textsOf } from '../../runtime/services/xml.ts';

/** The webhook that a managed MinIO server is started with, see `infra/images/minio/start.sh`. */
const webhookArn = 'arn:minio:sqs::SVC:webhook';

/**
 * Enables or disables the platform's notifications of a bucket on a MinIO server. Notifications that others configured
 * are kept as they are, which is why their XML is copied: minio 8 parses a prefix such as `007` as the number 7.
 * Idempotent. https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketNotificationConfiguration.html
 * @returns whether they are enabled now; false where the server does not know the webhook, and for a missing bucket
 * @throws ObjectStoreError when the store refuses, otherwise a connection error
 */
export async function setBucketEvents(store: ObjectStore, bucket: string, enabled: boolean): Promise<boolean> {
  const resource = { path: [bucket], query: { notification: '' } } as const;
  try {
    const current = await store.send(resource);
    const entries = ['QueueConfiguration', 'TopicConfiguration', 'CloudFunctionConfiguration'].flatMap((name) =>
      textsOf(current, name).map((xml) => `<${name}>${xml}</${name}>`),
    );
    const isOurs = (xml: string) => xml.includes(`<Queue>${webhookArn}</Queue>`);
    const platformEntries = entries.filter(isOurs);
    const foreign = entries.filter((xml) => !isOurs(xml));
    const complete = platformEntries.some((xml) =>
      objectEvents.every((event) => xml.includes(`<Event>${event}</Event>`)),
    );
    if (enabled ? complete : platformEntries.length === 0) return enabled;
    const body = notificationConfiguration([...foreign, ...(enabled ? [ourQueue] : [])]);
    await store.send({ ...resource, method: 'PUT', body });
    return enabled;
  } catch (error) {
    if (!(error instanceof ObjectStoreError)) throw error;
    const unavailable = error.code === 'NoSuchBucket' || (enabled && /ARN/.test(error.message));
    if (!unavailable) throw error;
    return false;
  }
}

const ourQueue = `<QueueConfiguration><Id>svc</Id><Queue>${webhookArn}</Queue>${objectEvents
  .map((event) => `<Event>${event}</Event>`)
  .join('')}</QueueConfiguration>`;

function notificationConfiguration(entries: readonly string[]): string {
  const xmlns = 'http://s3.amazonaws.com/doc/2006-03-01/';
  return `<NotificationConfiguration xmlns="${xmlns}">${entries.join('')}</NotificationConfiguration>`;
}
