import { z } from 'zod';
import { maskedStart } from './mask.ts';

/** Maximum length of a sender's text in the log and the history, in characters. */
const textLimit = 1_000;

/** Optional text of an event; a value of another type counts as absent. */
export const text = z.string().optional().catch(undefined);

/**
 * A sender's text, shortened, without secrets and without the characters that PostgreSQL and terminals reject (including the
 * half of a surrogate pair that shortening can leave).
 */
export function cleanText(value: string, secrets: readonly string[]): string {
  // oxlint-disable-next-line no-control-regex -- the expression removes them
  const printable = value.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f]/g, '');
  return maskedStart(printable, textLimit, secrets).toWellFormed();
}

/** The event with {@link cleanText} applied to every text. */
export function cleanEvent(event: WebhookEvent, secrets: readonly string[]): WebhookEvent {
  const clean = (value: unknown): unknown => {
    if (typeof value === 'string') return cleanText(value, secrets);
    if (Array.isArray(value)) return value.map(clean);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, clean(entry)]));
  };
  return clean(event) as WebhookEvent;
}

/** The commit of an event. */
export interface EventCommit {
  commit?: string | undefined;
  commitMessage?: string | undefined;
  commitAuthor?: string | undefined;
  branch?: string | undefined;
}

/** One ref of a push. */
export interface PushedRef extends EventCommit {
  /** The full name of a tag or another ref that is not a branch: `refs/tags/v1`. */
  otherRef?: string | undefined;
  deleted?: boolean | undefined;
}

/** One image of a registry's event; an empty tag means that it was pushed without one. */
export interface PushedImage {
  /** Including the registry: `ghcr.io/acme/api`. */
  repository: string;
  tag: string;
  digest?: string | undefined;
}

/**
 * A sender's request in the form that all senders share. It is stored with the delivery, for redelivery: old shapes must
 * stay readable.
 */
export type WebhookEvent =
  | ({ kind: 'deploy'; image?: string | undefined } & EventCommit)
  | { kind: 'push'; refs: PushedRef[] }
  | { kind: 'images'; images: PushedImage[] }
  /** Nothing to deploy. */
  | { kind: 'nothing'; reason: string };

/** Splits a full ref: `refs/heads/feature/x` is the branch `feature/x`. */
export function refOf(ref: string): Pick<PushedRef, 'branch' | 'otherRef'> {
  const prefix = 'refs/heads/';
  return ref.startsWith(prefix) && ref.length > prefix.length
    ? { branch: ref.slice(prefix.length) }
    : { otherRef: ref };
}

/** Whether a hash is the one that git hosts send for a deleted ref. */
export function isNoCommit(hash: string | null | undefined): boolean {
  return hash === null || hash === undefined || /^0+$/.test(hash);
}

/** `Ann <ann@example.org>` → `Ann`. */
export function nameOf(author: string | undefined): string | undefined {
  const trimmed = author?.trimEnd();
  if (!trimmed?.endsWith('>')) return author;
  const start = trimmed.indexOf('<', trimmed.lastIndexOf('>', trimmed.length - 2) + 1);
  return trimmed.slice(0, Math.max(start, 0)).trimEnd() || author;
}
