import t from 'tap';
import { entriesOf, recentEntries } from '../../../functions/console/ui/shell/entries.ts';
import { bestMatches, scoreOf } from '../../../functions/console/ui/shell/match.ts';
import { places, type FindPath } from '../../../functions/console/ui/shell/places.ts';
import { objectOf } from '../../../functions/console/ui/shell/recent.ts';

const best = (written: string, names: readonly string[]) => bestMatches(written, names, (name) => name);

t.test('a name is found by letters in its order, the closest name first', (t) => {
  t.same(best('', ['b', 'a']), ['b', 'a'], 'without letters, everything in its order');
  t.same(best('api', ['rapid', 'shop api prod', 'api prod', 'worker']), ['api prod', 'shop api prod', 'rapid']);
  t.same(best('oap', ['other', 'orders-api', 'orders']), ['orders-api'], 'the first letters of words');
  t.same(best('RESTART api', ['Restart worker', 'Restart api', 'api']), ['Restart api'], 'all words must match');
  t.same(best('x', ['api']), []);
  t.equal(scoreOf('a'.repeat(10_000), 'b'.repeat(10_000)), undefined, 'and long texts end at once');
  t.end();
});

/** A router with these pages. */
const router =
  (...names: string[]): FindPath =>
  (name, params = {}) => {
    if (!names.includes(name)) return undefined;
    const parts = places[name].split('/').map((part) => (part.startsWith('$') ? params[part.slice(1)] : part));
    return parts.includes(undefined) ? undefined : parts.join('/');
  };

const nothing = {
  projects: [],
  objects: [],
  keys: [],
  plans: [],
  here: {},
  isAdmin: false,
  mayDeploy: false,
  mayAdminister: false,
};

t.test('objects lead to their pages, or to the environment that lists them', (t) => {
  const sources = {
    ...nothing,
    find: router('overview', 'app'),
    here: { project: 'shop', environment: 'prod' },
    objects: [
      { kind: 'app' as const, name: 'api', environment: 'prod', url: 'https://api.example.com' },
      { kind: 'volume' as const, name: 'data', environment: 'staging' },
      { kind: 'function' as const, name: 'evil', environment: 'prod', url: 'javascript:alert(1)' },
    ],
  };
  const entries = entriesOf(sources);
  const targets = entries.map(({ title, target }) => [title, target.to === 'path' ? target.path : target.to]);
  t.same(targets, [
    ['api', '/projects/shop/environments/prod/apps/api'],
    ['Open api in a new tab', 'url'],
    ['data', '/projects/shop/environments/staging'],
    ['evil', '/projects/shop/environments/prod'],
    ['Ask the assistant', 'assistant'],
    ['Show keyboard shortcuts', 'shortcuts'],
    ['Sign out', 'sign-out'],
  ]);
  t.equal(entries[0]?.command, 'svc app show api --project shop --environment prod');
  const titles = entriesOf({ ...sources, mayDeploy: true }).map(({ title }) => title);
  t.ok(titles.includes('Restart api'), 'who may deploy can restart an app');
  t.end();
});

t.test('keys and plans have lines where their pages exist, and pages of the platform are for its admins', (t) => {
  const sources = {
    ...nothing,
    here: { project: 'shop', environment: 'prod' },
    keys: [{ id: '1', handle: 'abcd1234', name: 'mobile' }],
    plans: [{ id: '2', name: 'gold; rm -rf' }],
  };
  const commands = (entries: ReturnType<typeof entriesOf>) => entries.map(({ command }) => command);
  const listed = commands(entriesOf({ ...sources, find: router('keys', 'plans', 'platform', 'users') }));
  t.ok(listed.includes('svc key show abcd1234 --project shop --environment prod'));
  t.ok(listed.includes("svc plan show 'gold; rm -rf' --project shop --environment prod"));
  const images = entriesOf({ ...sources, find: router('images') }).find(({ id }) => id === 'page images');
  t.match(images, { detail: 'prod', command: 'svc image list --project shop --environment prod' });
  t.notOk(listed.includes('svc platform status'));
  t.notOk(listed.includes('svc user list'));
  const forAdmins = commands(
    entriesOf({
      ...sources,
      find: router('platform', 'platformNotifications', 'logDrain', 'platformAudit', 'users'),
      isAdmin: true,
    }),
  );
  for (const command of ['svc platform notification list', 'svc platform log-drain show']) {
    t.ok(forAdmins.includes(command), command);
  }
  t.ok(
    forAdmins.includes('svc platform notification create ops --url https://hooks.example.com/svc'),
    'and so is the form of a notification of alerts',
  );
  t.ok(forAdmins.includes('svc platform status'));
  t.ok(forAdmins.includes('svc audit --platform'));
  t.ok(forAdmins.includes('svc user list'));
  t.notOk(commands(entriesOf({ ...sources, find: router() })).includes('svc key list'));
  t.end();
});

