import { z } from 'zod';
import { isImage, notAnImage } from '../repository.ts';
import type { SecretUrlSender } from './sender.ts';

const pushed = z.object({
  push_data: z.object({ tag: z.string().max(200), media_type: z.string().max(200).nullish().catch(undefined) }),
  repository: z.object({ repo_name: z.string().max(500) }),
});

/** Docker Hub does not sign requests: https://docs.docker.com/docker-hub/repos/manage/webhooks/ */
export const dockerHub: SecretUrlSender = {
  name: 'docker-hub',
  read(body) {
    const parsed = pushed.safeParse(body);
    if (!parsed.success) return undefined;
    const { push_data: push, repository } = parsed.data;
    if (!isImage(push.media_type)) return { kind: 'nothing', reason: notAnImage };
    return { kind: 'images', images: [{ repository: `docker.io/${repository.repo_name}`, tag: push.tag }] };
  },
};
