import { hash } from 'node:crypto';
import t from 'tap';
import { identityOf } from '../../../functions/webhooks/identity.ts';
import { github } from '../../../functions/webhooks/senders/github.ts';
import { gitlab } from '../../../functions/webhooks/senders/gitlab.ts';
import { svc } from '../../../functions/webhooks/senders/svc.ts';

const rawBody = Buffer.from('{"image":"r.test/api:1"}');
const body = JSON.parse(rawBody.toString()) as unknown;

t.test('only ids that the proof covers identify a delivery', (t) => {
  const added = { 'idempotency-key': 'added', 'x-github-delivery': 'sent', 'webhook-id': 'msg_1' };
  for (const [name, sender, headers, expected] of [
    ['a token', svc, { 'x-svc-token': 'x' }, { deliveryId: 'added', identity: 'added' }],
    ['Standard Webhooks', svc, { 'webhook-signature': 'v1,x' }, { deliveryId: 'msg_1', identity: 'msg_1' }],
    [
      'a signature of the body alone, whose repetition deploys again',
      svc,
      { 'x-hub-signature-256': 'sha256=x' },
      { deliveryId: 'added', identity: 'added' },
    ],
    [
      'an event of a git host',
      github,
      { 'x-hub-signature-256': 'sha256=x' },
      { deliveryId: 'sent', identity: `body:${hash('sha256', rawBody)}` },
    ],
    ['a token in place of a signature', github, { 'x-svc-token': 'x' }, { deliveryId: 'added', identity: 'added' }],
    ['a signature of GitLab', gitlab, { 'webhook-signature': 'v1,x' }, { deliveryId: 'msg_1', identity: 'msg_1' }],
    ['a token of GitLab', gitlab, { 'x-gitlab-token': 'x' }, { deliveryId: 'added', identity: 'added' }],
  ] as const) {
    t.same(identityOf(sender, { headers: { ...added, ...headers }, rawBody, body }), expected, name);
  }
  t.end();
});
