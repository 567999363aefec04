import t from 'tap';
import { checkAccessibility, overflows } from '../../support/console/browser.ts';
import { startVisitor } from '../../support/console/visitor.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../../support/platform.ts';

const platform = await runningPlatform();
const { browser, visit } = await startVisitor(t, platform);
const { project, flags } = await testProject(t, platform);
await platform.ok(['environment', 'create', 'staging', '--project', project]);
const staging = ['--project', project, '--environment', 'staging'];
const place = `/projects/${project}/environments/prod`;
const image = 'localhost:5000/svc/hello';
const hostile = '<img src=x onerror=alert(1)>';
const secret = uniqueName('not-for-everyone-');

interface App {
  status: string;
  image: string;
  env: Record<string, string>;
  bindings?: { service: string }[];
  volumes: { name: string; path: string }[];
  memory?: string;
}

interface Deployment {
  revision: number;
  trigger: string;
  status: string;
  image: string;
  rollbackOf?: number;
  current: boolean;
}

const app = (at: readonly string[] = flags) => platform.json<App>(['app', 'show', 'api', ...at]);
const history = (at: readonly string[] = flags) => platform.json<Deployment[]>(['app', 'history', 'api', ...at]);

t.test('volumes and services are created from the page of the environment', async (t) => {
  const { page, pages } = await visit(t, place);
  // What is read later moves the links below it.
  await page.getByText('Nothing runs in this environment yet.').waitFor();
  await page.getByText('There are no services or volumes.').waitFor();
  await pages.link('Create a volume').click();
  await pages.heading('Create a volume').waitFor();
  await page.getByLabel('Name', { exact: true }).fill('data');
  await page.getByLabel('Size, such as').fill('much');
  await pages.button('Create the volume').click();
  t.match(await pages.alert().innerText(), /Code \w+ · Request ID/);
  await checkAccessibility(t, page, 'form of a volume');
  await page.getByLabel('Size, such as').fill('1Gi');
  await page.getByText(`svc volume create data --size 1Gi --project ${project} --environment prod`).waitFor();
  await pages.button('Create the volume').click();
  await pages.heading('data').waitFor();
  t.match(await platform.json(['volume', 'list', ...flags]), [{ name: 'data', size: '1Gi' }]);

  await pages.open(place);
  await page.getByText('Nothing runs in this environment yet.').waitFor();
  await pages.row('data').waitFor();
  await pages.link('Create a service').click();
  await page.getByLabel('Name', { exact: true }).fill('sessions');
  await page.getByLabel('Type').selectOption('Redis');
  await checkAccessibility(t, page, 'form of a service');
  await page.getByLabel('Runs').selectOption('Outside the platform: register it');
  await page.getByLabel('Host name or address').fill('redis.example.com');
  await page.getByLabel('Port').fill('6380');
  await page.getByLabel('Username').fill('ada');
  await page.getByLabel('Password').fill(secret);
  await page
    .getByText('svc service create sessions --type redis --external redis.example.com:6380 --username ada')
    .waitFor();
  await checkAccessibility(t, page, 'form of an external service');
  await pages.button('Create the service').click();
  await pages.heading('sessions').waitFor();
  t.notMatch(await page.content(), secret);
  t.match(await platform.json(['service', 'credentials', 'sessions', ...flags]), {
    type: 'redis',
    host: 'redis.example.com',
    port: 6380,
    username: 'ada',
    password: secret,
  });
});

