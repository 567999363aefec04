import { setTimeout as wait } from 'node:timers/promises';
import { Problem } from '../../runtime/domain/problem.ts';
import { createWaitingRoom } from './waiting-room.ts';

/**
 * Each hash takes 32 MiB and a thread of the pool, so concurrency and queues are limited. Sign-ins from unknown devices run
 * one at a time: a guesser of passwords leaves the other processor to the platform. While others of them wait, there are
 * pauses of seven times the work between them, so that guesses take an eighth of a processor.
 */
const maxRunning = { all: 2, unknown: 1 };
const pauseFactor = 7;
const maxKnown = { all: 40, ofGroup: 3 };
const maxUnknown = { all: 64, ofGroup: 20 };
/** After this many known callers in a row, a stranger who waits has a turn. */
const knownInRow = 4;

/** Who wants a password checked: a device or session of an account, by its email address, or a stranger from a network. */
export type Caller = { known: string } | { network: string };

/** Gives turns to what hashes passwords. */
export interface PasswordTurns {
  /**
   * Runs work when its turn comes. Known callers go first, but for each fifth turn. Their accounts have turns one after the
   * other, and so have the networks of strangers, so that the many calls of some do not keep out the others.
   * @param work returns its result and the milliseconds of a processor that its hashing takes
   * @param signal aborted when nobody waits for the result any more: what has not begun then has no turn
   * @throws Problem `too_many_requests`
   */
  run<T>(caller: Caller, work: () => Promise<{ result: T; hashMs: number }>, signal?: AbortSignal): Promise<T>;
}

type Kind = 'known' | 'unknown';

/** One for all: a flood of refusals takes no stack for each. */
const tooMany = new Problem('too_many_requests', 'Too many sign-ins are in progress. Try again in a second.', {
  details: { retryAfterSeconds: 1 },
});

/** @param pause waits; tests hold it back */
export function createPasswordTurns(pause: (ms: number) => Promise<void> = wait): PasswordTurns {
  const running = { known: 0, unknown: 0 };
  const rooms = { known: createWaitingRoom(maxKnown), unknown: createWaitingRoom(maxUnknown) };
  /** Known callers that have started since the last stranger. */
  let inRow = 0;

  const mayStart = (kind: Kind) =>
    running.known + running.unknown < maxRunning.all && (kind === 'known' || running.unknown < maxRunning.unknown);

  const start = (kind: Kind) => {
    running[kind]++;
    inRow = kind === 'known' ? inRow + 1 : 0;
  };

  const startNext = () => {
    const strangerMayStart = !rooms.unknown.isEmpty() && mayStart('unknown');
    if (strangerMayStart && (rooms.known.isEmpty() || inRow >= knownInRow)) rooms.unknown.startNext();
    else if (mayStart('known')) rooms.known.startNext();
  };

  const enter = async (caller: Caller, signal: AbortSignal | undefined): Promise<Kind> => {
    const [kind, group] =
      'known' in caller ? (['known', caller.known] as const) : (['unknown', caller.network] as const);
    if (signal?.aborted) throw tooMany;
    if (mayStart(kind)) {
      start(kind);
      return kind;
    }
    await new Promise<void>((resolve, reject) => {
      const entry = {
        start() {
          start(kind);
          resolve();
        },
        refuse: () => reject(tooMany),
      };
      rooms[kind].add(group, entry);
      signal?.addEventListener('abort', () => rooms[kind].remove(group, entry), { once: true });
    });
    return kind;
  };

  const leave = (kind: Kind) => {
    running[kind]--;
    startNext();
  };

  return {
    async run(caller, work, signal) {
      const kind = await enter(caller, signal);
      let spent = 0;
      try {
        const { result, hashMs } = await work();
        spent = hashMs;
        return result;
      } finally {
        if (kind === 'unknown' && spent > 0 && !rooms.unknown.isEmpty())
          void pause(pauseFactor * spent).then(() => leave(kind));
        else leave(kind);
      }
    },
  };
}
