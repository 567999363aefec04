import { randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Problem } from '../../runtime/domain/problem.ts';

/** 2^15 with r=8 takes 32 MiB and about 100 ms of one core: slow for guessing, acceptable for a sign-in. */
const logCost = 15;
const blockSize = 8;
const parallelism = 1;
const digestBytes = 32;
/**
 * Each hash takes 32 MiB and a thread of the pool, so concurrency and queue are limited. Sign-ins from unknown devices run
 * one at a time: a guesser of passwords leaves the other processor to the platform. While others of them wait, there are
 * pauses of three times the work between them, so that guesses take a quarter of a processor.
 */
const maxRunning = { all: 2, unknown: 1 };
const pauseFactor = 3;
const maxWaiting = 20;

/** Hashes and checks passwords: scrypt in the PHC string format, `$scrypt$ln=15,r=8,p=1$<salt>$<hash>`. */
export interface Passwords {
  /**
   * Checks whether a sign-in would get a place now, before anything else is spent on it.
   * @param known as for `verify` @throws Problem `too_many_requests`
   */
  admit(known: boolean): void;
  /** @throws Problem `too_many_requests` when too many are being hashed */
  hash(password: string): Promise<string>;
  /**
   * Whether a password matches a hash. Without a hash it returns false after the same work, so that the duration does not
   * show which accounts exist. @param options.known whether the caller's device has signed in before: it goes first
   * @throws Problem `too_many_requests`
   */
  verify(password: string, stored: string | undefined, options?: { known?: boolean }): Promise<boolean>;
}

/** Derives a key of a length in bytes from a password and a salt. */
type Derive = (password: string, salt: Buffer, bytes: number, options: ScryptOptions) => Promise<Buffer>;

const scryptKey: Derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);
const encode = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');
const phc = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

function format(salt: Buffer, digest: Buffer): string {
  return `$scrypt$ln=${logCost},r=${blockSize},p=${parallelism}$${encode(salt)}$${encode(digest)}`;
}

/** @param options.derive the slow work @param options.pause waits; tests hold both back */
export function createPasswords({
  derive = scryptKey,
  pause = wait,
}: { derive?: Derive; pause?: (ms: number) => Promise<void> } = {}): Passwords {
  /** How many are being hashed, for known callers and unknown ones. */
  const running = { known: 0, unknown: 0 };
  /** The known ones are first. */
  const waiting: { known: boolean; start: () => void }[] = [];
  const decoy = format(randomBytes(16), randomBytes(digestBytes));

  const mayStart = ({ known }: { known: boolean }) =>
    running.known + running.unknown < maxRunning.all && (known || running.unknown < maxRunning.unknown);

  const admit = (known: boolean) => {
    if (mayStart({ known }) || waiting.length < (known ? 2 * maxWaiting : maxWaiting)) return;
    throw new Problem('too_many_requests', 'Too many sign-ins are in progress. Try again in a second.', {
      details: { retryAfterSeconds: 1 },
    });
  };

  const leave = (kind: 'known' | 'unknown') => {
    running[kind] -= 1;
    const next = waiting.findIndex(mayStart);
    waiting.splice(next, next < 0 ? 0 : 1)[0]?.start();
  };

  const limited = async <T>(work: () => Promise<T>, known: boolean): Promise<T> => {
    const kind = known ? 'known' : 'unknown';
    admit(known);
    if (mayStart({ known })) running[kind] += 1;
    else {
      await new Promise<void>((resolve) => {
        const start = () => {
          running[kind] += 1;
          resolve();
        };
        if (known) waiting.unshift({ known, start });
        else waiting.push({ known, start });
      });
    }
    const startedAt = performance.now();
    try {
      return await work();
    } finally {
      const isPaused = !known && waiting.some((other) => !other.known);
      if (isPaused) void pause(pauseFactor * (performance.now() - startedAt)).then(() => leave(kind));
      else leave(kind);
    }
  };

  return {
    admit,
    hash: (password) =>
      limited(async () => {
        const salt = randomBytes(16);
        const options = { N: 2 ** logCost, r: blockSize, p: parallelism, maxmem: 2 ** 26 };
        return format(salt, await derive(password.normalize('NFKC'), salt, digestBytes, options));
      }, true),
    verify: (password, stored, { known = false } = {}) =>
      limited(async () => {
        const [, ln, r, p, salt = '', digest = ''] = phc.exec(stored ?? decoy) ?? [];
        if (ln === undefined) throw new Error('a stored password hash is not in the expected format');
        const expected = Buffer.from(digest, 'base64');
        const options = { N: 2 ** Number(ln), r: Number(r), p: Number(p), maxmem: 2 ** 28 };
        const actual = await derive(password.normalize('NFKC'), Buffer.from(salt, 'base64'), expected.length, options);
        return timingSafeEqual(actual, expected) && stored !== undefined;
      }, known),
  };
}