t.test('an app is created with variables, secrets, volumes and bindings', async (t) => {
  const { page, pages } = await visit(t, place);
  await pages.row('sessions').waitFor();
  await pages.link('Create an app').click();
  await pages.heading('Create an app').waitFor();
  await page.getByLabel('Name', { exact: true }).fill('Api');
  await page.getByLabel('Image with registry').fill(`${image}:v1`);
  await page.getByLabel('Memory limit').fill('192Mi');
  await page.getByLabel('Volumes, each line').fill('data:/data');
  await page.getByLabel('Variables, one').fill(`LEVEL=debug\nHTML="${hostile}"\n?`);
  t.match(await pages.alert().innerText(), 'These lines are no variable: 3.');
  t.ok(await pages.button('Create the app').isDisabled());
  await page.getByLabel('Variables, one').fill(`LEVEL=debug\nHTML="${hostile}"`);
  await pages.button('Add a secret').click();
  await page.getByLabel('Name of secret 1').fill('TOKEN');
  await page.getByLabel('Value of secret 1').fill(secret);
  await pages.button('Add a secret').click();
  await pages.button('Remove secret 2').click();
  await page.getByLabel('sessions (redis)').check();
  const command = await page.getByText(/^svc app create/).innerText();
  t.match(command, '--memory 192Mi --volume data:/data --env-file .env --secret TOKEN --bind sessions');
  t.notMatch(command, 'debug', 'variables can have secrets among them');
  await pages.button('Create the app').click();
  t.match(await pages.alert().innerText(), /Code \w+ · Request ID/);
  await checkAccessibility(t, page, 'form of an app');
  t.notMatch(await page.content(), secret);
  await page.getByLabel('Name', { exact: true }).fill('api');
  await pages.button('Create the app').click();
  await pages.heading('api').waitFor();
  t.equal(pages.path(), `${place}/apps/api`);
  t.match(await app(), {
    memory: '192Mi',
    env: { LEVEL: 'debug', HTML: hostile },
    bindings: [{ service: 'sessions' }],
    volumes: [{ name: 'data', path: '/data' }],
  });
  t.match(await platform.json(['app', 'secret', 'list', 'api', ...flags]), [{ name: 'TOKEN' }]);
  t.notMatch(await page.content(), secret);
  await page.getByText('running', { exact: true }).waitFor();

  await pages.open(`${place}/new-app`);
  await page.getByLabel('Source').selectOption('A git repository');
  await page.getByLabel('Repository URL').fill(`https://ada:${secret}@git.example.com/a.git`);
  await page.getByLabel('Credentials of the repository').selectOption('Token, for https');
  await page.getByLabel('Token or private key').fill(secret);
  await page.getByText('svc app create api --git https://git.example.com/a.git --ask-token').waitFor();
  await checkAccessibility(t, page, 'form of an app from git');
});

