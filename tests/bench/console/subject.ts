import type { Browser, BrowserContext } from 'playwright-core';
import type { Platform } from '../../support/platform.ts';

/** What the figures of the web console are measured on. */
export interface Subject {
  platform: Platform;
  browser: Browser;
  /** A project with some of everything (tests/support/console/tour.ts). */
  project: string;
  /** They name its environment. */
  flags: string[];
  /** A context that is signed in as the admin, with an empty cache. */
  context: (options?: Parameters<Browser['newContext']>[0]) => Promise<BrowserContext>;
}
