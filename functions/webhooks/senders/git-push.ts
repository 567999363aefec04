import { z } from 'zod';
import { parseShape } from '../../../runtime/http/body.ts';
import { isNoCommit, nameOf, refOf, text, type WebhookEvent } from '../event.ts';

const author = z.object({ name: text, username: text }).optional().catch(undefined);
const commit = z.object({ id: z.string().max(100), message: text, author });

/** The fields of a push that GitHub, Gitea, Forgejo and GitLab share. */
const push = z.object({
  ref: z.string(),
  after: z.string().max(100).nullish(),
  deleted: z.boolean().optional().catch(undefined),
  head_commit: commit.nullish().catch(undefined),
  commits: z.array(commit).optional().catch(undefined),
});

/** @throws Problem `invalid_request` */
export function readGitPush(body: unknown): WebhookEvent {
  const { ref, after, deleted = false, head_commit: headCommit, commits } = parseShape(push, body, 'body');
  if (deleted || isNoCommit(after)) return { kind: 'push', refs: [{ ...refOf(ref), deleted: true }] };
  const head = headCommit ?? commits?.find(({ id }) => id === after);
  return {
    kind: 'push',
    refs: [
      {
        ...refOf(ref),
        // For an annotated tag, `after` is the hash of the tag object; tags are not deployed.
        commit: after ?? undefined,
        commitMessage: head?.message,
        commitAuthor: nameOf(head?.author?.name ?? head?.author?.username),
      },
    ],
  };
}
