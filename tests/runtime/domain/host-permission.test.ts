import t from 'tap';
import { hostChallenge, hostNotAllowed, isHostAllowed } from '../../../runtime/domain/host-permission.ts';
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

t.test('a refusal shows the record that would prove the host, where proofs are accepted', async (t) => {
  const challenge = hostChallenge('api.example.com', newId());
  const problem = hostNotAllowed('api.example.com', 'shop', challenge);
  t.match(problem.message, /create the DNS record _svc-challenge\.api\.example\.com TXT "svc-project=[0-9a-f]{40}"/);
  t.same(problem.details, { host: 'api.example.com', challenge });
  const without = hostNotAllowed('api.example.com', 'shop', undefined);
  t.match(without.message, /outside the apps domain/);
  t.same(without.details, { host: 'api.example.com' });
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
