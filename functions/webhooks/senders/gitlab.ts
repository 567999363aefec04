import { equalInConstantTime } from '../../../runtime/domain/constant-time.ts';
import { header, isStandardSignature } from '../signatures.ts';
import { readGitPush } from './git-push.ts';
import { ignoredEvent, type Sender } from './sender.ts';

/**
 * GitLab: the secret token in a header, or a Standard Webhooks signature, which takes precedence.
 * https://docs.gitlab.com/user/project/integrations/webhooks/
 */
export const gitlab: Sender = {
  name: 'gitlab',
  sends: (headers) => header(headers, 'x-gitlab-event') !== undefined,
  proves(token, { headers, rawBody, now }) {
    if (header(headers, 'webhook-signature') !== undefined) return isStandardSignature(headers, token, rawBody, now);
    const sent = header(headers, 'x-gitlab-token');
    return sent !== undefined && equalInConstantTime(sent, token);
  },
  covers: (headers) => (header(headers, 'webhook-signature') === undefined ? 'request' : 'webhook-id'),
  event: (headers) => header(headers, 'x-gitlab-event'),
  // The first two stay the same when GitLab retries; older versions send only the last one.
  deliveryId: (headers) =>
    header(headers, 'idempotency-key') ?? header(headers, 'webhook-id') ?? header(headers, 'x-gitlab-event-uuid'),
  read: (event, body) => (event === 'Push Hook' || event === 'Tag Push Hook' ? readGitPush(body) : ignoredEvent(event)),
};
