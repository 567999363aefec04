import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import axe from 'axe-core';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import type { Test } from 'tap';

/**
 * Debian's programs of Chromium. The shell is the same engine without windows: for each page of a test, the whole browser
 * opens a window with pages of its own, which takes more of a processor than the page under test.
 */
const programs = { shell: '/usr/bin/chromium-headless-shell', browser: '/usr/bin/chromium' };

/**
 * What a page waits for at most, in milliseconds: a build that a page shows can wait for two builds of other test files,
 * each of which takes half a minute on a busy machine.
 */
const pageTimeoutMs = 180_000;

/** A browser whose pages report what goes wrong in them. */
export interface TestBrowser {
  /** Errors and violations of the page's policy that the browser's console has shown, exceptions, and dialogs. */
  faults: readonly string[];
  /** A page with cookies of its own. */
  page(t: Test, options?: { width?: number; scheme?: 'light' | 'dark' }): Promise<Page>;
}

/**
 * Starts Chromium; names below `localhost` are this machine.
 * @param preferred the program; the other one when this one is missing
 */
export function launchBrowser(preferred: keyof typeof programs = 'browser'): Promise<Browser> {
  const executablePath = [programs[preferred], ...Object.values(programs)].find(existsSync) ?? programs[preferred];
  return chromium.launch({
    executablePath,
    // Chromium's sandbox does not start for root; the pages are our own.
    args: ['--no-sandbox', '--host-resolver-rules=MAP *.localhost 127.0.0.1'],
  });
}

/** Starts Chromium for a file's tests. */
export async function startBrowser(t: Test): Promise<TestBrowser> {
  const faults: string[] = [];
  const files: Files = new Map();
  const browser = await launchBrowser('shell');
  t.teardown(() => browser.close());
  return {
    faults,
    async page(test, { width = 1440, scheme = 'light' } = {}) {
      const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme });
      context.setDefaultTimeout(pageTimeoutMs);
      await serveFiles(context, files);
      const page = await context.newPage();
      page.on('console', (message) => {
        const { url } = message.location();
        // The tests check refusals of the API by what the page says about them.
        const isRefusal = message.text().startsWith('Failed to load resource: the server responded with a status of 4');
        // It answers 503 while the controllers are late, as on a busy machine, and the page says so.
        const isHealth = url.endsWith('/health/controllers');
        // A cluster beside the tests adds interfaces to the machine; the page sends the request again.
        const isNetwork = message.text().endsWith('net::ERR_NETWORK_CHANGED');
        const isExpected = isRefusal || isHealth || isNetwork;
        if (!['error', 'warning'].includes(message.type()) || isExpected) return;
        faults.push(url === '' ? message.text() : `${message.text()} (${url})`);
      });
      page.on('pageerror', (error) => faults.push(String(error.stack)));
      page.on('dialog', (dialog) => {
        faults.push(`a dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      test.teardown(async () => {
        if (!test.passing()) test.comment(await describePage(page));
        await context.close();
      });
      return page;
    },
  };
}

/** Files of the console by their addresses, which change with their content. */
type Files = Map<string, { status: number; headers: Record<string, string>; body: Buffer }>;

async function load(url: string) {
  const { host, port, pathname } = new URL(url);
  const headers = { host, 'accept-encoding': 'identity' };
  const request = get({ host: '127.0.0.1', port, path: pathname, headers });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const entries = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as const);
  return { status: response.statusCode ?? 0, headers: Object.fromEntries(entries), body: await buffer(response) };
}

/**
 * Loads the scripts and style sheets of pages with this process. A cluster beside the tests adds interfaces to the machine,
 * and Chromium then ends what it is loading (`ERR_NETWORK_CHANGED`). A page sends requests of the API again, but stays
 * blank or without colours when one of these is missing.
 */
async function serveFiles(context: BrowserContext, files: Files): Promise<void> {
  await context.route(/\/assets\/[^/]+$/, async (route) => {
    const url = route.request().url();
    try {
      const file = files.get(url) ?? (await load(url));
      if (file.status === 200) files.set(url, file);
      await route.fulfill(file);
    } catch {
      // The platform does not answer, or the page was closed.
      await route.abort().catch(() => undefined);
    }
  });
}

/** Sends a request from a page, with its cookies, and again when Chromium ends it, as {@link serveFiles} says. */
export async function requestInPage(
  page: Page,
  path: string,
  init: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<{ status: number; body: unknown }> {
  return page.evaluate(
    async ([path, init]) => {
      for (let attempt = 1; ; attempt++) {
        try {
          const response = await fetch(path, init);
          const text = await response.text();
          return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) };
        } catch (error) {
          if (!(error instanceof TypeError) || attempt === 5) throw error;
        }
      }
    },
    [path, init] as const,
  );
}

/** What a page showed at the end of a test that failed. */
async function describePage(page: Page): Promise<string> {
  const text = await page.innerText('body', { timeout: 1_000 }).catch((error: unknown) => String(error));
  return `${page.url()} shows:\n${text.slice(0, 2_000)}`;
}

interface AxeResult {
  violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[];
}

/** Checks what the page shows for accessibility, in light and dark. */
export async function checkAccessibility(t: Test, page: Page, name: string): Promise<void> {
  for (const scheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    t.same(await accessibilityFaults(page), [], `${name}, ${scheme}: no violations`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

/** What axe finds in the page as it is: one line for each element. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  // To load axe takes as long as half of a check, so a page that has it keeps it.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe.source);
  const { violations } = await page.evaluate(async () =>
    (globalThis as unknown as { axe: { run(): Promise<AxeResult> } }).axe.run(),
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${id}: ${html} ${failureSummary}`),
  );
}

/** Whether the page is wider than its window. */
export async function overflows(page: Page): Promise<boolean> {
  return page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth');
}

/** Words in tables of a page that are broken between two of their letters. */
export async function brokenWords(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    const broken = new Set();
    for (const table of document.querySelectorAll('table')) {
      const walker = document.createTreeWalker(table, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        for (const { 0: word, index } of node.data.matchAll(/[A-Za-z]+/g)) {
          const range = document.createRange();
          range.setStart(node, index);
          range.setEnd(node, index + word.length);
          if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) broken.add(word);
        }
      }
    }
    return [...broken];
  })()`);
}
