import { readFileSync } from 'node:fs';
import t from 'tap';
import type { Page } from 'playwright-core';
import { checkAccessibility, requestInPage } from '../../support/console/browser.ts';
import { startVisitor } from '../../support/console/visitor.ts';
import { runningPlatform, testProject } from '../../support/platform.ts';

const platform = await runningPlatform();
const { browser, visit } = await startVisitor(t, platform);
const { project, flags } = await testProject(t, platform);
const place = `/projects/${project}/environments/prod`;
const job = (name: string) => ['job', 'create', name, '--image', 'localhost:5000/svc/hello:v1', ...flags];

/** The requests to the API from now on, without metrics, which no stream reports. */
function requestsOf(page: Page): string[] {
  const seen: string[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.startsWith('/api/') && !pathname.endsWith('/top')) seen.push(pathname.split('/').at(-1) ?? '');
  });
  return seen;
}

/** Hides or shows the tab, as the browser would. */
async function show(page: Page, visibility: 'hidden' | 'visible'): Promise<void> {
  await page.evaluate(
    ([state]) => {
      const { document, Event } = globalThis as unknown as { document: EventTarget; Event: typeof globalThis.Event };
      Object.defineProperty(document, 'hidden', { configurable: true, value: state === 'hidden' });
      Object.defineProperty(document, 'visibilityState', { configurable: true, value: state });
      document.dispatchEvent(new Event('visibilitychange'));
    },
    [visibility],
  );
}

t.test('a change is shown without a click, and causes only the requests that show it', async (t) => {
  const { page, pages } = await visit(t, place);
  await page.getByText('Nothing runs in this environment yet.').waitFor();
  // Once it shows, the page has read everything again that it had read before its stream began.
  await platform.ok(job('zero'));
  await pages.row('zero').waitFor();
  const requests = requestsOf(page);
  await platform.ok(job('first'));
  await pages.row('first').waitFor();
  t.ok(requests.includes('jobs'));
  t.notOk(
    requests.some((name) => ['functions', 'services', 'volumes', 'session'].includes(name)),
    requests.join(),
  );
});

t.test('a hidden tab asks nothing and has no stream, and catches up when it is visible', async (t) => {
  const { page, pages } = await visit(t, place);
  await pages.row('first').waitFor();
  await platform.ok(job('seen'));
  await pages.row('seen').waitFor();
  const closed = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/watch'));
  await show(page, 'hidden');
  await closed;
  const requests = requestsOf(page);
  await platform.ok(job('second'));
  // Another tab shows when the change has been announced.
  const other = await visit(t, place);
  await other.pages.row('second').waitFor();
  t.same(requests, []);
  t.equal(await pages.row('second').count(), 0);
  await show(page, 'visible');
  await pages.row('second').waitFor();
});

t.test('an interrupted stream is told, and the page stays up to date meanwhile and afterwards', async (t) => {
  const page = await browser.page(t);
  await page.route('**/watch*', (route) => route.abort());
  const { pages } = await visit(t, place, { page });
  await pages.row('second').waitFor();
  await page.getByText('The connection that reports changes is interrupted.').waitFor();
  await checkAccessibility(t, page, 'an interrupted stream');
  await platform.ok(job('third'));
  await pages.row('third').waitFor();
  await page.unroute('**/watch*');
  await page.waitForResponse((response) => response.url().includes('/watch') && response.ok());
  await page.getByText('The connection that reports changes is interrupted.').waitFor({ state: 'detached' });
  await platform.ok(job('fourth'));
  await pages.row('fourth').waitFor();
});

t.test('the end of the session is told without a click, and changes appear again after signing in', async (t) => {
  const { page, pages } = await visit(t, place, { session: 'own' });
  await pages.row('fourth').waitFor();
  t.equal((await requestInPage(page, '/api/v1/session', { method: 'DELETE' })).status, 204);
  await page.getByText('Your session has ended.').waitFor();
  await pages.signIn(platform.info.adminEmail, readFileSync(platform.info.adminPasswordFile, 'utf8').trim());
  await page.getByText('Your session has ended.').waitFor({ state: 'detached' });
  await platform.ok(job('fifth'));
  await pages.row('fifth').waitFor();
});

t.test('no page of these tests had an error', (t) => {
  // The test cuts streams, and the API cuts that of a session that has ended.
  const aborted = /net::ERR_(FAILED|INCOMPLETE_CHUNKED_ENCODING)/;
  t.same(
    browser.faults.filter((fault) => !aborted.test(fault)),
    [],
  );
  t.end();
});
