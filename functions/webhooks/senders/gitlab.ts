import { sameText } from '../../../runtime/domain/same-text.ts';
import { header, isStandardSignature } from '../signatures.ts';
import { readGitPush } from './git-push.ts';
import { ignoredEvent, type Sender } from './sender.ts';

/**
 * GitLab: the secret token as it is, or a signature by Standard Webhooks, which decides when it is there.
 * https://docs.gitlab.com/user/project/integrations/webhooks/
 */
export const gitlab: Sender = {
  name: 'gitlab',
  sends: (headers) => header(headers, 'x-gitlab-event') !== undefined,
  proves(token, { headers, rawBody, now }) {
    if (header(headers, 'webhook-signature') !== undefined) return isStandardSignature(headers, token, rawBody, now);
    const given = header(headers, 'x-gitlab-token');
    return given !== undefined && sameText(given, token);
  },
  event: (headers) => header(headers, 'x-gitlab-event'),
  // The first two name one event over all tries; the last one is older GitLabs' only name.
  deliveryId: (headers) =>
    header(headers, 'idempotency-key') ?? header(headers, 'webhook-id') ?? header(headers, 'x-gitlab-event-uuid'),
  read: (event, body) => (event === 'Push Hook' || event === 'Tag Push Hook' ? readGitPush(body) : ignoredEvent(event)),
};
