import { webhookDeploy } from '../../../runtime/contracts/api/webhooks.ts';
import { parseShape } from '../../../runtime/http/body.ts';
import { header, isHexHmac, isStandardSignature } from '../signatures.ts';
import type { Sender } from './sender.ts';

/** The platform's own format, for CI systems: the token in `X-Svc-Token` or as the key of a signature, and an image or commit. */
export const svc: Sender = {
  name: 'svc',
  sends: () => true,
  proves: (token, { headers, rawBody, now }) =>
    header(headers, 'x-hub-signature-256') === undefined
      ? isStandardSignature(headers, token, rawBody, now)
      : isHexHmac(header(headers, 'x-hub-signature-256'), token, rawBody, 'sha256='),
  // Requests of two deployments can be equal, such as those of a tag that moves.
  covers: (headers) => (header(headers, 'x-hub-signature-256') === undefined ? 'webhook-id' : 'body'),
  event: () => undefined,
  deliveryId: (headers) => header(headers, 'x-github-delivery') ?? header(headers, 'webhook-id'),
  read: (_event, body) => ({ kind: 'deploy', ...parseShape(webhookDeploy, body, 'body') }),
};
