import type { Notice } from '../notice.ts';
import type { Headers } from '../signatures.ts';

/** What a proof is checked against. */
export interface ProofRequest {
  headers: Headers;
  /** The exact bytes of the body. */
  rawBody: Buffer;
  now: Date;
}

/** One kind of sender: how it is recognised, how it proves that it knows the token, and what its requests say. */
export interface Sender {
  name: string;
  /** Whether a request is of its form. */
  sends(headers: Headers): boolean;
  /** Whether the request proves that its sender knows the token. */
  proves(token: string, request: ProofRequest): boolean;
  /** What it calls the event. */
  event(headers: Headers, body: unknown): string | undefined;
  /** Its own name for the delivery, which a redelivery carries again. */
  deliveryId(headers: Headers, body: unknown): string | undefined;
  /** What a request says. @throws Problem `invalid_request` for a body that is none of its own */
  read(event: string | undefined, body: unknown): Notice;
}

/** A sender that proves nothing by itself: its secret is in the URL. Recognised by the body. */
export interface SecretUrlSender {
  name: string;
  /** What a body says; undefined when it is none of its own. */
  read(body: unknown): Notice | undefined;
}

/** Nothing that deploys, in the words that all senders share. */
export function ignoredEvent(event: string | undefined): Notice {
  return event === 'ping'
    ? { kind: 'nothing', reason: 'A ping: the webhook is set up.' }
    : { kind: 'nothing', reason: `The event "${(event ?? 'unnamed').slice(0, 100)}" deploys nothing.` };
}
