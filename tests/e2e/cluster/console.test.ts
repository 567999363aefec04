import t from 'tap';
import { checkAccessibility } from '../../support/console/browser.ts';
import { startVisitor } from '../../support/console/visitor.ts';
import { runningPlatform, testProject } from '../../support/platform.ts';

/**
 * What a cluster adds to the tests in `local/`: its ingress serves the page with its headers and cookies, passes the event
 * stream on without a delay, and the image has the console built.
 */
const platform = await runningPlatform();
const { browser, visit } = await startVisitor(t, platform);
const { project, flags } = await testProject(t, platform);
const place = `/projects/${project}/environments/prod`;

t.test('the ingress of a cluster serves the web console, with its headers', async (t) => {
  const page = await platform.request(`${platform.info.api}/`, { headers: { accept: 'text/html' } });
  t.equal(page.status, 200);
  t.match(page.headers, {
    'content-security-policy': /default-src 'none'.*require-trusted-types-for 'script'/,
    'x-content-type-options': 'nosniff',
  });
});

t.test('the console shows an app, its changes as they happen, and rolls back', async (t) => {
  const { page, pages } = await visit(t, place);
  await platform.ok(['app', 'create', 'api', '--image', 'localhost:5000/svc/hello:v1', ...flags]);
  await pages.row('api').getByText('running').waitFor();
  await checkAccessibility(t, page, 'environment');

  await pages.open(`${place}/apps/api/deployments`);
  await pages.deployment(1).waitFor();
  await platform.ok(['app', 'update', 'api', '--image', 'localhost:5000/svc/hello:v2', ...flags]);
  await pages.deployment(2).waitFor();
  await pages.button('Rollback to revision 1').click();
  await pages.dialog().getByRole('button', { name: 'Roll back to revision 1' }).click();
  await pages.deployment(3).getByText('current').waitFor();
  const app = await platform.json<{ image: string }>(['app', 'show', 'api', ...flags]);
  t.match(app.image, /hello:v1/);
});

t.test('no page of these tests had an error, or did what its policy forbids', (t) => {
  t.same(browser.faults, []);
  t.end();
});
