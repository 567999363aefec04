import type { Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';

/** How long a client waits before it tries again, in seconds. */
const retryAfterSeconds = 5;

/** The place of one request that lasts. */
interface UserPlace {
  /** Aborted with a {@link PlaceTaken} when the request has to end for another user's, with another error on shutdown. */
  readonly signal: AbortSignal;
  /** May be called more than once. */
  leave(): void;
}

/** A user who has fewer places needs this one. */
export class PlaceTaken extends Error {
  override readonly name = 'PlaceTaken';
}

/** Bounds requests that last, such as event streams, in all and for each user. */
export interface UserPlaces {
  /**
   * When all places are taken, the user with the most of them loses the newest one to a user who has fewer.
   * @throws Problem `too_many_requests`
   */
  enter(userId: Id): UserPlace;
  /** The users with a place. */
  users(): Id[];
  /** Ends all requests. */
  stop(): void;
}

export interface UserPlacesOptions {
  total: number;
  perUser: number;
  /** What takes a place, for messages, such as `open event streams`. */
  what: string;
}

export function createUserPlaces({ total, perUser, what }: UserPlacesOptions): UserPlaces {
  const places = new Map<Id, Set<AbortController>>();
  let active = 0;

  const remove = (userId: Id, place: AbortController) => {
    const own = places.get(userId);
    if (!own?.delete(place)) return;
    active -= 1;
    if (own.size === 0) places.delete(userId);
  };
  const makeRoom = (count: number) => {
    let [most, largest]: [Id, Set<AbortController>] = ['', new Set()];
    for (const [userId, own] of places) if (own.size > largest.size) [most, largest] = [userId, own];
    const newest = [...largest].at(-1);
    if (!newest || largest.size < count + 2) {
      throw refusal(`There are too many ${what}. Try again later.`, { max: total });
    }
    remove(most, newest);
    newest.abort(new PlaceTaken('another user needs the place'));
  };

  return {
    enter(userId) {
      const count = places.get(userId)?.size ?? 0;
      if (count >= perUser) {
        throw refusal(`You have ${perUser} ${what}, which is the limit. End one first.`, { max: perUser });
      }
      if (active >= total) makeRoom(count);
      const place = new AbortController();
      const own = places.get(userId) ?? new Set();
      places.set(userId, own.add(place));
      active += 1;
      return { signal: place.signal, leave: () => remove(userId, place) };
    },
    users: () => [...places.keys()],
    stop() {
      for (const own of places.values()) for (const place of own) place.abort(new Error('the process is stopping'));
    },
  };
}

function refusal(message: string, details: object): Problem {
  return new Problem('too_many_requests', message, { details: { ...details, retryAfterSeconds } });
}
