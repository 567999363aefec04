import t from 'tap';
import { pathOfObject } from '../../../functions/console/ui/audit/object-path.ts';
import { auditFlags, auditSearch } from '../../../functions/console/ui/audit/search.ts';
import { places, type FindPath } from '../../../functions/console/ui/shell/places.ts';

t.test('the address holds the filters, without what is not valid', (t) => {
  const values = { action: 'app.', actor: ' dana@svc.local ', object: '', since: '24h', before: 'x', page: 2 };
  const search = { action: 'app.', actor: 'dana@svc.local', since: '24h', before: 'x' } as const;
  t.same(auditSearch(values), search);
  t.same(auditSearch({ since: 'constructor', action: ['a'], project: null }), {});
  t.same(auditFlags('shop', search), [
    ...['--project', 'shop', '--action', 'app.', '--actor', 'dana@svc.local', '--since', '24h'],
  ]);
  t.same(auditFlags(undefined, { project: 'blog' }), ['--platform', '--project', 'blog']);
  t.end();
});

t.test('an object is a link while its place exists, and its entry does not say that it was deleted', (t) => {
  const find: FindPath = (name, params = {}) => {
    const parts = places[name].split('/').map((part) => (part.startsWith('$') ? params[part.slice(1)] : part));
    return parts.includes(undefined) ? undefined : parts.join('/');
  };
  const known = new Map([['shop', ['prod']]]);
  const place = { project: 'shop', environment: 'prod' };
  const pathOf = (action: string, kind: string, name: string, at: object = place) =>
    pathOfObject(find, { action, object: { kind, name }, ...at }, known);
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
  t.equal(pathOfObject(find, { action: 'image.prune', ...place }, known), undefined);
  t.end();
});
