import type { Id } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';

/** How long a client waits before it tries again, in seconds. */
const retryAfterSeconds = 5;

/** The place of one stream. */
interface StreamPlace {
  /** Aborted when the stream has to end, for another user's. */
  readonly signal: AbortSignal;
  /** May be called more than once. */
  leave(): void;
}

/** Bounds the streams that are open. */
export interface StreamPlaces {
  /**
   * When all places are taken, the user with the most streams loses the newest one to a user who has fewer.
   * @throws Problem `too_many_requests`
   */
  enter(userId: Id): StreamPlace;
  /** The users with a stream. */
  users(): Id[];
  /** Ends all streams. */
  stop(): void;
}

export function createStreamPlaces({ total, perUser }: { total: number; perUser: number }): StreamPlaces {
  const streams = new Map<Id, Set<AbortController>>();
  let active = 0;

  const remove = (userId: Id, stream: AbortController) => {
    const own = streams.get(userId);
    if (!own?.delete(stream)) return;
    active -= 1;
    if (own.size === 0) streams.delete(userId);
  };
  const makeRoom = (count: number) => {
    let [most, largest]: [Id, Set<AbortController>] = ['', new Set()];
    for (const [userId, own] of streams) if (own.size > largest.size) [most, largest] = [userId, own];
    const newest = [...largest].at(-1);
    if (!newest || largest.size < count + 2) {
      throw refusal('Too many event streams are open. Try again later.', { max: total });
    }
    remove(most, newest);
    newest.abort(new Error('another user needs the place'));
  };

  return {
    enter(userId) {
      const count = streams.get(userId)?.size ?? 0;
      if (count >= perUser) {
        throw refusal(`You have ${perUser} event streams open, which is the limit. Close one first.`, { max: perUser });
      }
      if (active >= total) makeRoom(count);
      const stream = new AbortController();
      const own = streams.get(userId) ?? new Set();
      streams.set(userId, own.add(stream));
      active += 1;
      return { signal: stream.signal, leave: () => remove(userId, stream) };
    },
    users: () => [...streams.keys()],
    stop() {
      for (const own of streams.values()) for (const stream of own) stream.abort(new Error('the process is stopping'));
    },
  };
}

function refusal(message: string, details: object): Problem {
  return new Problem('too_many_requests', message, { details: { ...details, retryAfterSeconds } });
}
