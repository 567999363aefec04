import { Problem } from '../domain/problem.ts';
import { overloaded, type BodyMemory } from './body-memory.ts';

export interface RequestLimits {
  /** Requests in progress in the process. */
  total: number;
  /** Requests in progress of one client address. */
  perClient: number;
  /** Requests in progress of one signed-in user. */
  perUser: number;
}

const defaults: RequestLimits = {
  // A request and its connection take about 30 KB.
  total: 1_000,
  // An ingress that hides its clients' addresses gives all of them one.
  perClient: 300,
  // The command line has a few requests in progress, one for each `--follow` and `--wait`.
  perUser: 50,
};

/** The place of one request. */
interface RequestPlace {
  /** Counts the request for its user, too. @throws Problem `too_many_requests` */
  signIn(userId: string): void;
  /** Ends the request. It may be called more than once. */
  leave(): void;
}

/**
 * Bounds the requests in progress. A request whose body is still arriving makes room for a new one, so only requests
 * that are being worked on can fill the limits.
 */
export interface RequestPlaces {
  /** Begins a request. @throws Problem `too_many_requests`, `overloaded` */
  enter(client: string): RequestPlace;
}

/** @param options.limits default: 1,000 in all, 300 per client address, 50 per user */
export function createRequestPlaces({
  bodies,
  limits = {},
}: {
  bodies: Pick<BodyMemory, 'makeRoom'>;
  limits?: Partial<RequestLimits> | undefined;
}): RequestPlaces {
  const { total, perClient, perUser } = { ...defaults, ...limits };
  const clients = new Map<string, number>();
  const users = new Map<string, number>();
  let active = 0;

  return {
    enter(client) {
      if ((clients.get(client) ?? 0) >= perClient && !bodies.makeRoom(client)) {
        throw tooMany(`Your address has ${perClient} requests in progress.`);
      }
      if (active >= total && !bodies.makeRoom()) throw overloaded('The server is busy with other requests.');
      active += 1;
      add(clients, client, 1);
      let user: string | undefined;
      let hasLeft = false;
      return {
        signIn(userId) {
          if ((users.get(userId) ?? 0) >= perUser) throw tooMany(`You have ${perUser} requests in progress.`);
          user = userId;
          add(users, userId, 1);
        },
        leave() {
          if (hasLeft) return;
          hasLeft = true;
          active -= 1;
          add(clients, client, -1);
          if (user !== undefined) add(users, user, -1);
        },
      };
    },
  };
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const next = (counts.get(key) ?? 0) + change;
  if (next > 0) counts.set(key, next);
  else counts.delete(key);
}

function tooMany(reason: string): Problem {
  return new Problem('too_many_requests', `${reason} Wait until one of them has ended.`, {
    details: { retryAfterSeconds: 1 },
  });
}
