import { setTimeout as wait } from 'node:timers/promises';
import { Problem } from '../../runtime/domain/problem.ts';

/**
 * Each hash takes 32 MiB and a thread of the pool, so concurrency and queues are limited. Sign-ins from unknown devices run
 * one at a time: a guesser of passwords leaves the other processor to the platform. While others of them wait, there are
 * pauses of seven times the work between them, so that guesses take an eighth of a processor.
 */
const maxRunning = { all: 2, unknown: 1 };
const pauseFactor = 7;
const maxWaiting = { known: 40, unknown: 64, ofNetwork: 20 };

/** Who wants a password checked: a device or session of the account, or a stranger from a network. */
export type Caller = { known: true } | { network: string };

/** Gives turns to what hashes passwords. */
export interface PasswordTurns {
  /**
   * Runs work when its turn comes. Known callers go first; the networks of strangers have turns one after the other, so
   * that guesses from some do not keep out the others.
   * @param work returns its result and the milliseconds that it spent on hashing @throws Problem `too_many_requests`
   */
  run<T>(caller: Caller, work: () => Promise<{ result: T; hashMs: number }>): Promise<T>;
}

interface Waiting {
  start(): void;
  refuse(): void;
}

function tooMany(): Problem {
  return new Problem('too_many_requests', 'Too many sign-ins are in progress. Try again in a second.', {
    details: { retryAfterSeconds: 1 },
  });
}

/** @param pause waits; tests hold it back */
export function createPasswordTurns(pause: (ms: number) => Promise<void> = wait): PasswordTurns {
  const running = { known: 0, unknown: 0 };
  const known: Waiting[] = [];
  /** By network, the one whose turn is next first. */
  const strangers = new Map<string, Waiting[]>();

  const waitingStrangers = () => [...strangers.values()].reduce((sum, queue) => sum + queue.length, 0);
  const mayStart = (kind: 'known' | 'unknown') =>
    running.known + running.unknown < maxRunning.all && (kind === 'known' || running.unknown < maxRunning.unknown);

  /** The network with the most waiting strangers makes room for one that has at least two fewer. */
  const makeRoom = (network: string): boolean => {
    if (waitingStrangers() < maxWaiting.unknown) return true;
    const [largest] = [...strangers.values()].sort((a, b) => b.length - a.length);
    if (!largest || largest.length < (strangers.get(network)?.length ?? 0) + 2) return false;
    largest.pop()?.refuse();
    return true;
  };

  const nextStranger = (): Waiting | undefined => {
    const [first] = strangers;
    if (!first) return undefined;
    const [network, queue] = first;
    strangers.delete(network);
    const next = queue.shift();
    if (queue.length > 0) strangers.set(network, queue);
    return next;
  };

  const startNext = () => {
    if (known.length > 0 && mayStart('known')) known.shift()?.start();
    else if (mayStart('unknown')) nextStranger()?.start();
  };

  const enter = async (caller: Caller): Promise<'known' | 'unknown'> => {
    const kind = 'known' in caller ? 'known' : 'unknown';
    if (mayStart(kind)) {
      running[kind]++;
      return kind;
    }
    await new Promise<void>((resolve, reject) => {
      const entry: Waiting = {
        start() {
          running[kind]++;
          resolve();
        },
        refuse: () => reject(tooMany()),
      };
      if ('known' in caller) {
        if (known.length >= maxWaiting.known) entry.refuse();
        else known.push(entry);
        return;
      }
      const queue = strangers.get(caller.network) ?? [];
      if (queue.length >= maxWaiting.ofNetwork || !makeRoom(caller.network)) {
        entry.refuse();
        return;
      }
      queue.push(entry);
      strangers.set(caller.network, queue);
    });
    return kind;
  };

  const leave = (kind: 'known' | 'unknown') => {
    running[kind]--;
    startNext();
  };

  return {
    async run(caller, work) {
      const kind = await enter(caller);
      let spent = 0;
      try {
        const { result, hashMs } = await work();
        spent = hashMs;
        return result;
      } finally {
        if (kind === 'unknown' && spent > 0 && strangers.size > 0)
          void pause(pauseFactor * spent).then(() => leave(kind));
        else leave(kind);
      }
    },
  };
}
