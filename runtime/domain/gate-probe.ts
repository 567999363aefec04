import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from './clock.ts';

/** No API key begins like this, so a probe is always denied. */
const prefix = 'svc-probe.';
/** The window and the signature. */
const form = /^svc-probe\.(\d{1,15})\.([\w-]{43})$/;
const windowMs = 60_000;
/** How far the clocks of a controller and a checker may differ, in windows. */
const skew = 1;
/** Signatures that are remembered at most; there is one for each gated workload and window. */
const rememberedMax = 30_000;

function windowOf(clock: Clock): number {
  return Math.floor(clock.now().getTime() / windowMs);
}

function signature(key: string, app: string, window: number): string {
  return createHmac('sha256', key).update(`${window}.${app}`).digest('base64url');
}

/**
 * Signs the platform's own checks whether a route requires a key. Sent in place of an API key, a signature holds for one
 * workload and about two minutes. It opens nothing: it only says that the denial need not be logged.
 */
export function createProbeSigner(key: string, clock: Clock): (app: string) => string {
  return (app) => {
    const window = windowOf(clock);
    return `${prefix}${window}.${signature(key, app, window)}`;
  };
}

/** Whether a text in place of a key is a signature of {@link createProbeSigner} for this workload. */
export type ProbeCheck = (text: string, app: string) => boolean;

/**
 * Checks signatures. It signs once for each workload and window and not for each request, so that forged ones cost no more
 * than a comparison.
 */
export function createProbeCheck(key: string, clock: Clock): ProbeCheck {
  let current = -Infinity;
  let remembered = new Map<string, Buffer>();

  const signatureOf = (app: string, window: number): Buffer | undefined => {
    const name = `${window}.${app}`;
    const cached = remembered.get(name);
    if (cached || remembered.size >= rememberedMax) return cached;
    const bytes = Buffer.from(signature(key, app, window));
    remembered.set(name, bytes);
    return bytes;
  };

  return (text, app) => {
    const [, windowText, candidate] = form.exec(text) ?? [];
    if (windowText === undefined || candidate === undefined) return false;
    const now = windowOf(clock);
    if (now !== current) [current, remembered] = [now, new Map()];
    const window = Number(windowText);
    if (Math.abs(window - now) > skew) return false;
    const mac = signatureOf(app, window);
    return mac !== undefined && timingSafeEqual(Buffer.from(candidate), mac);
  };
}
