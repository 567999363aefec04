import { z } from 'zod';
import type { SecretUrlSender } from './sender.ts';

const pushed = z.object({
  docker_url: z.string().max(500),
  // Older ones map each tag to what it names.
  updated_tags: z.union([z.array(z.string().max(200)).max(1_000), z.record(z.string().max(200), z.unknown())]),
});
const another = z.object({ docker_url: z.string(), homepage: z.string() });

/** Quay signs nothing: https://docs.redhat.com/en/documentation/red_hat_quay (repository notifications) */
export const quay: SecretUrlSender = {
  name: 'quay',
  read(body) {
    const parsed = pushed.safeParse(body);
    if (!parsed.success) {
      return another.safeParse(body).success
        ? { kind: 'nothing', reason: 'Of what Quay tells, only a repository push deploys.' }
        : undefined;
    }
    const { docker_url: repository, updated_tags: tags } = parsed.data;
    const names = Array.isArray(tags) ? tags : Object.keys(tags);
    return { kind: 'images', images: names.map((tag) => ({ repository, tag })) };
  },
};
