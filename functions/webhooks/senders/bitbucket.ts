import { z } from 'zod';
import { parseShape } from '../../../runtime/http/body.ts';
import { nameOf, refOf, text, type WebhookEvent } from '../event.ts';
import { header, isHexHmac } from '../signatures.ts';
import { ignoredEvent, type Sender } from './sender.ts';

const reference = z.object({
  type: z.string().max(100),
  name: z.string().max(1_000),
  target: z
    .object({ hash: z.string().max(100), message: text, author: z.object({ raw: text }).optional().catch(undefined) })
    .nullish(),
});
const cloudPush = z.object({
  push: z.object({ changes: z.array(z.object({ new: reference.nullish(), old: reference.nullish() })).max(1_000) }),
});
const serverPush = z.object({
  changes: z
    .array(z.object({ ref: z.object({ id: z.string().max(1_000) }), toHash: z.string().max(100), type: z.string() }))
    .max(1_000),
});

/** https://support.atlassian.com/bitbucket-cloud/docs/event-payloads/#Push */
function readCloudPush(body: unknown): WebhookEvent {
  const { changes } = parseShape(cloudPush, body, 'body').push;
  return {
    kind: 'push',
    refs: changes.map(({ new: now, old }) => {
      const current = now ?? old;
      const ref =
        current?.type === 'branch' ? { branch: current.name } : { otherRef: `refs/tags/${current?.name ?? ''}` };
      return {
        ...ref,
        deleted: !now,
        commit: now?.target?.hash,
        commitMessage: now?.target?.message,
        commitAuthor: nameOf(now?.target?.author?.raw),
      };
    }),
  };
}

/** https://confluence.atlassian.com/bitbucketserver/event-payload-938025882.html */
function readServerPush(body: unknown): WebhookEvent {
  const { changes } = parseShape(serverPush, body, 'body');
  return {
    kind: 'push',
    refs: changes.map(({ ref, toHash, type }) =>
      type === 'DELETE' ? { ...refOf(ref.id), deleted: true } : { ...refOf(ref.id), commit: toHash },
    ),
  };
}

/** Bitbucket Cloud and Bitbucket Data Center: both sign with `X-Hub-Signature`, which contains the algorithm. */
export const bitbucket: Sender = {
  name: 'bitbucket',
  sends: (headers) => header(headers, 'x-event-key') !== undefined,
  proves: (token, { headers, rawBody }) => isHexHmac(header(headers, 'x-hub-signature'), token, rawBody, 'sha256='),
  covers: () => 'event',
  event: (headers) => header(headers, 'x-event-key'),
  deliveryId: (headers) => header(headers, 'x-request-uuid') ?? header(headers, 'x-request-id'),
  read(event, body) {
    if (event === 'repo:push') return readCloudPush(body);
    if (event === 'repo:refs_changed') return readServerPush(body);
    return ignoredEvent(event === 'diagnostics:ping' ? 'ping' : event);
  },
};