t.test('each project has a line, and the pages of this one follow the role', (t) => {
  const sources = {
    ...nothing,
    find: router('settings', 'members', 'notifications', 'audit'),
    projects: [
      { name: 'blog', environments: [] },
      { name: 'shop', environments: [] },
    ],
    here: { project: 'shop' },
  };
  const lines = (entries: ReturnType<typeof entriesOf>) =>
    entries.flatMap(({ title, detail, target }) => (target.to === 'path' ? [[title, detail, target.path]] : []));
  const pages = [
    ['blog', undefined, '/projects/blog'],
    ['shop', undefined, '/projects/shop'],
    ['Project settings', 'shop', '/projects/shop'],
    ['Members', 'shop', '/projects/shop/members'],
  ];
  t.same(lines(entriesOf(sources)), pages);
  const notifications = ['Notifications', 'shop', '/projects/shop/notifications'];
  const audit = ['Audit', 'shop', '/projects/shop/audit'];
  const forms = [
    ['Create an environment', 'shop', '/projects/shop?create=true'],
    ['Add a member', 'shop', '/projects/shop/members?create=true'],
    ['Create a notification', 'shop', '/projects/shop/notifications?create=true'],
  ];
  t.same(lines(entriesOf({ ...sources, mayAdminister: true })), [...pages, notifications, audit, ...forms]);
  t.same(lines(entriesOf({ ...sources, here: {} })), pages.slice(0, 2), 'outside of a project, only the projects');
  t.end();
});

t.test('forms of new objects are for those who may use them, where they would be created', (t) => {
  const forms = ['newApp', 'newFunction', 'newJob', 'newService', 'newVolume', 'keys', 'plans', 'projects', 'users'];
  const sources = {
    ...nothing,
    find: router(...forms),
    here: { project: 'shop', environment: 'prod' },
    plans: [{ id: '2', name: 'gold; rm -rf' }],
  };
  const creations = (more: object) =>
    entriesOf({ ...sources, ...more }).flatMap(({ id, command, detail, target }) =>
      id.startsWith('create ') && target.to === 'path' ? [[target.path, detail, command]] : [],
    );
  const place = '/projects/shop/environments/prod';
  const flags = '--project shop --environment prod';
  const own = ['/?create=true', undefined, 'svc project create shop --environment prod'];
  t.same(creations({}), [own], 'viewers create projects of their own');
  t.same(creations({ mayDeploy: true }), [
    [`${place}/new-app`, 'shop / prod', `svc app create api --image registry.example.com/shop/api:1.0 ${flags}`],
    [
      ...[`${place}/new-function`, 'shop / prod'],
      `svc function create hello --runtime node --code-file handler.mjs ${flags}`,
    ],
    [`${place}/new-job`, 'shop / prod', `svc job create report --image registry.example.com/shop/report:7 ${flags}`],
    [`${place}/new-service`, 'shop / prod', `svc service create orders --type postgres ${flags}`],
    [`${place}/new-volume`, 'shop / prod', `svc volume create data --size 10Gi ${flags}`],
    own,
  ]);
  const key = [`${place}/keys?create=true`, 'shop / prod', `svc key create --plan 'gold; rm -rf' ${flags}`];
  const plan = [`${place}/plans?create=true`, 'shop / prod', `svc plan create small --rate 5 --burst 10 ${flags}`];
  t.same(creations({ mayAdminister: true }), [key, plan, own]);
  t.same(creations({ mayAdminister: true, plans: [] }), [plan, own], 'a key needs a plan');
  t.same(creations({ mayDeploy: true, mayAdminister: true, here: {} }), [own], 'outside of an environment');
  t.same(creations({ isAdmin: true }), [own, ['/users?create=true', undefined, 'svc user create dana@example.com']]);
  t.end();
});

t.test('only paths of objects are remembered', (t) => {
  const path = '/projects/shop/environments/prod/apps/api';
  const object = { path, kind: 'app', name: 'api', project: 'shop', environment: 'prod' };
  t.same(objectOf(`${path}/deployments`), object);
  t.same(objectOf('/projects/shop/environments/prod'), undefined);
  t.same(objectOf('//evil.example/projects/shop/environments/prod/apps/api'), undefined);
  t.match(recentEntries([object]), [{ title: 'api', detail: 'shop / prod', target: { to: 'path', path } }]);
  t.end();
});
