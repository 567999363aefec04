import t from 'tap';
import { checkPassword, generatePassword } from '../../../runtime/domain/password.ts';

t.test('a password has 12 to 1024 characters', async (t) => {
  for (const length of [12, 1024]) t.equal(checkPassword('x'.repeat(length)).length, length);
  for (const length of [0, 11, 1025]) {
    t.throws(() => checkPassword('x'.repeat(length), 'newPassword'), {
      code: 'invalid_value',
      details: { field: 'newPassword' },
    });
  }
});

t.test('a generated password has four groups of five unambiguous characters and is different each time', async (t) => {
  const passwords = Array.from({ length: 100 }, generatePassword);
  for (const password of passwords) t.match(password, /^(?:[a-km-np-z2-9]{5}-){3}[a-km-np-z2-9]{5}$/);
  t.equal(new Set(passwords).size, passwords.length);
});
