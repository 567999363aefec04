import t from 'tap';
import {
  notificationCreate,
  notificationUpdate,
  platformNotificationCreate,
  platformNotificationUpdate,
} from '../../../runtime/contracts/api/notifications.ts';
import { alertEvents, notificationEvents } from '../../../runtime/domain/notification.ts';
import {
  changeBody,
  changeWords,
  createBody,
  createWords,
  draftOf,
  newNotification,
} from '../../../functions/console/ui/notifications/draft.ts';
import { ownerOf, platformOwner } from '../../../functions/console/ui/notifications/owner.ts';

const url = 'https://hooks.svc.local/not-for-everyone';
const shop = ownerOf('shop');
const placeholder = ['--url', 'https://hooks.example.com/svc'];
const before = draftOf({
  id: '8a3d1d9e-6d58-4c62-9b54-2f1f4ac1a0de',
  name: 'ops',
  url,
  enabled: true,
  apps: ['api', 'worker'],
  events: ['deployment.failed', 'deployment.succeeded'],
  createdAt: '2026-01-01T00:00:00Z',
  updatedAt: '2026-01-01T00:00:00Z',
});

t.test('a new notification has the events and filters of the form', (t) => {
  const all = createBody({ ...newNotification(shop), name: 'ops' }, url);
  t.same(all, { name: 'ops', url, events: notificationEvents });
  const some = createBody({ ...before, environments: ' prod,, staging ' }, url);
  t.same(some, { name: 'ops', url, events: before.events, apps: ['api', 'worker'], environments: ['prod', 'staging'] });
  for (const each of [all, some]) t.ok(notificationCreate.safeParse(each).success, 'the API accepts its form');
  t.end();
});

t.test('the command of a new one has its name, events and filters, and an example in place of the URL', (t) => {
  t.same(createWords(shop, newNotification(shop)), ['create', 'ops', ...placeholder]);
  t.same(createWords(shop, { ...before, name: 'deploys', environments: 'prod' }), [
    ...['create', 'deploys', ...placeholder, '--event', 'failed', '--event', 'succeeded'],
    ...['--app', 'api', '--app', 'worker', '--environment', 'prod'],
  ]);
  t.end();
});

t.test('a change has what differs and nothing else', (t) => {
  t.same(changeBody(before, before, undefined), {});
  t.same(changeBody(before, { ...before, events: before.events.toReversed(), apps: 'api,worker' }, undefined), {});
  const others = ['deployment.failed', 'deployment.cancelled'];
  t.same(changeBody(before, { ...before, events: others }, undefined), { events: others });
  const after = { name: 'alarm', events: ['deployment.failed'], apps: '', environments: 'prod' };
  const body = changeBody(before, after, url);
  t.same(body, { name: 'alarm', events: ['deployment.failed'], apps: null, environments: ['prod'], url });
  t.ok(notificationUpdate.safeParse(body).success, 'the API accepts its form');
  t.end();
});

t.test('the command of a change does the same, and points a target to no other URL than a new one', (t) => {
  const update = ['update', 'ops'];
  t.same(changeWords(shop, before, before, false), update);
  t.same(changeWords(shop, before, { ...before, name: 'alarm' }, false), [...update, '--name', 'alarm']);
  t.same(changeWords(shop, before, before, true), [...update, ...placeholder]);
  const narrow = { ...before, events: ['deployment.failed'], apps: 'api', environments: 'prod' };
  t.same(changeWords(shop, before, narrow, false), [
    ...[...update, '--event', 'failed', '--app', 'api', '--environment', 'prod'],
  ]);
  t.same(changeWords(shop, narrow, { ...newNotification(shop), name: 'ops' }, false), [
    ...[...update, '--all-events', '--all-apps', '--all-environments'],
  ]);
  t.end();
});

t.test('a notification of the platform is about alerts, and has no filters', (t) => {
  const draft = { ...newNotification(platformOwner), name: 'ops' };
  const body = createBody(draft, url);
  t.same(body, { name: 'ops', url, events: alertEvents });
  t.ok(platformNotificationCreate.safeParse(body).success, 'the API accepts its form');
  t.same(createWords(platformOwner, draft), ['create', 'ops', ...placeholder]);
  const firing = { ...draft, events: ['alert.firing'] };
  const change = changeBody(draft, firing, undefined);
  t.same(change, { events: ['alert.firing'] });
  t.ok(platformNotificationUpdate.safeParse(change).success, 'the API accepts its form');
  t.same(changeWords(platformOwner, draft, firing, false), ['update', 'ops', '--event', 'firing']);
  t.same(changeWords(platformOwner, firing, draft, false), [
    ...['update', 'ops', '--event', 'firing', '--event', 'resolved'],
  ]);
  t.equal(platformOwner.command('list'), 'svc platform notification list');
  t.equal(shop.command('list'), 'svc notification list --project shop');
  t.end();
});
