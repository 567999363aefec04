import { streamReply } from '../../runtime/api/log-reply.ts';
import { watchMessage, watchQuery, type WatchMessage } from '../../runtime/contracts/api/watch.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import {
  projectIdOf,
  route,
  sessionOf,
  type Authenticate,
  type AuthorizeProject,
  type ProjectAccess,
  type ProjectGrant,
  type Route,
  type Session,
} from '../../runtime/http/route.ts';
import { resolveEnvironment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { Feed, FeedEvent } from './feed.ts';
import type { Feeds } from './feeds.ts';
import { mayList } from './list-access.ts';

/** How long a check of the caller's rights holds, in ms. */
const checkedMs = 250;
/** Pause before the rights are checked again when a check has failed, in ms. */
const retryMs = 1_000;
/** A client that takes nothing for this long is cut off, in ms. */
const defaultStalledMs = 30_000;

const access = { project: 'viewer', scope: 'read' } as const satisfies ProjectAccess;

export interface WatchDependencies {
  kube: Pick<KubeClient, 'get'>;
  feeds: Feeds;
  clock: Clock;
  authenticate: Authenticate;
  /** Without a request to the API server, because it is called for every change. */
  authorize: AuthorizeProject;
  /** Default 30,000. */
  stalledMs?: number;
}

/** `GET /projects/{project}/watch`: what changes in a project, as it changes (docs/decisions/0067-event-stream.md). */
export function createWatchRoutes(dependencies: WatchDependencies): Route[] {
  const { kube, feeds, clock, authenticate, authorize, stalledMs = defaultStalledMs } = dependencies;
  return [
    route({
      method: 'GET',
      path: '/projects/:project/watch',
      access,
      tag: 'watch',
      summary: 'Streams what changes in a project, as JSON lines.',
      query: watchQuery,
      jsonLines: true,
      replies: { 200: watchMessage },
      async handle(request) {
        const { params, query, headers, signal } = request;
        const { project } = params;
        const projectId = projectIdOf(request);
        if (query.environment !== undefined) await resolveEnvironment(kube, project, query.environment);
        const place = feeds.places.enter(sessionOf(request).userId);
        const ended = new AbortController();
        const ends = AbortSignal.any([signal, place.signal, ended.signal]);
        ends.addEventListener('abort', () => place.leave(), { once: true });
        const { feed, leave } = await feeds.enter(projectId, project).catch((error: unknown) => {
          ended.abort();
          throw error;
        });
        if (ends.aborted) leave();
        else ends.addEventListener('abort', leave, { once: true });
        const check = async (): Promise<Caller> => {
          const session = await authenticate({ method: 'GET', headers });
          const grant = await authorize(session, project, access);
          // The project was deleted, and another one has its name.
          if (grant.projectId !== projectId) throw new Problem('not_found', 'The project was deleted.');
          return { session, grant };
        };
        const lines = async function* (stop: AbortSignal): AsyncGenerator<WatchMessage> {
          try {
            yield* messages(feed, query, { check, clock, stop });
          } finally {
            ended.abort(new Error('the stream has ended'));
          }
        };
        const reply = streamReply(clock, ends, lines, stalledMs);
        // The stream of a HEAD is never read.
        reply.body.once('close', () => ended.abort(new Error('the stream has ended')));
        return reply;
      },
    }),
  ];
}

interface Caller {
  session: Session;
  grant: ProjectGrant;
}

interface StreamOptions {
  check: () => Promise<Caller>;
  clock: Clock;
  stop: AbortSignal;
}

/** The messages of one stream, until the caller may no longer read it. */
async function* messages(
  feed: Feed,
  { environment, cursor }: { environment?: string | undefined; cursor?: string | undefined },
  { check, clock, stop }: StreamOptions,
): AsyncGenerator<WatchMessage> {
  const start = cursor === undefined ? feed.end() : feed.positionOf(cursor);
  const isKnown = start !== undefined && feed.after(start) !== undefined;
  let position = isKnown ? start : feed.end();
  let accessChecks = -1;
  const isAllowed = ({ change }: FeedEvent, { session, grant }: Caller) =>
    (environment === undefined || change.environment === undefined || change.environment === environment) &&
    mayList(change.kind, grant.role, session.token?.scopes);

  yield { type: isKnown ? 'ready' : 'reset', cursor: feed.cursorOf(position) };
  while (!stop.aborted) {
    const events = feed.after(position);
    if (!events) {
      position = feed.end();
      yield { type: 'reset', cursor: feed.cursorOf(position) };
      continue;
    }
    const isDue = events.length > 0 || feed.accessChecks() !== accessChecks;
    accessChecks = feed.accessChecks();
    // Before the messages, and again while a client takes them slowly.
    let caller = isDue ? await checked(check, clock, stop) : undefined;
    if (isDue && !caller) return;
    let checkedAt = clock.monotonic();
    for (const event of events) {
      if (clock.monotonic() - checkedAt > checkedMs) {
        caller = await checked(check, clock, stop);
        checkedAt = clock.monotonic();
      }
      if (!caller) return;
      position = event.position;
      if (!isAllowed(event, caller)) continue;
      yield { ...event.change, cursor: feed.cursorOf(position) };
    }
    await feed.next({ position, accessChecks }, stop);
  }
}

/** Who calls, with the current rights; undefined at the end of the stream, or of the rights. */
async function checked(check: () => Promise<Caller>, clock: Clock, stop: AbortSignal): Promise<Caller | undefined> {
  while (!stop.aborted) {
    try {
      return await check();
    } catch (error) {
      if (error instanceof Problem && error.status < 500) return undefined;
      // While the rights cannot be checked, nothing is sent.
      await clock.sleep(retryMs, stop).catch(() => undefined);
    }
  }
  return undefined;
}
