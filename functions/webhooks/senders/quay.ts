import { z } from 'zod';
import type { SecretUrlSender } from './sender.ts';

const pushed = z.object({
  docker_url: z.string().max(500),
  // Older versions map each tag to its image.
  updated_tags: z.union([z.array(z.string().max(200)).max(1_000), z.record(z.string().max(200), z.unknown())]),
});
const otherEvent = z.object({ docker_url: z.string(), homepage: z.string() });

/** Quay does not sign requests: https://docs.redhat.com/en/documentation/red_hat_quay (repository notifications) */
export const quay: SecretUrlSender = {
  name: 'quay',
  read(body) {
    const parsed = pushed.safeParse(body);
    if (!parsed.success) {
      return otherEvent.safeParse(body).success
        ? { kind: 'nothing', reason: 'Only a repository push of Quay deploys.' }
        : undefined;
    }
    const { docker_url: repository, updated_tags: tags } = parsed.data;
    const names = Array.isArray(tags) ? tags : Object.keys(tags);
    return { kind: 'images', images: names.map((tag) => ({ repository, tag })) };
  },
};