t.test('a page of an app says that it is rolled back, undoes that, and shows what deployments changed', async (t) => {
  await platform.ok(['app', 'env', 'set', 'api', 'LEVEL=info', ...flags]);
  await platform.ok(['app', 'secret', 'set', 'api', 'TOKEN', '--value-stdin', ...flags], `${secret}-2`);
  const update = ['--image', `${image}:v2`, '--commit', hostile, '--memory', '256Mi'];
  await platform.ok(['app', 'update', 'api', ...update, ...flags]);
  await platform.ok(['app', 'rollback', 'api', '--revision', '1', ...flags]);
  const { page, pages } = await visit(t, `${place}/apps/api`);
  const banner = page.getByText('You are rolled back: the app runs the image of revision 1. Revision 2 is newer');
  await banner.waitFor();
  await page.getByText(`Rolled back by ${platform.info.adminEmail}`).waitFor();
  await checkAccessibility(t, page, 'rolled back');
  await pages.link('Deployments').click();
  await pages.deployment(3).getByText('current').waitFor();
  await pages.button('Undo the rollback').click();
  const dialog = pages.dialog();
  t.match(await dialog.innerText(), `svc app rollback api --revision 2 --project ${project} --environment prod`);
  t.match(await dialog.innerText(), `Comes back: the image ${image}:v2 of commit ${hostile.slice(0, 12)}`);
  await checkAccessibility(t, page, 'undo a rollback');
  await dialog.getByRole('button', { name: 'Roll back to revision 2' }).click();
  await dialog.waitFor({ state: 'detached' });
  await pages.deployment(4).getByText('current').waitFor();
  await banner.waitFor({ state: 'detached' });
  await page.getByText('The rollback is accepted as revision 4.').waitFor({ state: 'detached' });
  t.match((await history())[0], { revision: 4, rollbackOf: 2, image: `${image}:v2`, current: true });

  t.equal(await pages.link('Changes of revision 1').count(), 0, 'nothing ran before it');
  await pages.link('Changes of revision 2').click();
  const changes = page.getByRole('region', { name: 'Revision 2, compared with revision 1 before it' });
  await changes.getByText('Variable LEVEL').waitFor();
  t.match(await changes.innerText(), `- ${image}:v1\n+ ${image}:v2`);
  t.match(await changes.innerText(), `+ ${hostile}`);
  t.equal(new URL(page.url()).search, '?changes=2');
  t.match(await changes.innerText(), /Memory limit\s+- 192Mi\n\+ 256Mi/);
  t.match(await changes.innerText(), /Variable LEVEL\s+- debug\n\+ info/);
  t.match(await changes.innerText(), /Secret TOKEN\s+its value changed/);
  t.notMatch(await page.content(), secret);
  await checkAccessibility(t, page, 'changes of a deployment');
  const { comparison } = await platform.json<{ comparison: { differences: { name: string }[] } }>([
    ...['app', 'diff', 'api', '--revision', '2', ...flags],
  ]);
  t.same(
    comparison.differences.map(({ name }) => name).filter((name) => name !== 'digest'),
    ['image', 'commit', 'memory', 'LEVEL', 'TOKEN'],
  );
  await pages.link('Hide changes of revision 2').click();
  await changes.waitFor({ state: 'detached' });

  await pages.button('Rollback to revision 1').click();
  const effects = dialog.getByRole('region', { name: 'Revision 1, compared with the current state of the app' });
  const memory = effects.getByRole('listitem').filter({ hasText: 'Memory limit' });
  await memory.getByText('stays', { exact: true }).waitFor();
  t.match(await memory.innerText(), /- 256Mi\n\+ 192Mi/);
  await dialog.getByRole('checkbox').check();
  await memory.getByText('comes back', { exact: true }).waitFor();
  await checkAccessibility(t, page, 'what a rollback restores');
  await dialog.getByRole('button', { name: 'Cancel' }).click();

  // A deployment takes half a minute to fail.
  const failed = {
    ...(await history())[0],
    revision: 6,
    automatic: true,
    rollbackOf: 4,
    reason: `Automatic: revision 5 failed: ${hostile}`,
  };
  await page.route('**/apps/api/history?*', (route) => route.fulfill({ json: { items: [failed] } }));
  await pages.open(`${place}/apps/api`);
  await page.getByText('The app went back to revision 4.').waitFor();
  await page.getByText(failed.reason).waitFor();
  await checkAccessibility(t, page, 'rolled back by the platform');
  await page.unroute('**/apps/api/history?*');
});

