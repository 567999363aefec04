import t from 'tap';
import { checkEmail } from '../../../runtime/domain/email.ts';

t.test('an email address has one @, no space and no control character', (t) => {
  t.equal(checkEmail(' Dana@Example.COM '), 'dana@example.com');
  for (const text of ['', 'dana', 'dana@', '@example.com', 'a@b@c', 'a b@c', 'a@b\0c', 'a\n@b']) {
    t.throws(() => checkEmail(text), { code: 'invalid_value', details: { field: 'email' } }, JSON.stringify(text));
  }
  t.end();
});
