import t from 'tap';
import { withoutUsers } from '../../../runtime/assistant/users.ts';
import { isSuperLinear } from '../../support/growth.ts';

t.test('email addresses are masked, and what only looks like one stays', (t) => {
  const masked: [string, string][] = [
    ['dana@svc.local', '[user]'],
    ['Cancelled by dana@svc.local.', 'Cancelled by [user]'],
    ['"Dana" <dana+ci@mail.example.com>, vera@localhost', '"Dana" <[user]>, [user]'],
    ['owner:ünal@bücher.example and x@10.0.0.1', 'owner:[user] and [user]'],
    ['mailto=a@b.c|d@e.f', 'mailto=[user]|[user]'],
    ['https://dana@git.example.com/shop.git', 'https://[user]/shop.git'],
  ];
  for (const [text, expected] of masked) t.equal(withoutUsers(text), expected, text);
  const kept = [
    'registry.example.com/shop/api@sha256:0a1b2c',
    'lodash@4.17.21 and @scope/name@1.0.0 and requests@2.32.3',
    'git@git.example.com:shop/api.git',
    'ssh://git@git.example.com/shop/api.git',
    '@media and a @ b and x@',
  ];
  for (const text of kept) t.equal(withoutUsers(text), text);
  t.end();
});

t.test('a field that names a user is masked whatever its address is', (t) => {
  t.equal(withoutUsers('a/b=c(d)@e', 'actor'), '[user]');
  t.equal(withoutUsers('git@1.2.3', 'createdBy'), '[user]');
  t.equal(withoutUsers('token ci', 'actor'), 'token ci', 'a token is no person');
  t.end();
});

t.test('a long text takes linear time', (t) => {
  for (const unit of ['a@', 'a.', '@', 'a@b.c ', '.@.']) {
    t.notOk(
      isSuperLinear(
        (size) => unit.repeat(size),
        (text) => withoutUsers(text),
        { size: 32_768 },
      ),
      unit,
    );
  }
  t.end();
});
