import { Problem } from '../domain/problem.ts';
import { createBodyDiscards, type BodyDiscardLimits, type BodyDiscards } from './body-discard.ts';

const mebibyte = 1024 * 1024;

export interface BodyMemoryLimits {
  /** Bytes of all bodies in the process. */
  total: number;
  /** Bytes of one owner's bodies. */
  perOwner: number;
  /** How long a body may take to arrive, in ms. */
  arrivalMs: number;
}

const defaults: BodyMemoryLimits = {
  // Parsed, a body takes up to six times its size, and a process has 512 MiB, a third of it in use at rest.
  total: 32 * mebibyte,
  // Several uploads of code at once.
  perOwner: 8 * mebibyte,
  // One MiB at 300 kbit/s.
  arrivalMs: 30_000,
};

/** Whose body it is: a client's address, or a signed-in user, who is refused after strangers. */
interface BodyOwner {
  name: string;
  isKnown: boolean;
}

/** The memory of one request's body. */
export interface BodyPlace {
  /** Begins to wait for the body. `refuse` ends the wait, and is called at most once, before `arrived`. */
  arriving(refuse: (problem: Problem) => void): void;
  /** Takes further bytes. @throws Problem `too_many_requests`, `overloaded` */
  take(bytes: number): void;
  /** Ends the wait: from now on, the body cannot be refused. */
  arrived(): void;
  /** Frees the bytes. It may be called more than once. */
  free(): void;
  /** For the rest of the body when it is refused; shared by the whole process. */
  discards: BodyDiscards;
}

/**
 * Bounds the memory of request bodies in the whole process, of unfinished ones and of those being worked on. When it is
 * full, the body that has been arriving for longest makes room, one without a session first: a request that is sent
 * at once is served even while others hold back the ends of theirs.
 */
export interface BodyMemory {
  place(owner: BodyOwner): BodyPlace;
  /** Refuses the body that has been arriving for longest, of this owner if named. @returns false if there is none */
  makeRoom(owner?: string): boolean;
  /** Bytes that are in use. */
  bytes(): number;
  /** For bodies that are refused, or that no route reads. */
  discards: BodyDiscards;
}

interface Arrival extends BodyOwner {
  refuse: (problem: Problem) => void;
}

/** @param limits default: 32 MiB in all, 8 MiB per owner, 30 s, and those of {@link createBodyDiscards} */
export function createBodyMemory(limits: Partial<BodyMemoryLimits & BodyDiscardLimits> = {}): BodyMemory {
  const { total, perOwner, arrivalMs } = { ...defaults, ...limits };
  const discards = createBodyDiscards(limits);
  /** In the order in which the bodies began to arrive. */
  const arrivals = new Set<Arrival>();
  const bytesByOwner = new Map<string, number>();
  let bytes = 0;
  const inUse = () => bytes;

  const makeRoom = (owner?: string): boolean => {
    let oldest: Arrival | undefined;
    for (const arrival of arrivals) {
      if (owner !== undefined && arrival.name !== owner) continue;
      oldest ??= arrival;
      if (!arrival.isKnown) {
        oldest = arrival;
        break;
      }
    }
    oldest?.refuse(overloaded('The request body arrived too slowly while other requests needed its place.'));
    return oldest !== undefined;
  };

  const count = (owner: string, change: number) => {
    bytes += change;
    const next = (bytesByOwner.get(owner) ?? 0) + change;
    if (next > 0) bytesByOwner.set(owner, next);
    else bytesByOwner.delete(owner);
    return next;
  };

  return {
    makeRoom,
    bytes: inUse,
    discards,
    place(owner) {
      let held = 0;
      let arrival: Arrival | undefined;
      let timer: NodeJS.Timeout | undefined;
      const arrived = () => {
        clearTimeout(timer);
        if (arrival) arrivals.delete(arrival);
        arrival = undefined;
      };
      const free = () => {
        if (held > 0) count(owner.name, -held);
        held = 0;
      };
      return {
        arriving(refuse) {
          arrival = {
            ...owner,
            refuse(problem) {
              arrived();
              free();
              refuse(problem);
            },
          };
          arrivals.add(arrival);
          timer = setTimeout(() => arrival?.refuse(tooSlow(arrivalMs)), arrivalMs);
        },
        take(more) {
          held += more;
          let ofOwner = count(owner.name, more);
          while (ofOwner > perOwner && makeRoom(owner.name)) ofOwner = bytesByOwner.get(owner.name) ?? 0;
          if (held > 0 && ofOwner > perOwner) {
            throw new Problem('too_many_requests', 'Too many large requests at once. Try again in a second.', {
              details: { retryAfterSeconds: 1 },
            });
          }
          while (inUse() > total) {
            if (!makeRoom()) throw overloaded('The server is busy with other requests.');
          }
        },
        arrived,
        free,
        discards,
      };
    },
  };
}

/** 503 with `Retry-After`. */
export function overloaded(reason: string): Problem {
  return new Problem('overloaded', `${reason} Try again in a second.`, { details: { retryAfterSeconds: 1 } });
}

function tooSlow(ms: number): Problem {
  return new Problem('request_timeout', `The request body did not arrive within ${ms / 1000} seconds. Send it again.`);
}
