import type { ParameterizedContext } from 'koa';
import { Problem } from '../domain/problem.ts';

/** A request for something that is not part of the API. */
export interface SiteRequest {
  method: string;
  path: string;
  headers: Readonly<Record<string, string | undefined>>;
}

/** The response: `body` is kept by the site, so that clients which do not read it cannot multiply it. */
export interface SiteReply {
  status: 200 | 304;
  headers: Readonly<Record<string, string>>;
  body?: Buffer;
}

/** With the pattern of the path for log and metrics; `missing`: 404 with this message. */
type SiteAnswer = { pattern: string } & (SiteReply | { missing: string });

/**
 * Answers requests whose path no route has, such as those for the pages of the web console. Synchronous and without
 * state. @returns undefined for a path that it does not have either
 */
export type Site = (request: SiteRequest) => SiteAnswer | undefined;

/** @returns whether the site has the path @throws Problem `not_found` with the site's message */
export function answerAsSite(site: Site, context: ParameterizedContext<{ pattern: string }>): boolean {
  const { method, path, req } = context;
  const headers = Object.fromEntries(
    Object.entries(req.headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
  const answer = site({ method, path, headers });
  if (!answer) return false;
  context.state.pattern = answer.pattern;
  if ('missing' in answer) throw new Problem('not_found', answer.missing);
  context.set(answer.headers);
  context.body = answer.body ?? null;
  // Koa sets 204 for a missing body.
  context.status = answer.status;
  return true;
}
