import t from 'tap';
import {
  appHost,
  checkEnvironmentName,
  checkHost,
  checkProjectName,
  checkWorkloadName,
  functionHost,
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
  t.equal(checkProjectName('web-shop'), 'web-shop');
  t.throws(() => checkProjectName('web--shop'), refused);
  t.throws(() => checkProjectName('a'.repeat(31)), refused);
  t.equal(checkEnvironmentName('prod'), 'prod');
  t.throws(() => checkEnvironmentName('pre-prod'), refused);
  t.equal(namespaceOf('shop', 'prod'), 'shop-prod');
  for (const project of ['kube', 'svc']) t.throws(() => namespaceOf(project, 'system'), refused);
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
