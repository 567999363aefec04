import { z } from 'zod';
import type { Clock } from '../../runtime/domain/clock.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { dayMs } from '../../runtime/domain/period.ts';
import { seal, unseal, type KeyRing } from '../../runtime/domain/sealed.ts';

/** How long a device is known after a sign-in; longer than a session, since it is for the next sign-in. */
export const deviceLifetimeMs = 90 * dayMs;

const content = z.object({ id: z.string(), until: z.int() });

/**
 * Device tokens: proof that a device has signed in to an account before. A token replaces no password; it only keeps the
 * guesses of others from slowing down this device.
 * https://owasp.org/www-community/Slow_Down_Online_Guessing_Attacks_with_Device_Cookies
 */
export interface Devices {
  /** A token for the next sign-in. @param id of a known device, which keeps its id */
  issue(account: string, id?: string): string;
  /** The id of the device; undefined for a token that is missing, of another account, altered or too old. */
  idOf(account: string, token: string | undefined): string | undefined;
}

export function createDevices({ keyRing, clock }: { keyRing: KeyRing; clock: Clock }): Devices {
  const contextOf = (account: string) => ({ purpose: 'login device', id: account });
  return {
    issue(account, id = newId()) {
      const until = clock.now().getTime() + deviceLifetimeMs;
      return seal(keyRing, contextOf(account), JSON.stringify({ id, until }));
    },
    idOf(account, token) {
      if (token === undefined) return undefined;
      try {
        const { id, until } = content.parse(JSON.parse(unseal(keyRing, contextOf(account), token)));
        return until > clock.now().getTime() ? id : undefined;
      } catch {
        return undefined;
      }
    },
  };
}
