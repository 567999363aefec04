import { z } from 'zod';
import { parseShape } from '../../../runtime/host/http-body.ts';
import { isNoCommit, nameOf, refOf, text, type Notice } from '../notice.ts';

const author = z.object({ name: text, username: text }).optional().catch(undefined);
const commit = z.object({ id: z.string().max(100), message: text, author });

/** The push of GitHub, Gitea, Forgejo and GitLab, as far as they agree. */
const push = z.object({
  ref: z.string(),
  after: z.string().max(100).nullish(),
  deleted: z.boolean().optional().catch(undefined),
  head_commit: commit.nullish().catch(undefined),
  commits: z.array(commit).optional().catch(undefined),
});

/** @throws Problem `invalid_request` */
export function readGitPush(body: unknown): Notice {
  const { ref, after, deleted = false, head_commit: named, commits } = parseShape(push, body, 'body');
  if (deleted || isNoCommit(after)) return { kind: 'push', refs: [{ ...refOf(ref), deleted: true }] };
  const head = named ?? commits?.find(({ id }) => id === after);
  return {
    kind: 'push',
    refs: [
      {
        ...refOf(ref),
        // Of an annotated tag `after` is the tag's own hash; those are not deployed.
        commit: after ?? undefined,
        commitMessage: head?.message,
        commitAuthor: nameOf(head?.author?.name ?? head?.author?.username),
      },
    ],
  };
}
