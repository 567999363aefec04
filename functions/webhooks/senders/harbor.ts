import { z } from 'zod';
import { equalInConstantTime } from '../../../runtime/domain/constant-time.ts';
import { parseShape } from '../../../runtime/http/body.ts';
import type { WebhookEvent } from '../event.ts';
import { splitImage } from '../repository.ts';
import { header } from '../signatures.ts';
import { ignoredEvent, type Sender } from './sender.ts';

const pushed = z.object({
  resources: z
    .array(
      z.object({
        /** Includes the registry's host: `harbor.example.org/shop/api:v1`, or with a digest. */
        resource_url: z.string().max(1_000),
        tag: z.string().max(200).optional().catch(undefined),
        digest: z.string().max(200).optional().catch(undefined),
      }),
    )
    .max(1_000),
});
const defaultEvent = z.object({ type: z.string().max(100) });
const defaultPush = z.object({ event_data: pushed });
/** https://cloudevents.io */
const cloudEvent = z.object({ specversion: z.string(), id: z.string().max(200).optional(), type: z.string().max(100) });
const cloudPush = z.object({ data: pushed });

function images({ resources }: z.output<typeof pushed>): WebhookEvent {
  return {
    kind: 'images',
    images: resources.map(({ resource_url: url, tag, digest }) => {
      const image = splitImage(url);
      return { repository: image.repository, tag: tag ?? image.tag ?? '', digest };
    }),
  };
}

/**
 * Harbor: the token in `Authorization`; the format is Default or CloudEvents.
 * https://goharbor.io/docs/main/working-with-projects/project-configuration/configure-webhooks/
 */
export const harbor: Sender = {
  name: 'harbor',
  // Harbor sends no header of its own.
  sends: (headers) =>
    header(headers, 'authorization') !== undefined &&
    ['x-svc-token', 'x-hub-signature-256', 'webhook-signature'].every((name) => headers[name] === undefined),
  proves: (token, { headers }) => {
    const sent = header(headers, 'authorization');
    return sent !== undefined && equalInConstantTime(sent, token);
  },
  covers: () => 'request',
  event: (_headers, body) => defaultEvent.safeParse(body).data?.type,
  // The default format has no delivery id.
  deliveryId: (_headers, body) => cloudEvent.safeParse(body).data?.id,
  read(event, body) {
    if (event === 'harbor.artifact.pushed') return images(parseShape(cloudPush, body, 'body').data);
    if (event !== 'PUSH_ARTIFACT') return ignoredEvent(event);
    return images(parseShape(defaultPush, body, 'body').event_data);
  },
};
