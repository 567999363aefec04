import t from 'tap';
import { checkChosenHost, checkExtraHosts } from '../../../runtime/domain/public-hosts.ts';

const place = { appsDomain: 'apps.test', labels: ['api--shop-prod'] };

t.test('a chosen host is not reserved, and not the default host of another workload', async (t) => {
  for (const host of [
    'shop.example.com',
    'api--shop-prod.apps.test',
    'api.apps.test',
    'web--shop.api.apps.test',
    'web--shop-prod.example.com',
    'console.example.com',
    'x.console.apps.test',
    '10.0.0.7.example.com',
  ]) {
    t.equal(checkChosenHost(host, place), host);
  }
  for (const [host, message] of [
    ['*.example.com', /contains a wildcard/],
    ['Shop.example.com', /not a lower-case host name/],
    ['10.0.0.7', /is an IP address/],
    ['console.apps.test', /is reserved by the platform/],
    ['web--shop-prod.apps.test', /may be the default host of another app or function/],
  ] as const) {
    t.throws(() => checkChosenHost(host, place), { code: 'invalid_value', message, details: { field: 'hostname' } });
  }
});

t.test('additional hosts occur once, and are not the main host', async (t) => {
  const check = (...hosts: string[]) => checkExtraHosts(hosts, 'shop.example.com', place);
  t.same(check('a.example.com', 'b.example.com'), ['a.example.com', 'b.example.com']);
  for (const [hosts, message] of [
    [['a.example.com', 'shop.example.com'], /is the app's main host already/],
    [['a.example.com', 'b.example.com', 'a.example.com'], /"a.example.com" is listed twice/],
    [['console.apps.test'], /is reserved/],
  ] as const) {
    t.throws(() => check(...hosts), { code: 'invalid_value', message, details: { field: 'extraHosts' } });
  }
});
