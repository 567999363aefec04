import { randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto';
import { promisify } from 'node:util';
import { createPasswordTurns, type Caller } from './password-turns.ts';

/** 2^15 with r=8 takes 32 MiB and about 100 ms of one core: slow for guessing, acceptable for a sign-in. */
const logCost = 15;
const blockSize = 8;
const parallelism = 1;
const digestBytes = 32;

/** Hashes and checks passwords: scrypt in the PHC string format, `$scrypt$ln=15,r=8,p=1$<salt>$<hash>`. */
export interface Passwords {
  /** @param account of the user who wants it @throws Problem `too_many_requests` when too many are being hashed */
  hash(password: string, account: string): Promise<string>;
  /** Checks the password of a user who has a session. @throws Problem `too_many_requests` */
  verify(password: string, stored: string | undefined, account: string): Promise<boolean>;
  /**
   * Runs a sign-in when its turn comes. All that a sign-in costs belongs into it, also its queries: what finds no place
   * costs nothing else.
   * @param signal aborted when its client disconnects: a sign-in that still waits then costs nothing
   * @throws Problem `too_many_requests`
   */
  signIn<T>(caller: Caller, work: (verify: Verify) => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/**
 * Whether a password matches a hash. Without a hash it returns false after the same work, so that the duration does not
 * show which accounts exist.
 */
export type Verify = (password: string, stored: string | undefined) => Promise<boolean>;

/** Derives a key of a length in bytes from a password and a salt. */
type Derive = (password: string, salt: Buffer, bytes: number, options: ScryptOptions) => Promise<Buffer>;

const scryptKey: Derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);
const encode = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');
const phc = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

function format(salt: Buffer, digest: Buffer): string {
  return `$scrypt$ln=${logCost},r=${blockSize},p=${parallelism}$${encode(salt)}$${encode(digest)}`;
}

/** @param options.derive the slow work @param options.pause waits @param options.nowMs a clock; tests replace all three */
export function createPasswords({
  derive = scryptKey,
  pause,
  nowMs = () => performance.now(),
}: { derive?: Derive; pause?: (ms: number) => Promise<void>; nowMs?: () => number } = {}): Passwords {
  const turns = createPasswordTurns(pause);
  // Other processes make a hash take longer, but not more work. The fastest one tells how much that is, so that on a busy
  // machine the pauses between sign-ins do not grow.
  let fastestMs = Infinity;
  const decoy = format(randomBytes(16), randomBytes(digestBytes));

  const hash = async (password: string): Promise<string> => {
    const salt = randomBytes(16);
    const options = { N: 2 ** logCost, r: blockSize, p: parallelism, maxmem: 2 ** 26 };
    return format(salt, await derive(password.normalize('NFKC'), salt, digestBytes, options));
  };

  const matches: Verify = async (password, stored) => {
    const [, ln, r, p, salt = '', digest = ''] = phc.exec(stored ?? decoy) ?? [];
    if (ln === undefined) throw new Error('a stored password hash is not in the expected format');
    const expected = Buffer.from(digest, 'base64');
    const options = { N: 2 ** Number(ln), r: Number(r), p: Number(p), maxmem: 2 ** 28 };
    const actual = await derive(password.normalize('NFKC'), Buffer.from(salt, 'base64'), expected.length, options);
    return timingSafeEqual(actual, expected) && stored !== undefined;
  };

  const ofUser = <T>(account: string, work: () => Promise<T>) =>
    turns.run({ known: account }, async () => ({ result: await work(), hashMs: 0 }));

  return {
    hash: (password, account) => ofUser(account, () => hash(password)),
    verify: (password, stored, account) => ofUser(account, () => matches(password, stored)),
    signIn(caller, work, signal) {
      const timedWork = async () => {
        let hashMs = 0;
        const timed: Verify = async (password, stored) => {
          const startedAt = nowMs();
          const isMatch = await matches(password, stored);
          fastestMs = Math.min(fastestMs, nowMs() - startedAt);
          hashMs += fastestMs;
          return isMatch;
        };
        return { result: await work(timed), hashMs };
      };
      return turns.run(caller, timedWork, signal);
    },
  };
}
