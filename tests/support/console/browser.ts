import axe from 'axe-core';
import { chromium, type Browser, type Page } from 'playwright-core';
import type { Test } from 'tap';

/** Debian's Chromium. */
const executablePath = '/usr/bin/chromium';

/** A browser whose pages report what goes wrong in them. */
export interface TestBrowser {
  /** Errors and violations of the page's policy that the browser's console has shown, exceptions, and dialogs. */
  faults: readonly string[];
  /** A page with cookies of its own. */
  page(t: Test, options?: { width?: number; scheme?: 'light' | 'dark' }): Promise<Page>;
}

/** Starts Chromium; names below `localhost` are this machine. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath,
    // Chromium's sandbox does not start for root; the pages are our own.
    args: ['--no-sandbox', '--host-resolver-rules=MAP *.localhost 127.0.0.1'],
  });
}

/** Starts Chromium for a file's tests. */
export async function startBrowser(t: Test): Promise<TestBrowser> {
  const faults: string[] = [];
  const browser = await launchBrowser();
  t.teardown(() => browser.close());
  return {
    faults,
    async page(test, { width = 1440, scheme = 'light' } = {}) {
      const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme });
      const page = await context.newPage();
      page.on('console', (message) => {
        // The tests check refusals of the API by what the page says about them.
        const isRefusal = message.text().startsWith('Failed to load resource: the server responded with a status of 4');
        // It answers 503 while the controllers are late, as on a busy machine, and the page says so.
        const isHealth = message.location().url.endsWith('/health/controllers');
        // A cluster beside the tests adds interfaces to the machine; the page sends the request again.
        const isNetwork = message.text().endsWith('net::ERR_NETWORK_CHANGED');
        const isExpected = isRefusal || isHealth || isNetwork;
        if (['error', 'warning'].includes(message.type()) && !isExpected) faults.push(message.text());
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
  await page.evaluate(axe.source);
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
