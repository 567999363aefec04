import t from 'tap';
import { serviceCreate } from '../../../runtime/contracts/api/services.ts';
import { credentialFields as fieldsOfApi } from '../../../runtime/contracts/resources/service.ts';
import {
  credentialFields,
  newService,
  serviceBody,
  serviceWords,
} from '../../../functions/console/ui/services/service-draft.ts';

t.test('the form has the credentials of each type', (t) => {
  t.same(credentialFields, fieldsOfApi);
  t.end();
});

t.test('a managed service has storage, and no credentials', (t) => {
  const draft = { ...newService, name: 'orders', host: 'ignored', credentials: { username: 'ignored' } };
  t.same(serviceBody(draft, 'ignored'), { name: 'orders', type: 'postgres' });
  const large = { ...draft, size: '10Gi', storageClass: 'fast' };
  const body = serviceBody(large, '');
  t.same(body, { name: 'orders', type: 'postgres', size: '10Gi', storageClass: 'fast' });
  t.ok(serviceCreate.safeParse(body).success, 'the API accepts its form');
  t.same(serviceWords(large), [
    ...['service', 'create', 'orders', '--type', 'postgres', '--size', '10Gi', '--storage-class', 'fast'],
  ]);
  t.end();
});

t.test('an external service has an address and the credentials of its type, and the command no password', (t) => {
  const draft = {
    ...newService,
    name: 'legacy',
    type: 'mysql' as const,
    external: true,
    size: '10Gi',
    host: ' db.example.com ',
    port: '3307',
    tls: true,
    credentials: { username: 'shop', database: 'shop', bucket: 'of another type' },
  };
  const body = serviceBody(draft, 'hunter2');
  t.same(body, {
    name: 'legacy',
    type: 'mysql',
    external: { host: 'db.example.com', port: 3307, tls: true },
    credentials: { username: 'shop', database: 'shop', password: 'hunter2' },
  });
  const words = ['service', 'create', 'legacy', '--type', 'mysql', '--external', 'db.example.com:3307', '--tls'];
  t.same(serviceWords(draft), [...words, '--username', 'shop', '--database', 'shop']);

  const files = { ...newService, name: 'files', type: 'minio' as const, external: true, host: '2001:db8::7' };
  const secret = serviceBody({ ...files, credentials: { accessKey: 'AKIA' } }, 'hunter2');
  t.same(secret['credentials'], { accessKey: 'AKIA', secretKey: 'hunter2' });
  t.equal(serviceWords({ ...files, port: '9000' })[6], '[2001:db8::7]:9000');
  t.equal(serviceWords(files)[6], '2001:db8::7');
  const open = serviceBody({ ...files, type: 'redis' }, '');
  t.same(open, { name: 'files', type: 'redis', external: { host: '2001:db8::7', tls: false } });
  for (const each of [body, secret, open]) t.ok(serviceCreate.safeParse(each).success, 'the API accepts its form');
  t.end();
});

t.test('the command reads a password on standard input where it has no user to ask for', (t) => {
  const cache = { ...newService, name: 'cache', type: 'redis' as const, external: true, host: 'redis.example.com' };
  const words = ['service', 'create', 'cache', '--type', 'redis', '--external', 'redis.example.com'];
  const passwordOf = (draft: Partial<typeof cache>) => serviceWords({ ...cache, ...draft }).slice(words.length);
  t.same(serviceWords(cache), words);
  t.same(passwordOf({ hasSecret: true }), ['--password-stdin']);
  t.same(passwordOf({ hasSecret: true, credentials: { accessKey: 'of another type' } }), ['--password-stdin']);
  t.same(passwordOf({ hasSecret: true, credentials: { username: 'ada' } }), ['--username', 'ada']);
  t.same(serviceWords({ ...cache, hasSecret: true, external: false }), words.slice(0, 5), 'a managed one has none');
  t.end();
});
