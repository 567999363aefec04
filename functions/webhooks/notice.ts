import { z } from 'zod';
import { maskText } from './mask.ts';

/** Longer texts of senders are cut: columns and terminals have to hold them. */
const textLimit = 1_000;

/** Text that a notice can do without: anything else counts as absent. */
export const text = z.string().optional().catch(undefined);

/**
 * Text of a sender without secrets, without what PostgreSQL and terminals do not take (halves of characters too, which a cut
 * can leave), and not endless.
 */
export function cleanText(value: string, secrets: readonly string[]): string {
  const plain = value
    // oxlint-disable-next-line no-control-regex -- they are what is removed
    .replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f]/g, '')
    .slice(0, textLimit)
    .toWellFormed();
  return maskText(plain, secrets);
}

/** A notice whose every text is clean. */
export function cleanNotice(notice: Notice, secrets: readonly string[]): Notice {
  const clean = (value: unknown): unknown => {
    if (typeof value === 'string') return cleanText(value, secrets);
    if (Array.isArray(value)) return value.map(clean);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, clean(each)]));
  };
  return clean(notice) as Notice;
}

/** What is told of a commit. */
export interface CommitNotice {
  commit?: string | undefined;
  commitMessage?: string | undefined;
  commitAuthor?: string | undefined;
  branch?: string | undefined;
}

/** One ref of a push. */
export interface PushedRef extends CommitNotice {
  /** A tag, or anything else that is no branch, in full: `refs/tags/v1`. */
  otherRef?: string | undefined;
  deleted?: boolean | undefined;
}

/** One image that a registry tells of; an empty tag: it was pushed without one. */
export interface PushedImage {
  /** With the registry: `ghcr.io/acme/api`. */
  repository: string;
  tag: string;
  digest?: string | undefined;
}

/** What a sender's request says, in one form for all senders. It is stored with the delivery, so it stays readable. */
export type Notice =
  | ({ kind: 'deploy'; image?: string | undefined } & CommitNotice)
  | { kind: 'push'; refs: PushedRef[] }
  | { kind: 'images'; images: PushedImage[] }
  /** Nothing that could deploy, and why. */
  | { kind: 'nothing'; reason: string };

/** Splits a full ref: `refs/heads/feature/x` is the branch `feature/x`. */
export function refOf(ref: string): Pick<PushedRef, 'branch' | 'otherRef'> {
  const prefix = 'refs/heads/';
  return ref.startsWith(prefix) && ref.length > prefix.length
    ? { branch: ref.slice(prefix.length) }
    : { otherRef: ref };
}

/** The hash that git hosts send for a ref that is gone. */
export function isNoCommit(hash: string | null | undefined): boolean {
  return hash === null || hash === undefined || /^0+$/.test(hash);
}

/** `Ann <ann@example.org>` → `Ann`. */
export function nameOf(author: string | undefined): string | undefined {
  return author?.replace(/\s*<[^>]*>\s*$/, '') || author;
}