t.test('an app is promoted: created with secrets of its own, then updated', async (t) => {
  const { page, pages } = await visit(t, `${place}/apps/api`);
  const dialog = pages.dialog();
  await page.getByText('running', { exact: true }).waitFor();
  await pages.button('Promote').click();
  await dialog.getByText('The app does not exist in staging.').waitFor();
  await dialog.getByText('staging does not have the services that the app is bound to: sessions.').waitFor();
  await dialog.getByText('staging does not have the volumes data.').waitFor();
  await dialog.getByText(`svc app promote api --from prod --to staging --create --project ${project}`).waitFor();
  await dialog.getByRole('button', { name: 'Promote' }).click();
  await dialog.getByText('Request ID').waitFor();
  t.match(await dialog.innerText(), 'Code not_found');
  await checkAccessibility(t, page, 'promote an app that does not exist');
  const external = ['--type', 'redis', '--external', 'redis.example.com'];
  await platform.ok(['service', 'create', 'sessions', ...external, ...staging]);
  await dialog.getByText('does not have the services').waitFor({ state: 'detached' });
  await page.getByLabel('Value of TOKEN').fill(secret);
  await dialog.getByText(/^svc app promote api --from prod --to staging --create --secret TOKEN/).waitFor();
  await dialog.getByRole('button', { name: 'Promote' }).click();
  await dialog.getByText('The app is created in staging').waitFor();
  await dialog.getByText('svc volume create data').waitFor();
  await dialog.getByText('svc app update api --volume data:/data').waitFor();
  await checkAccessibility(t, page, 'what a promotion cannot copy');
  t.match(await app(staging), { image: `${image}:v2`, env: { LEVEL: 'info' }, memory: '256Mi', volumes: [] });
  t.match(await platform.json(['app', 'secret', 'reveal', 'api', 'TOKEN', ...staging]), { value: secret });
  t.notMatch(await page.content(), secret);
  await dialog.getByRole('link', { name: 'Show api in staging' }).click();
  // The page of the app in prod says that it runs, too.
  await page.waitForURL(`**/projects/${project}/environments/staging/apps/api`);
  await page.getByText('running', { exact: true }).waitFor();

  await pages.open(`${place}/apps/api`);
  await pages.button('Promote').click();
  await dialog.getByText('The app exists in staging.').waitFor();
  await checkAccessibility(t, page, 'promote an app that exists');
  await dialog.getByRole('button', { name: 'Promote' }).click();
  await dialog.getByText('The promotion is accepted as revision 2 of staging.').waitFor();
  t.match((await history(staging))[0], { revision: 2, trigger: 'promotion', image: `${image}:v2` });
});

t.test('on a phone nothing is cut off, and a viewer sees no button that the API would refuse', async (t) => {
  const user = { email: `${uniqueName('member')}@svc.local`, password: uniqueName('a-long-passphrase-') };
  await platform.ok(['user', 'create', user.email, '--password-stdin'], user.password);
  await platform.ok(['member', 'set', user.email, '--role', 'viewer', '--project', project]);
  await platform.ok(['app', 'rollback', 'api', '--revision', '1', ...flags]);
  const { page, pages } = await visit(t, place, { width: 360, user });
  const actions = async () => {
    t.notOk(await overflows(page), page.url());
    const main = page.getByRole('main');
    const links = await main.getByRole('link', { name: /^Create/ }).allInnerTexts();
    const names = [...links, ...(await main.getByRole('button').allInnerTexts())];
    return names.filter((name) => name !== 'Copy');
  };
  await pages.row('api').waitFor();
  await pages.row('sessions').waitFor();
  t.same(await actions(), []);
  const forms = ['new-app', 'new-job', 'new-service', 'new-volume'];
  for (const form of forms) {
    await pages.open(`${place}/${form}`);
    await page.getByText('Only deployers and admins of the project').waitFor();
    t.same(await actions(), []);
  }
  await pages.open(`${place}/apps/api/deployments?changes=2`);
  const changes = page.getByRole('region', { name: /^Revision 2, compared/ });
  await changes.getByText('Variable LEVEL').waitFor();
  t.match(await changes.innerText(), /Variable LEVEL\s+- \(not shown\)\n\+ info/, 'the old value may be a password');
  await page.getByText('You are rolled back').waitFor();
  t.same(await actions(), []);

  await platform.ok(['member', 'set', user.email, '--role', 'deployer', '--project', project]);
  await pages.button('Undo the rollback').waitFor();
  await pages.button('Promote').waitFor();
  t.notOk(await overflows(page), 'the page of an app that is rolled back');
  await pages.button('Promote').click();
  await pages.dialog().getByText('The app exists in staging.').waitFor();
  t.notOk(await overflows(page), 'a promotion');
  for (const form of forms) {
    await pages.open(`${place}/${form}`);
    await page.getByRole('button', { name: /^Create the/ }).waitFor();
    t.notOk(await overflows(page), form);
  }
  await pages.open(place);
  await pages.link('Create a volume').waitFor();
  await eventually(actions, (names) => names.length === 5);
});

t.test('no page of these tests had an error, or did what its policy forbids', (t) => {
  t.same(browser.faults, []);
  t.end();
});
