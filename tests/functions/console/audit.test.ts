import t from 'tap';
import { pathOfObject } from '../../../functions/console/ui/audit/object-path.ts';
import { auditFlags, auditSearch, localTime, timesOf } from '../../../functions/console/ui/audit/search.ts';
import { places, type FindPath } from '../../../functions/console/ui/shell/places.ts';

t.test('the address holds the filters, without what is not valid', (t) => {
  const values = {
    action: 'app.',
    actor: ' dana@svc.local ',
    object: '',
    since: '24h',
    until: '2026-11-26T10:00:00Z',
    page: 2,
  };
  const until = '2026-11-26T10:00:00.000Z';
  const search = { action: 'app.', actor: 'dana@svc.local', since: '24h', until } as const;
  t.same(auditSearch(values), search);
  t.same(auditSearch({ since: 'constructor', action: ['a'], project: null }), {});
  for (const time of ['yesterday', '2026-11-26', '2026-19-39T10:00:00Z', '2026-11-26T10:00:00+99:00', 7]) {
    t.same(auditSearch({ until: time }), {}, String(time));
  }
  const shown = { now: Date.parse(until), count: 50 };
  const filters = ['--project', 'shop', '--action', 'app.', '--actor', 'dana@svc.local'];
  t.same(auditFlags('shop', search, shown), [...filters, '--since', '24h'], 'until now');
  const later = { now: shown.now + 90.5 * 60_000, count: 150 };
  t.same(auditFlags('shop', search, later), [...filters, '--since', '1530m', '--until', '90m', '--limit', '150']);
  const all = auditFlags(undefined, { project: 'blog' }, { ...shown, count: 900 });
  t.same(all, ['--platform', '--project', 'blog', '--limit', '500'], 'svc lists 500 at most');
  t.end();
});

t.test('a range ends at the time of the address, or now', (t) => {
  const now = Date.parse('2026-11-26T12:00:00Z');
  const until = '2026-11-20T10:00:00.000Z';
  t.same(timesOf({}, now), {});
  t.same(timesOf({ since: '1h' }, now), { since: '2026-11-26T11:00:00.000Z' });
  t.same(timesOf({ until }, now), { until });
  t.same(timesOf({ since: '24h', until }, now), { since: '2026-11-19T10:00:00.000Z', until });
  t.same(auditSearch({ until: localTime(until) }), { until }, 'the field of the filter has the zone of the user');
  t.end();
});

t.test('an object is a link while its place exists, and its entry does not say that it was deleted', (t) => {
  const find: FindPath = (name, params = {}) => {
    const parts = places[name].split('/').map((part) => (part.startsWith('$') ? params[part.slice(1)] : part));
    return parts.includes(undefined) ? undefined : parts.join('/');
  };
  const projects = new Map([['shop', ['prod']]]);
  const place = { project: 'shop', environment: 'prod' };
  const pathOf = (action: string, kind: string, name: string, at: object = place) =>
    pathOfObject(find, { action, object: { kind, name }, ...at }, projects);
  const inProd = '/projects/shop/environments/prod';
  t.equal(pathOf('app.update', 'app', 'api'), `${inProd}/apps/api`);
  t.equal(pathOf('secret.delete', 'app', 'api'), `${inProd}/apps/api`, 'the app is still there');
  t.equal(pathOf('app.delete', 'app', 'api'), undefined);
  t.equal(pathOf('key.update', 'key', 'abcd'), `${inProd}/keys/abcd`);
  t.equal(pathOf('key.revoke', 'key', 'abcd'), undefined);
  t.equal(pathOf('plan.update', 'plan', 'gold'), `${inProd}/plans`);
  t.equal(pathOf('environment.update', 'environment', 'prod'), inProd);
  t.equal(pathOf('app.update', 'app', 'api', { ...place, environment: 'old' }), undefined, 'a deleted environment');
  t.equal(pathOf('app.update', 'app', 'api', { ...place, project: 'old' }), undefined, 'a deleted project');
  t.equal(pathOf('member.set', 'user', 'a@b.c', { project: 'shop' }), '/projects/shop/members');
  t.equal(pathOf('user.update', 'user', 'a@b.c', {}), '/users/a@b.c');
  t.equal(pathOf('project.create', 'project', 'shop', { project: 'shop' }), '/projects/shop');
  t.equal(pathOf('platform.component.update', 'component', 'log-store', {}), undefined);
  t.equal(pathOf('app.update', 'constructor', 'x'), undefined);
  t.equal(pathOfObject(find, { action: 'image.prune', ...place }, projects), undefined);
  t.end();
});
