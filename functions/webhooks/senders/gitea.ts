import { header, isHexHmac } from '../signatures.ts';
import { readGitPush } from './git-push.ts';
import { ignoredEvent, type Sender } from './sender.ts';

/**
 * Gitea and Forgejo: the signature in bare hex. Both also send GitHub's headers, so they must be recognised before it.
 * https://docs.gitea.com/usage/webhooks, https://forgejo.org/docs/latest/user/webhooks
 */
function sender(name: 'gitea' | 'forgejo'): Sender {
  return {
    name,
    sends: (headers) => header(headers, `x-${name}-event`) !== undefined,
    proves: (token, { headers, rawBody }) => isHexHmac(header(headers, `x-${name}-signature`), token, rawBody),
    covers: () => 'event',
    event: (headers) => header(headers, `x-${name}-event`),
    deliveryId: (headers) => header(headers, `x-${name}-delivery`),
    read: (event, body) => (event === 'push' ? readGitPush(body) : ignoredEvent(event)),
  };
}

export const gitea = sender('gitea');
export const forgejo = sender('forgejo');
