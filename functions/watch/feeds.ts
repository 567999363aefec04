import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { createUserPlaces, type UserPlaces } from '../../runtime/api/user-places.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Project } from '../../runtime/contracts/resources/project.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import { withDeadline } from '../../runtime/domain/deadline.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { ObjectCopies } from '../../runtime/kube/object-copies.ts';
import { createFeed, type Change, type Feed } from './feed.ts';
import { createObjectSource } from './object-source.ts';
import { createRecordSource, type Watched } from './record-source.ts';

/** How long a project's feed is kept after its last stream, so that the stream can continue, in ms. */
const keepMs = 60_000;
/** Maximum number of feeds without a stream. */
const keptMax = 100;
const defaultReadyMs = 10_000;
const defaultLimits = { total: 200, perUser: 16 };

/** The changes of all projects that are watched, and the streams. */
export interface Feeds {
  places: UserPlaces;
  /** The Project of a name: as the watch knows it, and by a request when the watch does not know it. */
  findProject(name: string): Promise<Stored<Project> | undefined>;
  /**
   * The feed of a project, which has every change from now on. Call `leave` at the stream's end.
   * @throws Problem `unavailable` when Kubernetes or PostgreSQL does not answer
   */
  enter(projectId: Id, name: string): Promise<{ feed: Feed; leave: () => void }>;
  /** Ends all streams. */
  stop(): Promise<void>;
}

interface OpenFeed {
  feed: Feed;
  project: string;
  streams: number;
  /** The first read, from which on changes are known. */
  read?: Promise<void> | undefined;
  /** Stops the end of a feed without streams. */
  kept?: AbortController | undefined;
}

export interface FeedsOptions {
  kube: Pick<KubeClient, 'get'>;
  /** Started with the first stream if it was not before; the caller stops it. */
  copies: ObjectCopies;
  pool: Pool;
  clock: Clock;
  log: Logger;
  /** Default: 200 streams in all, 16 per user. */
  limits?: { total: number; perUser: number };
  /** How long a stream waits for the first read of what it watches, in ms; default 10,000. */
  readyMs?: number;
}

/** No rows are read before the first stream. */
export function createFeeds(options: FeedsOptions): Feeds {
  const { kube, copies, pool, clock, log, limits = defaultLimits, readyMs = defaultReadyMs } = options;
  const feeds = new Map<Id, OpenFeed>();
  const places = createUserPlaces({ ...limits, what: 'open event streams' });

  const onChange = (projectId: Id, change: Change) => {
    const feed = feeds.get(projectId)?.feed;
    if (!feed) return;
    feed.add(change);
    if (change.kind === 'Member' || change.kind === 'Project') feed.checkAccess();
  };
  const objects = createObjectSource({ copies, onChange });
  const watched = (): Watched => {
    const projects: Watched['projects'] = new Map(
      [...feeds].map(([projectId, { project }]) => {
        const current = objects.project(project);
        // Another project may have the name by now.
        const environments = current?.metadata.labels?.[idLabel] === projectId ? current.spec.environments : [];
        return [
          projectId,
          environments.map(({ id, name }) => ({ projectId, project, environmentId: id, environment: name })),
        ];
      }),
    );
    return { projects, users: places.users() };
  };
  const onUser = () => {
    for (const { feed } of feeds.values()) feed.checkAccess();
  };
  const records = createRecordSource({ pool, clock, log, watched, onChange, onUser });

  const close = (projectId: Id, open: OpenFeed) => {
    open.kept?.abort();
    open.feed.stop();
    if (feeds.get(projectId) === open) feeds.delete(projectId);
  };
  /** Keeps a feed without streams for some time. */
  const keep = (projectId: Id, open: OpenFeed) => {
    const kept = new AbortController();
    open.kept = kept;
    void clock.sleep(keepMs, kept.signal).then(
      () => close(projectId, open),
      () => undefined,
    );
    const [oldest, ...others] = [...feeds].filter(([, { streams }]) => streams === 0);
    if (oldest && others.length >= keptMax) close(...oldest);
  };

  return {
    places,
    async findProject(name) {
      const watched = objects.project(name);
      return watched?.metadata.labels?.[idLabel] === undefined ? kube.get<Project>(kinds.Project, name) : watched;
    },
    async enter(projectId, project) {
      await inTime(objects.synced(), { clock, readyMs });
      const open: OpenFeed = feeds.get(projectId) ?? { feed: createFeed(clock), project, streams: 0 };
      feeds.set(projectId, open);
      open.kept?.abort();
      open.kept = undefined;
      open.streams += 1;
      let hasLeft = false;
      const leave = () => {
        if (hasLeft) return;
        hasLeft = true;
        open.streams -= 1;
        if (open.streams === 0) keep(projectId, open);
      };
      try {
        open.read ??= records.read();
        await inTime(open.read, { clock, readyMs });
        return { feed: open.feed, leave };
      } catch (error) {
        open.read = undefined;
        leave();
        throw error;
      }
    },
    async stop() {
      places.stop();
      for (const [projectId, open] of feeds) close(projectId, open);
      await records.stop();
    },
  };
}

/** @throws Problem `unavailable` for what fails or takes too long */
async function inTime(work: Promise<void>, { clock, readyMs }: { clock: Clock; readyMs: number }): Promise<void> {
  try {
    await withDeadline({ clock, ms: readyMs, what: 'the first reading' }, work);
  } catch (error) {
    throw new Problem('unavailable', 'Changes cannot be read right now. Try again later.', { cause: error });
  }
}
