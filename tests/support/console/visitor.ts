import { readFileSync } from 'node:fs';
import type { BrowserContext, Page } from 'playwright-core';
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
  /** Default: the admin. */
  user?: User;
  /** Default: `shared`, one session for all tests of the file. `own` is for a test that ends it, or needs the form. */
  session?: 'shared' | 'own';
}

interface User {
  email: string;
  password: string;
}

/**
 * Starts Chromium for a file's tests of the web console. A user signs in once: hashing a password is slow by design, and
 * sign-ins from unknown devices of one address take turns.
 */
export async function startVisitor(t: Test, { info }: Pick<Platform, 'info'>): Promise<Visitor> {
  const browser = await startBrowser(t);
  const admin = { email: info.adminEmail, password: readFileSync(info.adminPasswordFile, 'utf8').trim() };
  const sessions = new Map<string, Awaited<ReturnType<BrowserContext['cookies']>>>();
  const signIn = async (page: Page, { email, password }: User): Promise<void> => {
    const pages = consolePages(page, info.api);
    const accepted = page.waitForResponse(
      (response) => response.url().endsWith('/api/v1/session') && response.status() === 201,
    );
    await pages.signIn(email, password);
    await accepted;
  };
  return {
    browser,
    visit: async (test, path = '/', { user = admin, page: own, session = 'shared', ...options } = {}) => {
      const page = own ?? (await browser.page(test, options));
      const pages = consolePages(page, info.api);
      const cookies = session === 'shared' ? sessions.get(user.email) : undefined;
      if (cookies) await page.context().addCookies(cookies);
      await pages.open(path);
      if (!cookies) await signIn(page, user);
      if (session === 'shared' && !cookies) sessions.set(user.email, await page.context().cookies());
      return { page, pages };
    },
  };
}
