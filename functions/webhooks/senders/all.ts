import type { Headers } from '../signatures.ts';
import { bitbucket } from './bitbucket.ts';
import { dockerHub } from './docker-hub.ts';
import { forgejo, gitea } from './gitea.ts';
import { github } from './github.ts';
import { gitlab } from './gitlab.ts';
import { harbor } from './harbor.ts';
import { quay } from './quay.ts';
import type { SecretUrlSender, Sender } from './sender.ts';
import { svc } from './svc.ts';

/** In the order of recognition: Forgejo also sends Gitea's headers, and both send GitHub's. */
const senders: readonly Sender[] = [forgejo, gitea, gitlab, bitbucket, github, harbor];

/** Senders that cannot sign. */
export const secretUrlSenders: readonly SecretUrlSender[] = [dockerHub, quay];

/** The sender of a request; the platform's own format if no other sender is recognised. */
export function senderOf(headers: Headers): Sender {
  return senders.find((sender) => sender.sends(headers)) ?? svc;
}
