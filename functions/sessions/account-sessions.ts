import type { Pool } from 'pg';
import { z } from 'zod';
import { accountSession, sessionsEnded } from '../../runtime/contracts/api/sessions.ts';
import { idPageQuery, page } from '../../runtime/contracts/api/common.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { pageOfRows } from '../../runtime/http/page.ts';
import { route, sessionOf, type Route } from '../../runtime/http/route.ts';
import { endOtherSessions, endSessionOf, listSessions, type SessionUse } from '../../runtime/records/sessions.ts';

const tag = 'sessions';
const audit = 'session.end';

/** `/account/sessions`: where a user is signed in. For users only: no access token opens them. */
export function accountSessionRoutes({ pool, clock }: { pool: Pool; clock: Clock }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/account/sessions',
      access: 'session',
      tag,
      summary: 'Lists your sessions, newest first.',
      query: idPageQuery,
      replies: { 200: page(accountSession) },
      async handle(request) {
        const { limit, cursor } = request.query;
        const { userId, sessionId } = sessionOf(request);
        const rows = await listSessions(pool, userId, { limit: limit + 1, before: cursor, now: clock.now() });
        const toItem = ({ id, createdAt, lastUsedAt, expiresAt, client }: SessionUse) => ({
          id,
          ...(client !== null && { client }),
          createdAt: createdAt.toISOString(),
          ...(lastUsedAt && { lastUsedAt: lastUsedAt.toISOString() }),
          expiresAt: expiresAt.toISOString(),
          current: id === sessionId,
        });
        return { status: 200, body: pageOfRows(rows, limit, { cursorOf: ({ id }) => id, toItem }) };
      },
    }),
    route({
      method: 'DELETE',
      path: '/account/sessions/:session',
      access: 'session',
      tag,
      summary: 'Ends one of your sessions. Its token stops working.',
      audit,
      replies: { 204: null },
      async handle(request) {
        const { userId, email } = sessionOf(request);
        const { session } = request.params;
        const isEnded = z.uuid().safeParse(session).success && (await endSessionOf(pool, userId, session));
        // The message does not repeat the request, which may contain a token by mistake.
        if (!isEnded) throw new Problem('not_found', 'You have no session with this ID. List them: svc session list.');
        return { status: 204, audit: { user: { id: userId, email }, session } };
      },
    }),
    route({
      method: 'DELETE',
      path: '/account/sessions',
      access: 'session',
      tag,
      summary: 'Ends all of your sessions except that of the request.',
      audit,
      replies: { 200: sessionsEnded },
      async handle(request) {
        const { userId, email, sessionId } = sessionOf(request);
        const ended = await endOtherSessions(pool, userId, sessionId);
        const entry = { user: { id: userId, email }, ended };
        return { status: 200, body: { ended }, audit: ended > 0 && entry };
      },
    }),
  ];
}
