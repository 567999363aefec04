import { z } from 'zod';
import { parseShape } from '../../../runtime/http/body.ts';
import type { WebhookEvent } from '../event.ts';
import { header, isHexHmac } from '../signatures.ts';
import { isImage, notAnImage, splitImage } from '../repository.ts';
import { readGitPush } from './git-push.ts';
import { ignoredEvent, type Sender } from './sender.ts';

const version = z.object({
  /** `ghcr.io/acme/api:v1`; it ends with a colon if the image has no tag. */
  package_url: z.string().max(1_000).nullish(),
  container_metadata: z
    .object({
      tag: z
        .object({ name: z.string().max(200), digest: z.string().max(200) })
        .partial()
        .nullish(),
      manifest: z
        .object({ config: z.object({ media_type: z.string().max(200) }) })
        .optional()
        .catch(undefined),
    })
    .nullish()
    .catch(undefined),
});
const packaged = z.object({
  action: z.string().max(100),
  package: z.object({ package_version: version.nullish() }).optional(),
  registry_package: z.object({ package_version: version.nullish() }).optional(),
});

/** An event of GitHub's container registry: https://docs.github.com/webhooks/webhook-events-and-payloads#package */
function readPackage(body: unknown): WebhookEvent {
  const { action, package: current, registry_package: former } = parseShape(packaged, body, 'body');
  if (action !== 'published' && action !== 'updated') {
    return { kind: 'nothing', reason: `The action "${action}" of a package deploys nothing.` };
  }
  const pushed = (current ?? former)?.package_version;
  const container = pushed?.container_metadata;
  if (!pushed?.package_url || !container || !isImage(container.manifest?.config.media_type)) {
    return { kind: 'nothing', reason: notAnImage };
  }
  const { repository, tag } = splitImage(pushed.package_url.replace(/:$/, ''));
  const tagged = container.tag;
  return { kind: 'images', images: [{ repository, tag: tag ?? tagged?.name ?? '', digest: tagged?.digest }] };
}

/**
 * GitHub and its container registry.
 * https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries
 */
export const github: Sender = {
  name: 'github',
  sends: (headers) => header(headers, 'x-github-event') !== undefined,
  proves: (token, { headers, rawBody }) => isHexHmac(header(headers, 'x-hub-signature-256'), token, rawBody, 'sha256='),
  covers: () => 'event',
  event: (headers) => header(headers, 'x-github-event'),
  deliveryId: (headers) => header(headers, 'x-github-delivery'),
  read(event, body) {
    if (event === 'push') return readGitPush(body);
    return event === 'package' || event === 'registry_package' ? readPackage(body) : ignoredEvent(event);
  },
};
