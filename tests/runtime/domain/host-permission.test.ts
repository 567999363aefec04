import t from 'tap';
import { hostChallenge, isHostAllowed } from '../../../runtime/domain/host-permission.ts';
import { newId } from '../../../runtime/domain/ids.ts';

t.test('the record that proves a host is the same each time, and of one project', (t) => {
  const [project, other] = [newId(), newId()];
  const { name, value } = hostChallenge('api.example.com', project);
  t.equal(name, '_svc-challenge.api.example.com');
  t.match(value, /^svc-project=[0-9a-f]{40}$/);
  t.equal(hostChallenge('www.example.com', project).value, value);
  t.not(hostChallenge('api.example.com', other).value, value);
  t.end();
});

t.test('a domain allows itself and what is below it', (t) => {
  const domains = [{ domain: 'example.com' }, { domain: 'shop.test', projects: ['shop'] }];
  t.ok(isHostAllowed('example.com', 'any', domains));
  t.ok(isHostAllowed('a.b.example.com', 'any', domains));
  t.notOk(isHostAllowed('badexample.com', 'any', domains));
  t.ok(isHostAllowed('www.shop.test', 'shop', domains));
  t.notOk(isHostAllowed('www.shop.test', 'other', domains));
  t.notOk(isHostAllowed('example.com', 'any'));
  t.end();
});
