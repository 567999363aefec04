import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import type { Platform } from '../platform.ts';
import { startBrowser, type TestBrowser } from './browser.ts';
import { consolePages } from './pages.ts';

/** The pages of a signed-in user. */
interface Visit {
  page: Page;
  pages: ReturnType<typeof consolePages>;
}

/** A browser, and how to sign in to the platform's console with it. */
export interface Visitor {
  browser: TestBrowser;
  /** A page that is signed in as the admin of the platform, or as this user, and shows the path. */
  visit: (t: Test, path?: string, options?: VisitOptions) => Promise<Visit>;
}

interface VisitOptions {
  width?: number;
  /** Default: a new one. */
  page?: Page;
  user?: { email: string; password: string };
}

/** Starts Chromium for a file's tests of the web console. */
export async function startVisitor(t: Test, { info }: Pick<Platform, 'info'>): Promise<Visitor> {
  const browser = await startBrowser(t);
  const admin = { email: info.adminEmail, password: readFileSync(info.adminPasswordFile, 'utf8').trim() };
  return {
    browser,
    visit: async (test, path = '/', { user = admin, page: own, ...options } = {}) => {
      const page = own ?? (await browser.page(test, options));
      const pages = consolePages(page, info.api);
      await pages.open(path);
      await pages.signIn(user.email, user.password);
      return { page, pages };
    },
  };
}
