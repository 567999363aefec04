import t from 'tap';
import {
  appHost,
  checkEnvironmentName,
  checkHost,
  checkProjectName,
  checkVolumeName,
  checkWorkloadName,
  functionHost,
  isEnvironmentOf,
  isNamespaceOfEnvironment,
  nameTaken,
  namespaceOf,
} from '../../../runtime/domain/names.ts';

const refused = { name: 'Problem', code: 'invalid_value' };

t.test('a workload name is a DNS label that leaves room for suffixes', (t) => {
  for (const name of ['a', 'api', 'api-v2', 'a'.repeat(40)]) t.equal(checkWorkloadName(name), name);
  for (const name of ['', 'Api', '-a', 'a-', '1a', 'a--b', 'a_b', 'a.b', 'a'.repeat(41), 'a;rm -rf', '$(x)']) {
    t.throws(() => checkWorkloadName(name), refused, JSON.stringify(name));
  }
  t.end();
});

t.test('project and environment names join to one namespace in one way only', (t) => {
  for (const name of ['web-shop', 'a'.repeat(30)]) t.equal(checkProjectName(name), name);
  for (const name of ['web--shop', 'Shop', 'shop-', 'a'.repeat(31)]) t.throws(() => checkProjectName(name), refused);
  for (const name of ['prod', 'a'.repeat(20)]) t.equal(checkEnvironmentName(name), name);
  for (const name of ['pre-prod', 'Prod', 'a'.repeat(21)]) t.throws(() => checkEnvironmentName(name), refused);
  t.equal(namespaceOf('shop', 'prod'), 'shop-prod');
  for (const project of ['kube', 'svc']) t.throws(() => namespaceOf(project, 'system'), refused);
  t.end();
});

t.test('a namespace is an environment of one project', (t) => {
  for (const namespace of ['shop-prod', 'a-b', 'web-shop-p1']) t.ok(isNamespaceOfEnvironment(namespace), namespace);
  for (const namespace of ['shop', '-prod', 'shop-', 'shop-1', 'Shop-prod', '']) {
    t.notOk(isNamespaceOfEnvironment(namespace), namespace);
  }
  t.ok(isEnvironmentOf('shop-p', 'shop'));
  for (const namespace of ['shop-1prod', 'shop-a-b', 'shopprod', 'shop-']) t.notOk(isEnvironmentOf(namespace, 'shop'));
  t.end();
});

t.test('a volume is not called like the storage of a service or a function', (t) => {
  for (const name of ['data', 'data-0', 'data-db-1', 'function-data']) t.equal(checkVolumeName(name), name);
  for (const name of ['data-db-0', 'function-api-dependencies-1a2b']) {
    t.throws(() => checkVolumeName(name), { ...refused, message: /is reserved for the storage/ });
  }
  t.end();
});

t.test('hosts follow the pattern, and a label that is too long is refused first', (t) => {
  t.equal(appHost('api', 'shop-prod', 'apps.example.com'), 'api--shop-prod.apps.example.com');
  t.equal(functionHost('hello', 'home', 'apps.example.com'), 'fn-hello--home.apps.example.com');
  t.throws(() => appHost('a'.repeat(40), `${'p'.repeat(30)}-prod`, 'apps.example.com'), refused);
  t.end();
});

t.test('the message about a taken name is fixed', (t) => {
  const problem = nameTaken('hello', 'App');
  t.equal(problem.code, 'name_taken');
  t.equal(problem.status, 409);
  t.match(problem.message, 'already used by an app in this environment, and'.replace(', and', ';'));
  t.match(problem.message, 'an app, a function and a job cannot share a name');
  const withServices = 'an app, a function, a job and a service cannot share a name';
  t.match(nameTaken('hello', 'Service').message, `already used by a service in this environment; ${withServices}`);
  t.match(nameTaken('hello', 'App', 'Service').message, withServices);
  t.end();
});

t.test('every label of a host name is checked, and there are at least two', async (t) => {
  t.equal(checkHost('api-1.example.com'), 'api-1.example.com');
  const label = 'a'.repeat(63);
  const longest = [label, label, label, 'a'.repeat(61)].join('.');
  t.equal(checkHost(longest), longest);
  t.throws(() => checkHost(`${longest}b`), { ...refused, message: /has 254 characters; the limit is 253/ });
  t.throws(() => checkHost(`${label}b.example.com`), {
    ...refused,
    message: /a label of 64 characters .* limit is 63/,
  });
  for (const host of [
    'example',
    '-a.example.com',
    'a-.example.com',
    'a..example.com',
    'A.example.com',
    'a.example.com.',
  ]) {
    t.throws(() => checkHost(host, 'host'), { ...refused, details: { field: 'host' } }, host);
  }
});
