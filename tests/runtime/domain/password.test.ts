import { randomBytes } from 'node:crypto';
import t from 'tap';
import { checkPassword, generatePassword } from '../../../runtime/domain/password.ts';

const email = 'dana.scully@example.com';
const refused = { code: 'invalid_value', details: { field: 'newPassword' } };

t.test('a password has 12 to 1024 characters', async (t) => {
  const text = randomBytes(512).toString('hex');
  for (const length of [12, 1024]) t.equal(checkPassword(text.slice(0, length), { email }).length, length);
  for (const password of ['', text.slice(0, 11), `${text}x`]) {
    t.throws(() => checkPassword(password, { email, field: 'newPassword' }), { ...refused, message: /12 to 1024/ });
  }
});

t.test('a password of texts that are guessed first is refused', async (t) => {
  const guessed = [
    'aaaaaaaaaaaa',
    'abcabcabcabc',
    'x'.repeat(1024),
    'password1234',
    'P@ssw0rd2024!',
    'passwordpassword',
    'Summer2024!!',
    '123456789012',
    '210987654321',
    'qwertyuiop12',
    'POIUYTREWQ!!',
    '1q2w3e4r5t6y',
    'iloveyou1234',
    'admin-password-1',
    'dana.scully@example.com',
    'DanaScully2026',
    'k9#mmmmmmmmmmmmm',
    '111222333444',
    'zaq12wsxcde3',
    '1qaz2wsx3edc',
    'q1w2e3r4t5y6',
    'michelle1234',
    'unknown123456',
    'thisisapassword',
  ];
  for (const password of guessed) {
    const check = () => checkPassword(password, { email, field: 'newPassword' });
    t.throws(check, { ...refused, message: /easy to guess/ }, password);
  }
  for (const password of [
    'correct horse battery',
    'my dog eats grass',
    'kX9#vq2!LmZ7',
    'zażółć gęślą jaźń',
    '密码是一个很长的秘密句子吧',
  ]) {
    t.equal(checkPassword(password, { email }), password);
  }
  const random = Array.from({ length: 200 }, () => randomBytes(12).toString('base64url'));
  for (const password of random) t.equal(checkPassword(password, { email }), password);
});

t.test('at least seven characters must not belong to a text that is guessed first', async (t) => {
  const check = (rest: string) => checkPassword(`passphrase${rest}`, { email });
  t.throws(() => check('κλμνξ'), { message: /easy to guess/ });
  t.equal(check('κλμνξο'), 'passphraseκλμνξο');
});

t.test('a generated password has four groups of five unambiguous characters and is different each time', async (t) => {
  const passwords = Array.from({ length: 100 }, generatePassword);
  for (const password of passwords) t.match(password, /^(?:[a-km-np-z2-9]{5}-){3}[a-km-np-z2-9]{5}$/);
  t.equal(new Set(passwords).size, passwords.length);
});
