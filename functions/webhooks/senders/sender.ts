import type { WebhookEvent } from '../event.ts';
import type { Headers } from '../signatures.ts';

interface ProofRequest {
  headers: Headers;
  /** The exact bytes of the body. */
  rawBody: Buffer;
  now: Date;
}

/**
 * What the proof of a request covers: the whole request, since its sender knows the token; the body and `webhook-id`; the
 * body; or the body of a git host, whose events are never equal, because they contain what was there before and times.
 */
type Coverage = 'request' | 'webhook-id' | 'body' | 'event';

/** One kind of sender: how to recognise it, verify its token and read its requests. */
export interface Sender {
  name: string;
  /** Whether the sender's own headers are present. */
  sends(headers: Headers): boolean;
  /** Whether the request proves that its sender knows the token. */
  proves(token: string, request: ProofRequest): boolean;
  /** What a valid proof of this request covers. */
  covers(headers: Headers): Coverage;
  /** The sender's name of the event. */
  event(headers: Headers, body: unknown): string | undefined;
  /** The sender's id of the delivery, which its redeliveries repeat; it counts only where the proof covers it. */
  deliveryId(headers: Headers, body: unknown): string | undefined;
  /** Reads a request. @throws Problem `invalid_request` for a body that is not valid */
  read(event: string | undefined, body: unknown): WebhookEvent;
}

/** A sender that cannot sign, so that it calls a secret URL. It is recognised by its body. */
export interface SecretUrlSender {
  name: string;
  /** Reads a body; undefined for a body of another sender. */
  read(body: unknown): WebhookEvent | undefined;
}

/** An event that deploys nothing. */
export function ignoredEvent(event: string | undefined): WebhookEvent {
  return event === 'ping'
    ? { kind: 'nothing', reason: 'Ping: the webhook is set up.' }
    : { kind: 'nothing', reason: `The event "${(event ?? 'unnamed').slice(0, 100)}" deploys nothing.` };
}
