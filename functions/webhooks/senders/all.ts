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

/** In the order in which they are asked: Forgejo sends Gitea's headers too, and both send GitHub's. */
const senders: readonly Sender[] = [forgejo, gitea, gitlab, bitbucket, github, harbor];

/** Senders that sign nothing; each recognises its own bodies. */
export const secretUrlSenders: readonly SecretUrlSender[] = [dockerHub, quay];

/** Whose form a request has; our own when it is nobody else's. */
export function senderOf(headers: Headers): Sender {
  return senders.find((sender) => sender.sends(headers)) ?? svc;
}
